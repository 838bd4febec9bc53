/*
 * homes.h - the home directories of the user: what HOME says and what the user database says
 *
 * And that of whoever has become this user by sudo, doas or pkexec: he has credentials, too, which root
 * can read, and a shell that he goes back to.
 *
 * HOME may be unset or point elsewhere (sudo, a service, a test); the credentials are where they
 * are all the same, so both are looked at. And each place counts at which a file system that holds
 * one of them is mounted once more.
 */
#ifndef LAUNCHER_FILES_HOMES_H
#define LAUNCHER_FILES_HOMES_H

#include <stddef.h>

#include "base/error.h"
#include "launcher/files/mountinfo.h"

#define HOMES_MAX 16

/**
 * struct homes - absolute paths, each existing at the time or not; open, a value
 * @v, @n: this user's, HOME's first, and the caller's behind them
 * @nown: how many are this user's
 */
struct homes {
	char *v[HOMES_MAX];
	size_t n;
	size_t nown;
};

/** homes_find() - look them up, HOME's first; free with homes_clear(). */
void homes_find(struct homes *h);

/** homes_find_among() - the same for who has read the mounts already. */
void homes_find_among(struct homes *h, const struct mountinfo *seen);

/**
 * homes_check() - whether HOME can be this user's
 *
 * After su, or sudo with the environment kept, it may be somebody else's, out of reach: nothing of
 * ours could be read or kept there. Return: 0, or -1 with @err, which names the remedy.
 */
int homes_check(struct error *err);

/** typedef homes_use - takes a path, and what was handed over with it. Return: not 0 to end there. */
typedef int homes_use(void *arg, const char *path);

/**
 * homes_again() - other names of existing files and directories
 * @paths, @n: canonical
 * @seen: the mounts
 *
 * Calls @use for each place at which the file system of one of them is mounted once more and shows
 * it, or a part of it: that is all one can see there. Return: 0, or what @use returned.
 */
int homes_again(const char *const *paths, size_t n, const struct mountinfo *seen, homes_use *use,
		void *arg);

/** homes_again_whole() - the same for one path, and not of its parts. */
int homes_again_whole(const char *path, const struct mountinfo *seen, homes_use *use, void *arg);

/**
 * homes_again_beneath() - the same, where only names beneath some directories matter
 * @roots, @nroots: those directories, canonical
 *
 * As a rule there are none, which is found out without a look at each path.
 */
int homes_again_beneath(const char *const *roots, size_t nroots, const char *const *paths, size_t n,
			const struct mountinfo *seen, homes_use *use, void *arg);

/** homes_clear() - release the paths. */
void homes_clear(struct homes *h);

#endif
