/*
 * lint.h - what is legal in a policy but probably not meant
 *
 * For `check`: entries that never take effect, and entries that open more than they seem to.
 */
#ifndef POLICY_LINT_H
#define POLICY_LINT_H

#include <stdbool.h>

#include "policy/policy.h"

struct pattern;
struct suffixes;

#define LINT_TEXT_MAX 1024

/** enum lint_kind - what is wrong with an entry */
enum lint_kind {
	LINT_DUPLICATE,	     /* the same entry stands earlier on the same list */
	LINT_SHADOWED,	     /* an allow entry under a deny entry */
	LINT_NEVER,	     /* cannot open what it names */
	LINT_EVERYTHING,     /* "*" on an allow list */
	LINT_WIDE_BLOCK,     /* a block that holds a good part of the internet */
	LINT_REGISTRY,	     /* "com": one label of the public DNS */
	LINT_SHARED_HOSTING, /* a wildcard over names that anybody can get */
	LINT_RELAY,	     /* a service that passes data on to anywhere */
	LINT_METADATA,	     /* opens a cloud metadata service */
	LINT_PORTS,	     /* ports that are the same as none */
	LINT_NO_PORT,	     /* loopback without a port: none is opened inside */
	LINT_NUM_KINDS
};

/**
 * struct lint - one warning
 * @kind: what kind
 * @list: the list the entry is on
 * @rule: the entry; valid during the callback
 * @text: the sentence, "FILE:LINE: \"ENTRY\" ...", printable ASCII
 */
struct lint {
	enum lint_kind kind;
	enum list list;
	const struct rule *rule;
	char text[LINT_TEXT_MAX];
};

/** typedef lint_cb - receives a warning */
typedef void lint_cb(void *ctx, const struct lint *warning);

/**
 * lint_policy() - look at every entry
 * @suffixes: the public suffix list, or NULL to know only the names of lint_tables.h
 * @cb: called for each warning, list by list in the order of the entries
 *
 * Return: how many warnings.
 */
size_t lint_policy(const struct policy *p, struct suffixes *suffixes, lint_cb *cb, void *ctx);

/**
 * lint_opens_no_port() - an allow entry for loopback without a port
 *
 * Inside, loopback is the sandbox's own: only ports that are named lead out of it.
 */
bool lint_opens_no_port(const struct pattern *p);

/* And what is said of it. */
#define LINT_OPENS_NO_PORT \
	"opens no port on the sandbox's own loopback; name the port, as in localhost:5432"

#endif
