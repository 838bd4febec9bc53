/*
 * gitconfig.h - git's configuration files, as far as it takes to see what they lead to
 */
#ifndef LAUNCHER_FILES_GITCONFIG_H
#define LAUNCHER_FILES_GITCONFIG_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct gitconfig_variable - one of a configuration file
 * @section: as it is spelt, compared without regard to case
 * @sub: the subsection, of [section "sub"] or [section.sub]; NULL if there is none
 * @key: as @section
 * @value: unquoted; "true" of a switch that has none
 */
struct gitconfig_variable {
	const char *section, *sub, *key, *value;
};

/** typedef gitconfig_use - takes one variable */
typedef void gitconfig_use(void *arg, const struct gitconfig_variable *var);

/** enum gitconfig - how a file has been understood */
enum gitconfig {
	GITCONFIG_OK,
	/*
	 * Read as git 2.45 and later do; it has control characters, or blanks that are no spaces in a
	 * value, which another version reads otherwise, or that somebody does not see.
	 */
	GITCONFIG_ODD,
	GITCONFIG_BAD, /* git stops at it, or may: what comes behind is not told */
};

/**
 * gitconfig_parse() - every variable of a configuration file (git-config(1), "Syntax")
 * @text, @n: its contents, which may be any bytes
 *
 * Nothing is left out: who is to know that there is nothing but this or that in a file takes anything but
 * GITCONFIG_OK for more. Included files are the caller's to read.
 */
enum gitconfig gitconfig_parse(const char *text, size_t n, gitconfig_use *use, void *arg)
	__attribute__((warn_unused_result));

/** gitconfig_is() - whether it is the variable section.key, of no subsection. */
bool gitconfig_is(const struct gitconfig_variable *var, const char *section, const char *key);

#endif
