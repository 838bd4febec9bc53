/*
 * hosting.h - domains below which anybody can get a name, and which the public suffix list lacks
 *
 * Not complete, and not a wall: no name is ever widened to one of these, and who writes one as a
 * wildcard is told.
 */
#ifndef POLICY_HOSTING_H
#define POLICY_HOSTING_H

#include <stdbool.h>

/** hosting_under() - the known one that is the canonical name @domain or lies below it, or NULL. */
const char *hosting_under(const char *domain);

/** hosting_is_shared() - whether a wildcard below the canonical name @domain is of many owners. */
bool hosting_is_shared(const char *domain);

#endif
