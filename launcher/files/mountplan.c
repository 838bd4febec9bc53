#include "launcher/files/mountplan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "launcher/files/automounts.h"
#include "launcher/files/credentials.h"
#include "launcher/files/grantpath.h"
#include "launcher/files/hiddenpath.h"
#include "launcher/files/homes.h"
#include "launcher/files/landlock.h"
#include "launcher/files/secondname.h"

/* Temporary directories: names that anybody can guess, other users' files and sockets. */
static const char *const private_dirs[] = { "/dev/shm", LAUNCHER_TMPDIR, "/var/tmp" };

#define CUT_MAX 1024 /* each is a mount */

/* As those of landlock.c. */
static const char *const harmless[] = { "/dev/null",	"/dev/zero", "/dev/full", "/dev/random",
					"/dev/urandom", "/dev/tty",  "/dev/ptmx" };

int mountplan_look(int fd, struct mountplan_step *out)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st) < 0)
		return -1;
	out->dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	out->ino = st.stx_ino;
	out->mode = st.stx_mode;
	out->apart = st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	return 0;
}

/* Adds a step for an open descriptor, which it takes over. */
static int add(struct mountplan *p, struct mountplan_step step, int *fd, struct error *err)
{
	step.path = fd_path(*fd);
	if (!step.path)
		return error_set(err, errno, "cannot tell where a path leads (is /proc mounted?)");
	if (mountplan_look(*fd, &step) < 0) {
		int code = errno;
		CLEANUP_FREE char *path = take_ptr(step.path);

		return error_set(err, code,
				 "cannot look at %s; if its file server is gone, unmount it "
				 "(umount -l, fusermount -u)",
				 path);
	}
	step.fd = take_fd(fd);
	step.tree = -1;
	p->v = xreallocarray(p->v, p->n + 1, sizeof(*p->v));
	p->v[p->n++] = step;
	return 0;
}

/* Adds a step whose path is canonical already; it is opened once what is above it is mounted. */
static void add_later(struct mountplan *p, struct mountplan_step step, const char *path)
{
	step.path = xstrdup(path);
	step.fd = -1;
	step.tree = -1;
	p->v = xreallocarray(p->v, p->n + 1, sizeof(*p->v));
	p->v[p->n++] = step;
}

/* @id is what it must be, NULL for anything. */
static int add_grant(struct mountplan *p, enum mounts_use use, bool own, const char *path,
		     const struct file_id *id, struct error *err)
{
	CLEANUP_CLOSE int fd = landlock_open(path, err);

	if (fd < 0 || grantpath_same(fd, id, path, err) < 0)
		return -1;
	return add(p, (struct mountplan_step){ .kind = STEP_GRANT, .use = use, .own = own }, &fd,
		   err);
}

static int add_grants(struct mountplan *p, enum mounts_use use, const struct path_list *list,
		      struct error *err)
{
	for (size_t i = 0; i < list->n; i++)
		if (add_grant(p, use, true, list->v[i], list->ids ? &list->ids[i] : NULL, err))
			return -1;
	return 0;
}

static bool is_regular(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/*
 * Takes @path: no rule may cover it (landlock_tree.h). In /proc a mount does: it is the run's own, in
 * which nobody outside replaces anything, and a rule for each entry would leave new processes out.
 */
static void keep_hidden(struct mountplan *p, char *path)
{
	if (mountplan_in_proc(path)) {
		free(path);
		return;
	}
	p->hidden = xreallocarray(p->hidden, p->nhidden + 1, sizeof(*p->hidden));
	p->hidden[p->nhidden++] = path;
}

/**
 * struct mountplan_parent - where names are missing, or links
 * @again, @nagain: where its file system is mounted once more
 */
struct mountplan_parent {
	char *path;
	char *canonical; /* NULL if it is no directory */
	bool writable;	 /* by this user */
	char **again;
	size_t nagain;
};

static int add_parent_again(void *arg, const char *path)
{
	struct mountplan_parent *p = arg;

	p->again = xreallocarray(p->again, p->nagain + 1, sizeof(*p->again));
	p->again[p->nagain++] = xstrdup(path);
	return 0;
}

/* The table names a few directories many times: each is looked at once. */
static const struct mountplan_parent *look_at(struct mountplan *p, const char *path)
{
	CLEANUP_CLOSE int fd = -1;
	struct mountplan_parent *found;

	for (size_t i = 0; i < p->nparents; i++)
		if (strcmp(p->parents[i].path, path) == 0)
			return &p->parents[i];
	p->parents = xreallocarray(p->parents, p->nparents + 1, sizeof(*p->parents));
	found = &p->parents[p->nparents++];
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*found = (struct mountplan_parent){ .path = xstrdup(path) };
	if (fd >= 0) {
		found->canonical = fd_path(fd);
		found->writable = faccessat(fd, ".", W_OK, AT_EACCESS) == 0;
	}
	if (found->canonical)
		(void)homes_again_whole(found->canonical, p->seen, add_parent_again, found);
	return found;
}

/* A name that no rule may cover, in a directory and in where that is mounted once more. */
static void keep_name(struct mountplan *p, const struct mountplan_parent *parent, const char *name)
{
	const char *dir = parent->canonical;

	keep_hidden(p, xasprintf("%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name));
	for (size_t i = 0; i < parent->nagain; i++)
		keep_hidden(p, xasprintf("%s/%s", parent->again[i], name));
}

/*
 * Something to hide that is missing: somebody may make it while the run lasts. What this user could
 * not make would not be readable either; unless the user has named it.
 */
static void add_missing(struct mountplan *p, const char *path, bool firm)
{
	CLEANUP_FREE char *dir = xstrdup(path);

	for (char *slash; (slash = strrchr(dir, '/'));) {
		const char *rest = path + (slash - dir) + 1;
		CLEANUP_FREE char *name = xstrndup(rest, strcspn(rest, "/"));
		const struct mountplan_parent *parent;

		*slash = '\0';
		parent = look_at(p, *dir ? dir : "/");
		if (parent->canonical && (firm || parent->writable))
			keep_name(p, parent, name);
		if (parent->canonical || !*dir)
			return;
	}
}

/** struct on_way - what hide_on_way() needs */
struct on_way {
	struct mountplan *p;
	bool firm;
};

/* A link by which something hidden is reached, or the place of what is missing where links lead. */
static void hide_on_way(void *arg, const char *dir, const char *name)
{
	const struct on_way *w = arg;
	const struct mountplan_parent *parent = look_at(w->p, dir);

	if (parent->canonical && (w->firm || parent->writable))
		keep_name(w->p, parent, name);
}

/* Return: a descriptor; -1 with errno, ENOENT when the place of what is missing has been kept. */
static int open_hidden(struct mountplan *p, const char *path, bool firm, bool *back)
{
	struct on_way way = { p, firm };
	struct hiddenpath found;
	int fd = fd_open_plain(AT_FDCWD, path, O_PATH);

	*back = false;
	if (fd >= 0 || errno != ELOOP) { /* as a rule there is no link on the way */
		if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
			add_missing(p, path, firm);
			errno = ENOENT;
		}
		return fd;
	}
	found = hiddenpath_find(path, hide_on_way, &way);
	*back = found.back;
	errno = found.code == ENOTDIR || found.code == ELOOP ? ENOENT : found.code;
	return found.fd;
}

/* Without these nothing runs, and a mount on the root directory is seen by nobody. */
static int check_hidden(const char *path, struct error *err)
{
	if (strcmp(path, "/") == 0)
		return error_set(
			err, 0,
			"cannot hide /: nothing would be left that could run; deny what is to "
			"be hidden, or start with --fs strict, which shows little else than "
			"the system");
	if (strcmp(path, "/proc") == 0)
		return error_set(err, 0,
				 "cannot hide /proc: the run has one of its own, in which its own "
				 "processes are, and few programs do without; deny a file in it");
	return 0;
}

/* Something to hide; what cannot be reached by this user need not be. */
static int add_hidden(struct mountplan *p, const char *path, bool firm, struct error *err)
{
	bool back;
	CLEANUP_CLOSE int fd = open_hidden(p, path, firm, &back);

	if (fd < 0 && firm && back)
		return error_set(err, 0,
				 "cannot hide %s: what its \"..\" goes back from is missing, and "
				 "could lead anywhere; spell the path without it",
				 path);
	if (fd < 0 && (errno == ENOENT || errno == EACCES))
		return 0;
	if (fd < 0)
		return error_set(err, errno, "cannot hide %s", path);
	if (add(p, (struct mountplan_step){ .kind = STEP_HIDE, .firm = firm }, &fd, err))
		return -1;
	return check_hidden(p->v[p->n - 1].path, err);
}

/* Of ours: directories and sockets are hidden, files only locked (protect.c): they may be read. */
static int add_private_path(struct mountplan *p, const char *path, struct error *err)
{
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd >= 0 && is_regular(fd))
		return 0;
	return add_hidden(p, path, true, err);
}

/* Credentials and what is ours, by one home directory; NULL for what lies in none. */
static int add_home_hidden(struct mountplan *p, const struct launcher_plan *plan, const char *home,
			   struct error *err)
{
	uid_t uid = geteuid();

	for (size_t i = 0; plan->fs != FS_OFF && i < credentials_count(); i++) {
		CLEANUP_FREE char *path = credentials_path(i, home, uid);

		size_t before = p->n;

		if (path && add_hidden(p, path, false, err))
			return -1;
		if (p->n > before)
			p->v[before].barred = credentials_barred(i);
	}
	for (size_t i = 0; plan->fs != FS_OFF && i < credentials_own_count(); i++) {
		CLEANUP_FREE char *path = credentials_own(i, home);

		if (path && add_hidden(p, path, false, err))
			return -1;
	}
	return 0;
}

/** struct moved - what add_moved() needs */
struct moved {
	struct mountplan *p;
	const struct launcher_plan *plan;
	struct error *err;
};

/*
 * Where a variable has moved a secret. /dev/null, with which people switch a file off, is none; and
 * what would take the workspace away is more likely a mistake than a wish.
 */
static int add_moved(void *arg, const char *variable, const char *path)
{
	const struct moved *m = arg;
	CLEANUP_FREE char *canonical = NULL;
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	canonical = fd >= 0 ? fd_path(fd) : NULL;
	if (canonical && path_beneath(m->plan->cwd, canonical))
		return error_set(m->err, 0,
				 "cannot hide %s, where %s says that secrets are: the working "
				 "directory is in it; unset the variable, or start elsewhere",
				 path, variable);
	return add_hidden(m->p, path, false, m->err);
}

/** struct again - what hide_again() needs */
struct again {
	struct mountplan *p;
	const char *cwd;
	bool firm;
	struct error *err;
};

static int hide_again(void *arg, const char *path)
{
	const struct again *a = arg;

	for (size_t i = 0; i < a->p->n; i++)
		if (a->p->v[i].kind == STEP_HIDE && a->p->v[i].firm >= a->firm &&
		    strcmp(a->p->v[i].path, path) == 0)
			return 0;
	if (path_beneath(a->cwd, path))
		return error_set(
			a->err, 0,
			"cannot start in %s: %s is another mount of something that is to be "
			"hidden; start elsewhere",
			a->cwd, path);
	return add_hidden(a->p, path, a->firm, a->err);
}

/* Where the file system of something hidden is mounted once more, it has another name. */
static int add_other_names(struct mountplan *p, const struct launcher_plan *plan, bool firm,
			   struct error *err)
{
	CLEANUP_FREE const char **paths = xcalloc(p->n + 1, sizeof(*paths));
	struct again again = { p, plan->cwd, firm, err };
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].kind == STEP_HIDE && p->v[i].firm == firm)
			paths[n++] = p->v[i].path;
	return homes_again(paths, n, p->seen, hide_again, &again);
}

/* Where a home directory is; the links that lead there are looked at once, and not for each name in it. */
static char *find_home(struct mountplan *p, const char *path)
{
	bool back;
	CLEANUP_CLOSE int fd = open_hidden(p, path, false, &back);
	char *canonical = fd < 0 ? NULL : fd_path(fd);

	return canonical ? canonical : xstrdup(path);
}

static int add_all_hidden(struct mountplan *p, const struct launcher_plan *plan,
			  const struct mountinfo *seen, struct error *err)
{
	struct moved moved = { p, plan, err };
	struct homes homes;
	int rc = 0;

	homes_find_among(&homes, seen);
	for (size_t i = 0; rc == 0 && i < homes.n; i++) {
		CLEANUP_FREE char *home = find_home(p, homes.v[i]);

		rc = add_home_hidden(p, plan, home, err);
	}
	if (rc == 0 && homes.n == 0)
		rc = add_home_hidden(p, plan, NULL, err);
	if (rc == 0 && plan->fs != FS_OFF)
		rc = credentials_moved(homes.n ? homes.v[0] : NULL, add_moved, &moved);
	homes_clear(&homes);
	if (rc < 0)
		return -1;
	for (size_t i = 0; i < plan->deny_read.n; i++)
		if (add_hidden(p, plan->deny_read.v[i], true, err))
			return -1;
	for (size_t i = 0; i < plan->private_paths.n; i++)
		if (add_private_path(p, plan->private_paths.v[i], err))
			return -1;
	return add_other_names(p, plan, true, err) || add_other_names(p, plan, false, err) ? -1 : 0;
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
		add_later(p, (struct mountplan_step){ .kind = STEP_PIN }, path);
	}
}

static void add_locked(struct mountplan *p, const struct protect *protect)
{
	for (size_t i = 0; i < protect->npaths; i++) {
		bool firm = i >= protect->first_denied;

		add_later(p, (struct mountplan_step){ .kind = STEP_LOCK, .firm = firm },
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
		if (add(p,
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
	return add(p, (struct mountplan_step){ .kind = STEP_COVER }, &fd, err);
}

/* What is mounted there now stays as it is, with no other right than it has by other steps. */
static int add_kept(struct mountplan *p, const struct launcher_plan *plan, const char *path,
		    struct error *err)
{
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	enum mounts_use use = plan->fs == FS_OFF ? MOUNTS_WRITE : MOUNTS_SEE;

	if (fd < 0)
		return 0;
	return add(p, (struct mountplan_step){ .kind = STEP_GRANT, .use = use }, &fd, err);
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
	return add(p, (struct mountplan_step){ .kind = STEP_ROOT, .as_is = true }, &fd, err);
}

static int add_devices(struct mountplan *p, struct error *err)
{
	CLEANUP_CLOSE int fd = open("/dev", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return error_set(err, errno, "cannot open /dev");
	return add(p, (struct mountplan_step){ .kind = STEP_DEVICES }, &fd, err);
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
		if (add(p, (struct mountplan_step){ .kind = STEP_DEVICES }, &fd, err))
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
	if (fd < 0 || !is_regular(fd))
		return 0;
	return add(p, (struct mountplan_step){ .kind = STEP_GRANT, .use = MOUNTS_SEE }, &fd, err);
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
struct mountplan_step *mountplan_above(const struct mountplan *p, size_t i)
{
	for (size_t k = i; k-- > 0;) {
		struct mountplan_step *s = &p->v[k];

		if (s->mounted && path_beneath(p->v[i].path, s->path))
			return s;
	}
	return NULL;
}

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

/* Whether this user could read it, or a file in its place with the same permissions. */
static bool is_exposed(const struct mountplan_step *s)
{
	CLEANUP_FREE char *link = xasprintf("/proc/self/fd/%d", s->fd);

	return s->firm || s->apart || access(link, R_OK) == 0 || access(link, X_OK) == 0;
}

/* A name by which nobody hides it; of a directory, of its own files. */
static void find_second(struct mountplan *p, const struct mountplan_step *s)
{
	CLEANUP_CLOSE int dir = -1;
	char found[PATH_MAX];
	struct stat st;

	if (S_ISDIR(s->mode)) {
		dir = openat(s->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir >= 0 && secondname_find(dir, s->path, 0, found))
			p->second = xstrdup(found);
	} else if (S_ISREG(s->mode) && fstat(s->fd, &st) == 0 && st.st_nlink > 1) {
		p->second = xstrdup(s->path);
	}
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_hidden(struct mountplan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct mountplan_step *s = &p->v[i];

		if (s->kind != STEP_HIDE || s->dropped || !is_exposed(s))
			continue;
		keep_hidden(p, xstrdup(s->path));
		if (!p->second && !s->apart)
			find_second(p, s);
	}
	if (p->nhidden > 0)
		qsort(p->hidden, p->nhidden, sizeof(*p->hidden), compare_paths);
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
	    add_all_hidden(p, plan, &seen, err))
		rc = -1;
	p->seen = NULL;
	mountinfo_clear(&seen);
	return rc;
}

/* Whether something that is hidden, present or not, lies at @path, or else beneath it. */
static bool hides(const struct mountplan *p, const char *path, bool beneath)
{
	for (size_t i = 0; i < p->n + p->nhidden; i++) {
		const char *h = i < p->n ? p->v[i].path : p->hidden[i - p->n];

		if (i < p->n && p->v[i].kind != STEP_HIDE)
			continue;
		if (beneath ? path_beneath(h, path) && strcmp(h, path) != 0 : strcmp(h, path) == 0)
			return true;
	}
	return false;
}

static int cut_up(struct mountplan *p, struct mountplan_step step, int dir, const char *path,
		  struct error *err);

static int cut_entry(struct mountplan *p, struct mountplan_step step, int dir, const char *path,
		     const char *name, struct error *err)
{
	CLEANUP_FREE char *child = xasprintf("%s/%s", path, name);
	CLEANUP_CLOSE int fd = -1, down = -1;
	struct stat st;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || hides(p, child, false))
		return 0;
	fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || S_ISLNK(st.st_mode))
		return 0; /* gone, or out of reach; where a link leads is granted by its own name */
	if (!S_ISDIR(st.st_mode) || !hides(p, child, true))
		return add(p, step, &fd, err);
	down = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return down < 0 ? 0 : cut_up(p, step, down, child, err);
}

static int cut_up(struct mountplan *p, struct mountplan_step step, int dir, const char *path,
		  struct error *err)
{
	DIR *d = fd_opendir(dir);
	const struct dirent *e;
	size_t before = p->n;
	int rc = d ? 0 : error_set(err, errno, "cannot list %s", path);

	while (rc == 0 && (e = readdir(d))) {
		rc = cut_entry(p, step, dir, path, e->d_name, err);
		if (rc == 0 && p->n - before > CUT_MAX)
			rc = error_set(
				err, 0,
				"cannot grant %s, in which something is to be hidden: it has "
				"too many entries for a directory below a temporary one; "
				"grant less of it",
				path);
	}
	if (d)
		(void)closedir(d);
	return rc;
}

static bool is_below_private(const struct mountplan *p, const char *path)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].kind == STEP_PRIVATE && path_beneath(path, p->v[i].path))
			return true;
	return false;
}

/*
 * The rule for a temporary directory of the run's own reaches down into all that is mounted in it, and
 * no rule can be left out there (landlock_tree.c). So of a grant with something hidden in it the entries
 * are mounted, and not the whole.
 */
static int cut_grants(struct mountplan *p, struct error *err)
{
	size_t n = p->n;

	for (size_t i = 0; i < n; i++) {
		const struct mountplan_step s = p->v[i];
		struct mountplan_step step = { .kind = STEP_GRANT, .use = s.use, .own = s.own };
		CLEANUP_CLOSE int dir = -1;

		if (s.kind != STEP_GRANT || (s.use != MOUNTS_READ && s.use != MOUNTS_EXEC) ||
		    !S_ISDIR(s.mode) || !is_below_private(p, s.path) || !hides(p, s.path, true))
			continue;
		dir = openat(s.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			return error_set(err, errno, "cannot list %s", s.path);
		if (cut_up(p, step, dir, s.path, err))
			return -1;
		p->v[i].dropped = true;
	}
	return 0;
}

int mountplan_make(const struct launcher_plan *plan, const struct protect *protect,
		   struct mountplan *out, struct error *err)
{
	struct mountplan p = { 0 };

	if (add_all(&p, plan, protect, err) || cut_grants(&p, err)) {
		mountplan_clear(&p);
		return -1;
	}
	add_locked(&p, protect);
	pin_hidden(&p);
	qsort(p.v, p.n, sizeof(*p.v), compare_steps);
	settle(&p);
	list_hidden(&p);
	*out = p;
	return 0;
}

const char *mountplan_below(const struct mountplan_step *s, const struct mountplan_step *above)
{
	return path_below(s->path, above->path);
}

bool mountplan_in_proc(const char *path)
{
	return path_beneath(path, "/proc");
}

void mountplan_clear(struct mountplan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		cleanup_close(&p->v[i].fd);
		cleanup_close(&p->v[i].tree);
		free(p->v[i].path);
	}
	free(p->v);
	for (size_t i = 0; i < p->nhidden; i++)
		free(p->hidden[i]);
	free(p->hidden);
	free(p->second);
	for (size_t i = 0; i < p->nparents; i++) {
		free(p->parents[i].path);
		free(p->parents[i].canonical);
		while (p->parents[i].nagain > 0)
			free(p->parents[i].again[--p->parents[i].nagain]);
		free(p->parents[i].again);
	}
	free(p->parents);
	*p = (struct mountplan){ 0 };
}
