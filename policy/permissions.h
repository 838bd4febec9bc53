/*
 * permissions.h - the permission rules of a Claude Code settings file that are about hosts or files
 *
 * WebFetch(domain:HOST), Read(PATH) and Edit(PATH) map onto our lists; rules of other tools say
 * nothing about what a command may reach.
 */
#ifndef POLICY_PERMISSIONS_H
#define POLICY_PERMISSIONS_H

#include <stdbool.h>

#include "base/error.h"
#include "policy/settings.h"

/** enum permission - what became of a rule */
enum permission {
	PERMISSION_NONE,  /* about something else */
	PERMISSION_TAKEN, /* @list and @value say what */
	PERMISSION_LOOSE, /* an allow rule that we cannot express: it allows nothing here */
	PERMISSION_BAD,	  /* a deny rule that we cannot express: it must not be dropped */
};

/**
 * permission_parse() - one rule
 * @rule: "Tool(argument)" or "Tool"
 * @deny: from permissions.deny rather than permissions.allow
 * @list: which list it joins
 * @value: the entry, which the caller frees
 *
 * "/" "**" at the end of a path is the directory. Other wildcards are taken over where they deny
 * (cli/pathglob.h), and cannot be expressed where they allow. "//x" is absolute, "~/x" in the home
 * directory, anything else relative to the project.
 */
enum permission permission_parse(const char *rule, bool deny, enum settings_list_id *list,
				 char **value);

#endif
