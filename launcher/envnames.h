/*
 * envnames.h - which variables are what: usual, dangerous, secret, or ours to set
 *
 * A name is given by its first byte and its length: it stands in NAME=VALUE.
 */
#ifndef LAUNCHER_ENVNAMES_H
#define LAUNCHER_ENVNAMES_H

#include <stdbool.h>
#include <stddef.h>

/** envnames_match() - whether @pattern, a name or the start of one and '*', matches. */
bool envnames_match(const char *pattern, const char *name, size_t len);

/** envnames_is_name() - [A-Za-z_][A-Za-z0-9_]*; BASH_FUNC_f%%, say, is none. */
bool envnames_is_name(const char *name, size_t len);

/** envnames_is_ours() - a proxy variable, in any mixture of cases. */
bool envnames_is_ours(const char *name, size_t len);

/** envnames_is_allowed() - passes without being asked for, unless it looks secret. */
bool envnames_is_allowed(const char *name, size_t len);

/** envnames_is_exact_only() - a loader's or an interpreter's: passes by its whole name alone. */
bool envnames_is_exact_only(const char *name, size_t len);

/** envnames_looks_secret() - a name as credentials have. */
bool envnames_looks_secret(const char *name, size_t len);

/** envnames_value_looks_secret() - begins as tokens do, or has a URL with a password or a token in it. */
bool envnames_value_looks_secret(const char *value);

#endif
