#include "launcher/files/mountplan.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "launcher/files/automounts.h"
#include "launcher/files/cutgrant.h"
#include "launcher/files/grantpath.h"
#include "launcher/files/hiddenplan.h"
#include "launcher/files/landlock.h"

/* Temporary directories: names that anybody can guess, other users' files and sockets. */
static const char *const private_dirs[] = { "/dev/shm", LAUNCHER_TMPDIR, "/var/tmp" };

/* As those of landlock.c. */
static const char *const harmless[] = { "/dev/null",	"/dev/zero", "/dev/full", "/dev/random",
					"/dev/urandom", "/dev/tty",  "/dev/ptmx" };

/* @id is what it must be, NULL for anything. */
static int add_grant(struct mountplan *p, enum mounts_use use, bool own, const char *path,
		     const struct file_id *id, struct error *err)
{
	CLEANUP_CLOSE int fd = landlock_open(path, err);

	if (fd < 0 || grantpath_same(fd, id, path, err) < 0)
		return -1;
	return mountplan_add(
		p, (struct mountplan_step){ .kind = STEP_GRANT, .use = use, .own = own }, &fd, err);
}

static int add_grants(struct mountplan *p, enum mounts_use use, const struct path_list *list,
		      struct error *err)
{
	for (size_t i = 0; i < list->n; i++)
		if (add_grant(p, use, true, list->v[i], list->ids ? &list->ids[i] : NULL, err))
			return -1;
	return 0;
}

/*
 * The topmost writable grant strictly above a path; NULL if there is none. Topmost, because a
 * grant inside another is not a mount point and could be moved by way of the outer one.
 */
static const char *root_above(const struct mountplan *p, const char *path)
{
	const char *found = NULL;

	for (size_t i = 0; i < p->n; i++) {
		const struct mountplan_step *s = &p->v[i];
		bool root =
			s->kind == STEP_ROOT || (s->kind == STEP_GRANT && s->use == MOUNTS_WRITE);

		if (!root || strcmp(s->path, path) == 0 || !path_beneath(path, s->path))
			continue;
		if (!found || strlen(s->path) < strlen(found))
			found = s->path;
	}
	return found;
}

/* Each directory between a writable root and a name in it; none of them can be moved then. */
static void add_pins(struct mountplan *p, const char *locked)
{
	const char *root = root_above(p, locked);
	CLEANUP_FREE char *path = xstrdup(locked);
	size_t top = root ? strlen(root) : 0;

	if (!root)
		return;
	for (char *slash; (slash = strrchr(path, '/')) && (size_t)(slash - path) > top;) {
		*slash = '\0';
		mountplan_add_later(p, (struct mountplan_step){ .kind = STEP_PIN }, path);
	}
}

static void add_locked(struct mountplan *p, const struct protect *protect)
{
	for (size_t i = 0; i < protect->npaths; i++) {
		bool firm = i >= protect->first_denied;

		mountplan_add_later(p, (struct mountplan_step){ .kind = STEP_LOCK, .firm = firm },
				    protect->paths[i]);
		add_pins(p, protect->paths[i]);
	}
}

/* What is hidden must not come to light, or be made anew, by way of a directory above it. */
static void pin_hidden(struct mountplan *p)
{
	size_t n = p->n;

	for (size_t i = 0; i < n; i++)
		if (p->v[i].kind == STEP_HIDE)
			add_pins(p, p->v[i].path);
}

/*
 * Not what is granted itself, nor what lies in a tree that is granted for writing; /dev/shm goes with
 * the IPC namespace, and is not meant by who grants "/".
 */
static bool is_private(const struct mountplan *p, const char *name, const char *dir)
{
	bool shm = strcmp(name, "/dev/shm") == 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct mountplan_step *s = &p->v[i];

		if (s->kind != STEP_GRANT)
			continue;
		if (strcmp(s->path, dir) == 0)
			return false;
		if (s->use == MOUNTS_WRITE && path_beneath(dir, s->path) &&
		    !(shm && strcmp(s->path, "/") == 0))
			return false;
	}
	return true;
}

/* Two of them may be one. */
static bool is_known(const struct mountplan *p, const char *dir)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].kind == STEP_PRIVATE && strcmp(p->v[i].path, dir) == 0)
			return true;
	return false;
}

static int add_private(struct mountplan *p, const struct launcher_plan *plan, struct error *err)
{
	/* the IPC namespace is private in every mode, and so must be /dev/shm */
	size_t n = plan->fs == FS_OFF ? 1 : ARRAY_SIZE(private_dirs);

	for (size_t i = 0; i < n; i++) {
		/* a link of the administrator's: nobody else can put one there */
		CLEANUP_CLOSE int fd = open(private_dirs[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		CLEANUP_FREE char *path = fd < 0 ? NULL : fd_path(fd);

		if (!path || !is_private(p, private_dirs[i], path) || is_known(p, path))
			continue;
		if (mountplan_add(p,
				  (struct mountplan_step){
					  .kind = STEP_PRIVATE,
					  .tmpdir = strcmp(private_dirs[i], LAUNCHER_TMPDIR) == 0 },
				  &fd, err))
			return -1;
	}
	return 0;
}

/* What cannot be opened is out of the command's reach, too, or has just been taken away. */
static int add_cover(struct mountplan *p, const char *path, struct error *err)
{
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) < 0 || fs.f_type != AUTOFS_SUPER_MAGIC)
		return 0; /* or something else is mounted on it */
	return mountplan_add(p, (struct mountplan_step){ .kind = STEP_COVER }, &fd, err);
}

/* What is mounted there now stays as it is, with no other right than it has by other steps. */
static int add_kept(struct mountplan *p, const struct launcher_plan *plan, const char *path,
		    struct error *err)
{
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	enum mounts_use use = plan->fs == FS_OFF ? MOUNTS_WRITE : MOUNTS_SEE;

	if (fd < 0)
		return 0;
	return mountplan_add(p, (struct mountplan_step){ .kind = STEP_GRANT, .use = use }, &fd,
			     err);
}

static int add_automounts(struct mountplan *p, const struct launcher_plan *plan,
			  const struct mountinfo *seen, struct error *err)
{
	struct automounts a;
	int rc = 0;

	automounts_find(&a, seen);
	for (size_t i = 0; rc == 0 && i < a.n; i++)
		rc = add_cover(p, a.v[i], err);
	for (size_t i = 0; rc == 0 && i < a.nkept; i++)
		rc = add_kept(p, plan, a.kept[i], err);
	automounts_clear(&a);
	return rc;
}

static int add_root(struct mountplan *p, struct error *err)
{
	CLEANUP_CLOSE int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_set(err, errno, "cannot open /");
	return mountplan_add(p, (struct mountplan_step){ .kind = STEP_ROOT, .as_is = true }, &fd,
			     err);
}

static int add_devices(struct mountplan *p, struct error *err)
{
	CLEANUP_CLOSE int fd = open("/dev", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return error_set(err, errno, "cannot open /dev");
	return mountplan_add(p, (struct mountplan_step){ .kind = STEP_DEVICES }, &fd, err);
}

static bool is_root_granted(const struct mountplan *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].kind == STEP_GRANT && p->v[i].use == MOUNTS_WRITE &&
		    strcmp(p->v[i].path, "/") == 0)
			return true;
	return false;
}

/*
 * Landlock knows no grant of "/" that leaves /dev out and lets files be made in "/". So the mount keeps
 * disks and other people's terminals from who has the permission, and these few work all the same.
 */
static int add_harmless(struct mountplan *p, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++) {
		CLEANUP_CLOSE int fd = open(harmless[i], O_PATH | O_NOFOLLOW | O_CLOEXEC);
		struct stat st;

		if (fd < 0 || fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode))
			continue; /* a container's, or /dev/ptmx that is a link */
		if (mountplan_add(p, (struct mountplan_step){ .kind = STEP_DEVICES }, &fd, err))
			return -1;
	}
	return 0;
}

/* In strict mode it is all that is granted of where one starts. What is no file is told of later. */
static int add_program(struct mountplan *p, const struct launcher_plan *plan, struct error *err)
{
	CLEANUP_FREE char *path = NULL;
	CLEANUP_CLOSE int fd = -1;

	if (plan->fs != FS_STRICT || !plan->argv || !plan->argv[0] || !strchr(plan->argv[0], '/'))
		return 0;
	path = plan->argv[0][0] == '/' ? xstrdup(plan->argv[0])
				       : xasprintf("%s/%s", plan->cwd, plan->argv[0]);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || !fd_is_regular(fd))
		return 0;
	return mountplan_add(p, (struct mountplan_step){ .kind = STEP_GRANT, .use = MOUNTS_SEE },
			     &fd, err);
}

static int add_granted(struct mountplan *p, const struct launcher_plan *plan, struct error *err)
{
	enum mounts_use cwd = plan->fs == FS_WORKSPACE ? MOUNTS_WRITE : MOUNTS_SEE;

	if (plan->fs == FS_OFF)
		return add_root(p, err);
	if (add_devices(p, err) || add_grant(p, cwd, false, plan->cwd, plan->cwd_id, err) ||
	    add_grants(p, MOUNTS_READ, &plan->read, err) ||
	    add_grants(p, MOUNTS_WRITE, &plan->write, err))
		return -1;
	if (add_grants(p, MOUNTS_EXEC, &plan->exec, err) || add_program(p, plan, err))
		return -1;
	return is_root_granted(p) ? add_harmless(p, err) : 0;
}

static int rank(enum mounts_use use)
{
	return use == MOUNTS_WRITE ? 0 : use == MOUNTS_SEE ? 2 : 1;
}

static int compare_steps(const void *a, const void *b)
{
	const struct mountplan_step *x = a, *y = b;
	int by_path = strcmp(x->path, y->path);

	if (by_path)
		return by_path;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	/* of two grants of one path the larger one comes first and covers the other */
	return rank(x->use) - rank(y->use);
}

/* Sorted as they are, the last of a path's prefixes is the longest. */
/* A denial that no grant lifts, on the path of step @i or above it. */
static bool is_denied(const struct mountplan *p, size_t i, enum mountplan_kind kind)
{
	for (size_t k = 0; k < p->n; k++)
		if (p->v[k].kind == kind && p->v[k].firm &&
		    path_beneath(p->v[i].path, p->v[k].path))
			return true;
	return false;
}

/* Whether the user has granted the very path of step @i. */
static bool is_named(const struct mountplan *p, size_t i, bool for_writing)
{
	for (size_t k = 0; k < p->n; k++) {
		const struct mountplan_step *s = &p->v[k];

		if (s->kind == STEP_GRANT && s->own && !s->dropped &&
		    (!for_writing || s->use == MOUNTS_WRITE) && strcmp(s->path, p->v[i].path) == 0)
			return true;
	}
	return false;
}

static bool is_writable(const struct mountplan_step *s)
{
	return s && (s->kind == STEP_ROOT || s->kind == STEP_PIN ||
		     (s->kind == STEP_GRANT && s->use == MOUNTS_WRITE));
}

static bool is_empty(const struct mountplan_step *s)
{
	return s && (s->kind == STEP_PRIVATE || s->kind == STEP_COVER || s->kind == STEP_HIDE);
}

static void settle_grant(struct mountplan *p, size_t i)
{
	struct mountplan_step *s = &p->v[i], *above;

	if (s->dropped)
		return; /* cut up */

	if (is_denied(p, i, STEP_HIDE)) {
		s->dropped = true;
		return;
	}
	if (s->use == MOUNTS_WRITE && is_denied(p, i, STEP_LOCK))
		s->use = MOUNTS_READ;
	above = mountplan_above(p, i);
	s->mounted = s->use == MOUNTS_WRITE ? !is_writable(above) : is_empty(above);
	s->as_is = s->mounted && strcmp(s->path, "/") == 0;
	/* what may be written in a temporary directory may be read in all that is mounted there */
	if (s->mounted && s->use == MOUNTS_SEE && S_ISDIR(s->mode) && above->kind == STEP_PRIVATE) {
		s->kind = STEP_COVER;
		s->fresh = true;
	}
	if (s->mounted && above && above->kind == STEP_HIDE)
		above->fresh = true;
}

/*
 * Decides for each step, from the top downwards, whether it has an effect where it is: a lock is
 * needed only in something writable, a grant only where it is hidden or read-only otherwise.
 */
static void settle(struct mountplan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct mountplan_step *s = &p->v[i];
		const struct mountplan_step *above = mountplan_above(p, i);
		bool same = above && strcmp(above->path, s->path) == 0;

		switch (s->kind) {
		case STEP_ROOT:
		case STEP_DEVICES:
		case STEP_PRIVATE:
			s->mounted = true;
			break;
		case STEP_COVER:
			s->mounted = !is_empty(above) && !is_named(p, i, false);
			s->fresh = s->mounted;
			break;
		case STEP_GRANT:
			settle_grant(p, i);
			break;
		case STEP_PIN:
			s->mounted = is_writable(above) && !same;
			break;
		case STEP_LOCK:
			s->mounted = is_writable(above) && (s->firm || !is_named(p, i, true)) &&
				     !(same && above->kind == STEP_GRANT && !s->firm);
			break;
		case STEP_HIDE:
			s->mounted = !is_empty(above) && (s->firm || !is_named(p, i, false));
			break;
		}
		/* /proc is the run's own and read-only in any case */
		if (s->kind != STEP_HIDE && mountplan_in_proc(s->path))
			s->mounted = false;
		if (!s->mounted && s->kind != STEP_GRANT)
			s->dropped = true;
	}
}

/* What is granted for writing must be what names were protected in, before the namespaces. */
static int check_roots(const struct mountplan *p, const struct protect *protect, struct error *err)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct mountplan_step *s = &p->v[i];
		bool found = s->kind != STEP_GRANT || s->use != MOUNTS_WRITE;

		for (size_t k = 0; !found && k < protect->nroots; k++)
			found = protect->roots[k].dev == s->dev && protect->roots[k].ino == s->ino;
		if (!found)
			return error_set(err, 0, "%s was replaced while the sandbox was being made",
					 s->path);
	}
	return 0;
}

/* The mounts are read once: the kernel writes each line anew at every reading. */
static int add_all(struct mountplan *p, const struct launcher_plan *plan,
		   const struct protect *protect, struct error *err)
{
	struct mountinfo seen;
	int rc = 0;

	if (mountinfo_read(&seen) < 0)
		return error_set(err, errno, "cannot read /proc/self/mountinfo");
	p->seen = &seen;
	if (add_granted(p, plan, err) || check_roots(p, protect, err) ||
	    add_automounts(p, plan, &seen, err) || add_private(p, plan, err) ||
	    hiddenplan_add(p, plan, err))
		rc = -1;
	p->seen = NULL;
	mountinfo_clear(&seen);
	return rc;
}

int mountplan_make(const struct launcher_plan *plan, const struct protect *protect,
		   struct mountplan *out, struct error *err)
{
	struct mountplan p = { 0 };

	if (add_all(&p, plan, protect, err) || cutgrant_apply(&p, err)) {
		mountplan_clear(&p);
		return -1;
	}
	add_locked(&p, protect);
	pin_hidden(&p);
	qsort(p.v, p.n, sizeof(*p.v), compare_steps);
	settle(&p);
	hiddenplan_list(&p);
	*out = p;
	return 0;
}

void mountplan_clear(struct mountplan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		cleanup_close(&p->v[i].fd);
		cleanup_close(&p->v[i].tree);
		free(p->v[i].path);
	}
	free(p->v);
	hiddenplan_clear(p);
	*p = (struct mountplan){ 0 };
}
