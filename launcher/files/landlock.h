/*
 * landlock.h - the file rules of a run, as a Landlock ruleset
 */
#ifndef LAUNCHER_FILES_LANDLOCK_H
#define LAUNCHER_FILES_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "launcher/files/landlock_abi.h"
#include "launcher/launcher.h"

/** struct fd_list - descriptors, not owned */
struct fd_list {
	const int *v;
	size_t n;
};

/**
 * struct landlock_plan - what the command may do with files; nothing is owned
 * @mode: FS_WORKSPACE: read and execute everywhere but in /dev, write @cwd, @tmpdir, @write and
 *        the harmless devices. FS_STRICT: read, write and execute are separate; by default only
 *        the system set (landlock.c) and @tmpdir. FS_OFF: no file rules, the scopes only
 * @cwd: the workspace, -1 if there is none
 * @tmpdir: the private TMPDIR, -1 if there is none
 * @program: the file to be executed, which strict mode lets be read and executed; or -1
 * @read, @write, @exec: grants, opened O_PATH by landlock_open() so that no path is resolved twice
 * @scratch: temporary directories of the run's own beside @tmpdir, to be written in
 * @hidden: canonical paths, sorted, that no rule may cover, whether there is something or not; but
 *          for those in a tree that may be written, where whatever is made must be readable
 * @covers: what is shown in their place (mounts.c)
 * @crowd: NULL, or receives the first directory with too much in it (landlock_tree.h)
 * @allow_unix_sockets: pathname sockets may be made and connected to
 * @private_pts: /dev/pts is the run's own (devpts_mount()) and may be used; else it is denied, since
 *               it holds the terminals of the user's other sessions
 *
 * Protected paths inside a granted tree are covered by mounts: Landlock can only add. So are hidden
 * ones, but a cover goes with what it covers, hence @hidden (landlock_tree.c). Running a program takes both @exec and @read, since
 * the kernel opens it for reading.
 */
struct landlock_plan {
	enum fs_mode mode;
	int cwd;
	int tmpdir;
	int program;
	struct fd_list read, write, exec, scratch;
	struct path_list hidden;
	struct fd_list covers;
	struct launcher_crowd *crowd;
	bool allow_unix_sockets;
	bool private_pts;
};

/**
 * landlock_open() - open the root of a grant (O_PATH, CLOEXEC), following symlinks once
 *
 * Return: the descriptor, which the caller owns; -1 with @err: a missing path is an error.
 */
int landlock_open(const char *path, struct error *err);

/**
 * landlock_build() - a ruleset with every rule in one layer
 * @rights: from landlock_abi_query()
 *
 * To be called in the command's mount namespace, after the last mount. The scopes (abstract
 * sockets, signals) are part of it from ABI 6.
 *
 * Call it only if landlock_needed(). Return: the ruleset (CLOEXEC), which the caller owns; -1 with
 * @err when any rule failed.
 */
int landlock_build(const struct landlock_plan *plan, const struct landlock_rights *rights,
		   struct error *err);

/** landlock_needed() - false only for FS_OFF on ABI 5, where a ruleset would be empty. */
bool landlock_needed(const struct landlock_plan *plan, const struct landlock_rights *rights);

/** struct landlock_grant - a path that the host may or may not have, and the rights there */
struct landlock_grant {
	const char *path;
	uint64_t rights;
};

/**
 * landlock_build_grants() - a ruleset of nothing but these grants, without scopes
 * @v, @n: paths that do not exist are left out
 *
 * Return: the ruleset (CLOEXEC), which the caller owns; -1 with @err.
 */
int landlock_build_grants(const struct landlock_grant *v, size_t n,
			  const struct landlock_rights *rights, struct error *err);

/**
 * landlock_enforce() - confine the calling thread and its children by @ruleset, for good
 *
 * no_new_privs must be set. Return: 0, or -1 with @err.
 */
int landlock_enforce(int ruleset, struct error *err);

#endif
