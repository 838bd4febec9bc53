/*
 * homes.h - the home directories of the user: what HOME says and what the user database says
 *
 * HOME may be unset or point elsewhere (sudo, a service, a test); the credentials are where they
 * are all the same, so both are looked at.
 */
#ifndef LAUNCHER_HOMES_H
#define LAUNCHER_HOMES_H

#include <stddef.h>

#define HOMES_MAX 2

/** struct homes - @n absolute paths in @v, each existing at the time or not; open, a value */
struct homes {
	char *v[HOMES_MAX];
	size_t n;
};

/** homes_find() - look both up; free with homes_clear(). */
void homes_find(struct homes *h);

/** homes_clear() - release the paths. */
void homes_clear(struct homes *h);

#endif
