/*
 * userns.h - the user namespace: the maps, and why a host refuses one
 */
#ifndef LAUNCHER_USERNS_H
#define LAUNCHER_USERNS_H

#include <sched.h>
#include <sys/types.h>

#include "base/error.h"

/* Every namespace of a run, by one clone(2). */
#define USERNS_ALL                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

/**
 * userns_map_self() - map one user and one group to themselves in the namespace just entered
 * @uid: effective user id outside, and the same inside
 * @gid: effective group id outside, and the same inside
 *
 * Called by the first process of the namespace. Written through /proc/self, which can be no other
 * process, so there is no pid that could be recycled between two steps. setgroups(2) is denied
 * for good. Return: 0, or -1 with @err.
 */
int userns_map_self(uid_t uid, gid_t gid, struct error *err);

/**
 * userns_explain() - put the host's reason and the remedy behind a failure to make namespaces
 * @code: errno of clone(2), of the map write or of the first privileged step inside
 *
 * Return: always -1, with @err set.
 */
int userns_explain(int code, struct error *err);

#endif
