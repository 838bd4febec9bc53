/*
 * Theory of operation
 *
 * Landlock does not mediate chmod, chown, utimes and extended attributes, and it cannot take away
 * inside what it has granted. Mounts do both, in the run's own mount namespace:
 *
 *  1. Every path is opened once (mountplan.c), and for each that needs one, a detached copy of the
 *     tree behind the descriptor is taken (open_tree) while it still has the host's flags.
 *  2. The whole tree is made read-only, nosuid and nodev, recursively, by one call. /dev is attached
 *     again without the latter: a device node elsewhere (a container's, an old root's) is none.
 *  3. The steps are attached from the top downwards: private directories are empty file systems,
 *     grants are their own copies, locked names are read-only copies of themselves, and what is
 *     hidden gets an empty directory or file in its place. A directory of an automounter gets one with
 *     nothing in it but what is mounted there now.
 *  4. /proc is mounted anew for the PID namespace, read-only: uid 0 owns /proc/sys/kernel files
 *     even without a capability. What is hidden in it comes after that.
 *  5. Seen from inside, each path must lead to what was mounted there (mountcheck.c).
 *
 * No path is resolved a second time without being compared with what was opened first. A mount
 * point can be neither removed nor renamed in its own namespace, so the directories between a
 * writable root and a locked name are pinned by being mounted on themselves.
 */
#include "launcher/files/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "launcher/files/devpts.h"
#include "launcher/files/mountcheck.h"
#include "launcher/files/mountplan.h"
#include "launcher/files/spelling.h"
#include "launcher/userns.h"
#include "launcher/weaker.h"

/* Where the empty directory and file are kept, until /proc covers them. */
#define COVERS "/proc"

#define HIDE_AGAIN_MAX 64 /* in all; then something is wrong */

/* What the steps are carried out with. */
struct work {
	struct mountplan plan;
	enum fs_mode mode;
	unsigned accept, weaker; /* WEAKER_ */
	int empty_dir, empty_file, barred_file;
	unsigned again; /* hidden anew */
	struct error *err;
};

static int set_flags(int fd, const char *path, uint64_t set)
{
	struct mount_attr attr = { .attr_set = set };
	unsigned flags = AT_RECURSIVE | (*path ? 0U : (unsigned)AT_EMPTY_PATH);

	return mount_setattr(fd, path, flags, &attr, sizeof(attr));
}

/* --fs off, or "/" is granted for writing. */
static bool is_all_writable(const struct work *w)
{
	return w->plan.n > 0 && w->plan.v[0].as_is;
}

/* A detached copy of what a descriptor leads to, with what is mounted below it. */
static int clone_tree(int fd)
{
	return open_tree(fd, "",
			 AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

/* Where "/" is granted, the harmless ones in /dev are steps themselves (mountplan.c). */
static bool holds_devices(const struct work *w, const struct mountplan_step *s)
{
	return is_all_writable(w) && S_ISDIR(s->mode);
}

/* The same with the flags that a step asks for. */
static int copy_tree(struct work *w, const struct mountplan_step *s, int fd)
{
	CLEANUP_CLOSE int tree = clone_tree(fd);
	uint64_t set = MOUNT_ATTR_NOSUID;

	if (w->mode != FS_OFF && (s->kind != STEP_DEVICES || holds_devices(w, s)))
		set |= MOUNT_ATTR_NODEV;
	if (s->kind == STEP_LOCK || s->kind == STEP_DEVICES ||
	    (s->kind == STEP_GRANT && s->use != MOUNTS_WRITE))
		set |= MOUNT_ATTR_RDONLY;
	if (tree < 0 || set_flags(tree, "", set) < 0)
		return error_set(w->err, errno, "cannot copy the mount of %s", s->path);
	return take_fd(&tree);
}

/* What is writable now must be copied before everything becomes read-only. */
static int copy_grants(struct work *w)
{
	for (size_t i = 0; i < w->plan.n; i++) {
		struct mountplan_step *s = &w->plan.v[i];

		if ((s->kind != STEP_GRANT && s->kind != STEP_DEVICES) || !s->mounted || s->as_is)
			continue;
		s->tree = copy_tree(w, s, s->fd);
		if (s->tree < 0)
			return -1;
	}
	return 0;
}

/* A new tmpfs, detached. */
static int new_tmpfs(const char *mode, unsigned attr)
{
	CLEANUP_CLOSE int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);

	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "mode", mode, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return fsmount(fs, FSMOUNT_CLOEXEC, attr);
}

static int move_to(int tree, int target)
{
	return move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

/* One empty directory and one empty file, from which everything hidden is covered; one of no mode, too. */
static int make_covers(struct work *w)
{
	CLEANUP_CLOSE int fs =
		new_tmpfs("0555", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	CLEANUP_CLOSE int at = open(COVERS, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fs < 0 || at < 0 || move_to(fs, at) < 0)
		return error_set(w->err, errno, "cannot make the empty file system");
	if (mkdirat(fs, "dir", 0555) < 0 || mknodat(fs, "file", S_IFREG | 0444, 0) < 0 ||
	    mknodat(fs, "barred", S_IFREG, 0) < 0)
		return error_set(w->err, errno, "cannot fill the empty file system");
	w->empty_dir = openat(fs, "dir", O_PATH | O_CLOEXEC);
	w->empty_file = openat(fs, "file", O_PATH | O_CLOEXEC);
	w->barred_file = openat(fs, "barred", O_PATH | O_CLOEXEC);
	if (w->empty_dir < 0 || w->empty_file < 0 || w->barred_file < 0 ||
	    set_flags(fs, "", MOUNT_ATTR_RDONLY) < 0)
		return error_set(w->err, errno, "cannot close the empty file system");
	return 0;
}

/* Everything but the grants: read-only. Where everything is granted, /sys only. */
static int make_readonly(struct work *w)
{
	bool all = is_all_writable(w);
	const char *root = all ? "/sys" : "/";
	uint64_t set = MOUNT_ATTR_NOSUID | (w->mode == FS_OFF ? 0 : MOUNT_ATTR_NODEV);

	if (all && w->mode != FS_OFF && set_flags(AT_FDCWD, "/", set) < 0)
		return error_set(w->err, errno, "cannot take devices from /");
	if (set_flags(AT_FDCWD, root, set | MOUNT_ATTR_RDONLY) < 0 && !(all && errno == ENOENT))
		return error_set(w->err, errno, "cannot make %s read-only", root);
	return 0;
}

/*
 * Opens what a step is about in the tree that is attached above it. What has been opened before
 * must still be the same; a pin or a lock is opened here for the first time.
 */
static int open_below(struct work *w, const struct mountplan_step *s,
		      const struct mountplan_step *above)
{
	const char *rel = mountplan_below(s, above);
	CLEANUP_CLOSE int fd = *rel ? fd_open_plain(above->fd, rel, O_PATH | O_NOFOLLOW)
				    : fcntl(above->fd, F_DUPFD_CLOEXEC, 3);
	struct mountplan_step is;

	if (fd < 0)
		return error_set(w->err, errno, "cannot open %s", s->path);
	if (s->fd >= 0 && (mountplan_look(fd, &is) < 0 || is.dev != s->dev || is.ino != s->ino))
		return error_set(w->err, 0, "%s was replaced while the sandbox was being made",
				 s->path);
	return take_fd(&fd);
}

/* Makes the path of @s in the empty directory above it, with a mount point of its own kind. */
static int make_target(struct work *w, const struct mountplan_step *s,
		       const struct mountplan_step *above)
{
	CLEANUP_FREE char *rel = xstrdup(mountplan_below(s, above));
	char *name = rel;
	CLEANUP_CLOSE int dir = fcntl(above->fd, F_DUPFD_CLOEXEC, 3);
	int fd;

	for (char *slash; (slash = strchr(name, '/')); name = slash + 1) {
		int next;

		*slash = '\0';
		if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST)
			return error_set(w->err, errno, "cannot make a way to %s", s->path);
		next = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return error_set(w->err, errno, "cannot open a way to %s", s->path);
		(void)close(dir);
		dir = next;
	}
	if (S_ISDIR(s->mode))
		(void)mkdirat(dir, name, 0755);
	else
		(void)mknodat(dir, name, S_IFREG | 0600, 0);
	fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_set(w->err, errno, "cannot make a place for %s", s->path);
	return fd;
}

/* Where a step's tree is to be attached. */
static int target_of(struct work *w, size_t i)
{
	const struct mountplan_step *s = &w->plan.v[i], *above = mountplan_above(&w->plan, i);

	if (!above || (above->as_is && s->fd >= 0)) {
		int fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 3);

		return fd < 0 ? error_set(w->err, errno, "cannot keep %s", s->path) : fd;
	}
	if (above->kind == STEP_PRIVATE || above->kind == STEP_COVER || above->kind == STEP_HIDE)
		return make_target(w, s, above);
	return open_below(w, s, above);
}

/* What is to be attached: the copy, an empty file system, or an empty directory or file. */
static int tree_of(struct work *w, struct mountplan_step *s, int target)
{
	if (s->tree >= 0)
		return take_fd(&s->tree);
	if (s->kind == STEP_PIN || s->kind == STEP_LOCK)
		return copy_tree(w, s, target);
	if (s->kind == STEP_PRIVATE)
		return new_tmpfs("1777", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (s->fresh)
		return new_tmpfs("0755", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (S_ISDIR(s->mode))
		return clone_tree(w->empty_dir);
	return clone_tree(s->barred ? w->barred_file : w->empty_file);
}

/*
 * Hides what is at the path of @s now: in the new /proc, or because a program outside has put another
 * file there since it was opened, as agents do with their settings many times a minute. What has gone
 * needs no cover, and no rule grants what comes (landlock_tree.h).
 */
static int hide_anew(struct work *w, struct mountplan_step *s)
{
	while (w->again++ < HIDE_AGAIN_MAX) {
		CLEANUP_CLOSE int target = fd_open_plain(AT_FDCWD, s->path, O_PATH);
		CLEANUP_CLOSE int tree = -1;
		struct mountplan_step is;

		if (target < 0 && errno == ENOENT) {
			s->mounted = false;
			return 0;
		}
		if (target < 0 || mountplan_look(target, &is) < 0)
			break;
		tree = clone_tree(S_ISDIR(is.mode) ? w->empty_dir
				  : s->barred	   ? w->barred_file
						   : w->empty_file);
		if (tree >= 0 && move_to(tree, target) == 0) {
			cleanup_close(&s->fd);
			s->fd = take_fd(&tree);
			return 0;
		}
		if (errno != ENOENT)
			break;
	}
	return error_set(w->err, errno, "cannot hide %s", s->path);
}

/* From then on the step's descriptor is what the command sees. */
static int attach(struct work *w, size_t i)
{
	struct mountplan_step *s = &w->plan.v[i];
	CLEANUP_CLOSE int target = target_of(w, i);
	CLEANUP_CLOSE int tree = -1;

	if (target < 0)
		return -1;
	tree = tree_of(w, s, target);
	if (tree >= 0 && move_to(tree, target) == 0) {
		cleanup_close(&s->fd);
		s->fd = take_fd(&tree);
		return 0;
	}
	if (tree >= 0 && errno == ENOENT && s->kind == STEP_HIDE && !s->fresh)
		return hide_anew(w, s); /* removed, or replaced */
	return error_set(w->err, errno, "cannot mount %s", s->path);
}

static int attach_all(struct work *w)
{
	for (size_t i = 0; i < w->plan.n; i++) {
		const struct mountplan_step *s = &w->plan.v[i];

		if (s->mounted && !s->as_is && !mountplan_in_proc(s->path) && attach(w, i))
			return -1;
	}
	for (size_t i = 0; i < w->plan.n; i++) {
		const struct mountplan_step *s = &w->plan.v[i];
		struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

		if (s->mounted && s->fresh &&
		    mount_setattr(s->fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
			return error_set(w->err, errno, "cannot close %s", s->path);
	}
	return 0;
}

int mounts_detach(struct error *err)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
		return 0;
	if (errno == EPERM) /* the first thing that needs a capability over mounts */
		return userns_explain(EPERM, err);
	return error_set(err, errno, "cannot detach the mount namespace");
}

int mounts_proc(struct error *err)
{
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, NULL) == 0)
		return 0;
	if (errno == EPERM)
		return error_set(
			err, errno,
			"cannot mount a fresh /proc: the surrounding container hides parts of its "
			"own; start it with --security-opt systempaths=unconfined, or accept that "
			"the command sees which processes and connections there are in it with "
			"--accept-weaker=proc (see 'sbx-net doctor')");
	return error_set(err, errno, "cannot mount a fresh /proc (see 'sbx-net doctor')");
}

/*
 * Should: show only the run's own processes, and nothing of the kernel to write to.
 * Mustn't: fall back to the surrounding /proc, where a hundred other processes can be read, unless
 * that has been accepted by name; read-only it is in any case.
 */
static int mount_proc(struct work *w)
{
	/* Over the covers, which stay below: taking them away waits for an RCU grace period, a millisecond. */
	if (mounts_proc(w->err) == 0)
		return 0;
	if (!(w->accept & WEAKER_PROC))
		return -1;
	w->weaker |= WEAKER_PROC;
	if (umount2(COVERS, MNT_DETACH) < 0)
		return error_set(w->err, errno, "cannot clear " COVERS);
	if (set_flags(AT_FDCWD, "/proc", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID) < 0)
		return error_set(w->err, errno, "cannot make /proc read-only");
	return 0;
}

static int attach_in_proc(struct work *w)
{
	for (size_t i = 0; i < w->plan.n; i++) {
		struct mountplan_step *s = &w->plan.v[i];

		if (s->mounted && mountplan_in_proc(s->path)) {
			w->again = 0; /* none of these has been replaced */
			if (hide_anew(w, s))
				return -1;
		}
	}
	return 0;
}

static int carry_out(struct work *w)
{
	if (copy_grants(w) || make_readonly(w) || make_covers(w) || attach_all(w) ||
	    spelling_check(&w->plan, w->accept, &w->weaker, w->err))
		return -1;
	return mount_proc(w) || attach_in_proc(w) ? -1 : 0;
}

/* Hands what the rules are made from over to @out. */
static void collect(struct work *w, struct mounts *out)
{
	struct mountplan *p = &w->plan;

	*out = (struct mounts){
		.v = xcalloc(p->n + 1, sizeof(*out->v)),
		.tmpdir = -1,
		.hidden = p->hidden,
		.nhidden = p->nhidden,
		.second = p->second,
		.covers = { take_fd(&w->empty_dir), take_fd(&w->empty_file) },
	};
	p->hidden = NULL;
	p->second = NULL;
	p->nhidden = 0;
	for (size_t i = 0; i < p->n; i++) {
		struct mountplan_step *s = &p->v[i];

		if (s->kind == STEP_PRIVATE && s->tmpdir)
			out->tmpdir = take_fd(&s->fd);
		else if (s->kind == STEP_PRIVATE)
			out->v[out->n++] = (struct mounts_root){ MOUNTS_SCRATCH, take_fd(&s->fd) };
		else if (s->kind == STEP_GRANT && !s->dropped)
			out->v[out->n++] = (struct mounts_root){ s->use, take_fd(&s->fd) };
	}
}

/* What a program outside has replaced is covered anew, and looked at again. */
static int check_all(struct work *w)
{
	size_t i = 0;

	while ((i = mountcheck_next(&w->plan, i)) < w->plan.n) {
		struct mountplan_step *s = &w->plan.v[i];

		if (s->kind != STEP_HIDE || s->fresh)
			return mountcheck_past(s->path, 0, w->err);
		if (hide_anew(w, s) < 0)
			return -1;
	}
	return 0;
}

/*
 * Where it fails the user's other terminals lie open: Landlock keeps the command from them, which stands
 * before no file with --fs off.
 * Return: whether /dev/pts is the run's own; -1 with the error set if nothing keeps them.
 */
static int mount_terminals(struct work *w)
{
	if (devpts_mount())
		return 1;
	if (w->mode != FS_OFF || (errno == ENOENT && access("/dev/pts", F_OK) < 0))
		return 0;
	return error_set(
		w->err, errno,
		"cannot mount /dev/pts: the command could read and write your other terminals, "
		"since nothing else keeps it from them with --fs off: leave that out");
}

/* The last mount, and a look at all of them. */
static int finish(struct work *w, const struct launcher_plan *plan, struct mounts *out)
{
	int private_pts = mount_terminals(w);
	int cwd;

	if (private_pts < 0 || check_all(w) < 0)
		return -1;
	cwd = mountcheck_cwd(&w->plan, plan, w->err);
	if (cwd < 0)
		return -1;
	collect(w, out);
	out->cwd = cwd;
	out->weaker = w->weaker;
	out->private_pts = private_pts > 0;
	return 0;
}

int mounts_setup(const struct launcher_plan *plan, const struct protect *protect,
		 struct mounts *out, struct error *err)
{
	struct work w = { .mode = plan->fs,
			  .accept = plan->accept_weaker,
			  .empty_dir = -1,
			  .empty_file = -1,
			  .barred_file = -1,
			  .err = err };
	struct rlimit was;
	int rc;

	if (mounts_detach(err))
		return -1;
	if (mountplan_make(plan, protect, &w.plan, err))
		return -1;
	fd_raise_limit(&was); /* one for each step; the command gets the caller's own limit */
	rc = carry_out(&w) || finish(&w, plan, out) ? -1 : 0;
	cleanup_close(&w.empty_dir);
	cleanup_close(&w.empty_file);
	cleanup_close(&w.barred_file);
	mountplan_clear(&w.plan);
	if (setrlimit(RLIMIT_NOFILE, &was) < 0)
		return error_set(err, errno, "cannot put the limit of descriptors back");
	return rc;
}

size_t mounts_roots(const struct mounts *m, enum mounts_use use, int **out)
{
	int *fds = xcalloc(m->n + 1, sizeof(*fds));
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].use == use)
			fds[n++] = m->v[i].fd;
	*out = fds;
	return n;
}
