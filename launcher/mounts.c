/*
 * Theory of operation
 *
 * Landlock does not mediate chmod, chown, utimes and extended attributes, and it cannot take away
 * inside what it has granted. Mounts do both, in the run's own mount namespace:
 *
 *  1. Every grant is opened once (O_PATH), and a detached copy of the tree behind the descriptor
 *     is taken (open_tree) while it still has the host's flags.
 *  2. The whole tree is made read-only and nosuid, recursively, by one call.
 *  3. /tmp, /var/tmp and /dev/shm become empty file systems of the run's own.
 *  4. The copies are attached: on the very descriptor they were taken from, or, for what lies
 *     beneath a private directory, on a path made there.
 *  5. /proc is mounted anew for the PID namespace, read-only: uid 0 owns /proc/sys/kernel files
 *     even without a capability.
 *
 * Nothing is resolved by path twice; the parent directories of what is attached cannot be changed
 * by the command, because it does not run yet.
 */
#include "launcher/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "launcher/landlock.h"

static const char *const private_dirs[] = { "/dev/shm", "/tmp", "/var/tmp" };

static bool is_beneath(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return true;
	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* The canonical path of an open descriptor, which the caller frees. */
static char *path_of(int fd)
{
	CLEANUP_FREE char *link = xasprintf("/proc/self/fd/%d", fd);
	char path[PATH_MAX];
	ssize_t n = readlink(link, path, sizeof(path));

	if (n <= 0 || (size_t)n == sizeof(path) || path[0] != '/')
		return NULL;
	return xstrndup(path, (size_t)n);
}

static int open_grant(struct mounts *m, enum mounts_use use, const char *path, struct error *err)
{
	CLEANUP_CLOSE int fd = landlock_open(path, err);
	CLEANUP_FREE char *canonical = NULL;
	struct stat st;

	if (fd < 0)
		return -1;
	canonical = path_of(fd);
	if (!canonical || fstat(fd, &st) < 0)
		return error_set(err, errno, "cannot tell where %s leads (is /proc mounted?)",
				 path);
	m->v = xreallocarray(m->v, m->n + 1, sizeof(*m->v));
	m->v[m->n++] = (struct mounts_grant){
		.use = use,
		.path = take_ptr(canonical),
		.fd = take_fd(&fd),
		.dev = st.st_dev,
		.ino = st.st_ino,
	};
	return 0;
}

static int open_list(struct mounts *m, enum mounts_use use, const struct path_list *list,
		     struct error *err)
{
	for (size_t i = 0; i < list->n; i++)
		if (open_grant(m, use, list->v[i], err))
			return -1;
	return 0;
}

static int compare_grants(const void *a, const void *b)
{
	const struct mounts_grant *x = a, *y = b;
	int by_path = strcmp(x->path, y->path);

	/* Of two grants of one path the writable one comes first and covers the other. */
	return by_path ? by_path : (y->use == MOUNTS_WRITE) - (x->use == MOUNTS_WRITE);
}

static int open_grants(struct mounts *m, const struct launcher_plan *plan, struct error *err)
{
	enum mounts_use cwd = plan->fs == FS_WORKSPACE ? MOUNTS_WRITE : MOUNTS_SEE;

	if (open_grant(m, cwd, plan->cwd, err) || open_list(m, MOUNTS_READ, &plan->read, err) ||
	    open_list(m, MOUNTS_WRITE, &plan->write, err) ||
	    open_list(m, MOUNTS_EXEC, &plan->exec, err))
		return -1;
	qsort(m->v, m->n, sizeof(*m->v), compare_grants);
	return 0;
}

/* Whether the grant lies in a writable tree that has been attached before it. */
static bool is_covered(const struct mounts *m, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (m->v[k].use == MOUNTS_WRITE && is_beneath(m->v[i].path, m->v[k].path))
			return true;
	return false;
}

/*
 * Whether a directory becomes the run's own: not if it is granted itself, or lies in a tree that
 * is granted for writing.
 */
static bool is_private(const struct mounts *m, const char *dir)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct mounts_grant *g = &m->v[i];

		if (strcmp(g->path, dir) == 0)
			return false;
		if (g->use == MOUNTS_WRITE && is_beneath(dir, g->path))
			return false;
	}
	return true;
}

/* The private directory above a grant; NULL if there is none. */
static const char *private_above(const struct mounts *m, const struct mounts_grant *g)
{
	for (size_t i = 0; i < ARRAY_SIZE(private_dirs); i++)
		if (is_beneath(g->path, private_dirs[i]) && is_private(m, private_dirs[i]))
			return private_dirs[i];
	return NULL;
}

static int set_flags(int fd, const char *path, uint64_t set)
{
	struct mount_attr attr = { .attr_set = set };
	unsigned flags = AT_RECURSIVE | (*path ? 0U : (unsigned)AT_EMPTY_PATH);

	return mount_setattr(fd, path, flags, &attr, sizeof(attr));
}

/* A detached copy of what a grant leads to, with what is mounted below it. */
static int copy_tree(const struct mounts_grant *g, struct error *err)
{
	CLEANUP_CLOSE int tree = open_tree(
		g->fd, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	uint64_t set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

	if (g->use != MOUNTS_WRITE)
		set |= MOUNT_ATTR_RDONLY;
	if (tree < 0 || set_flags(tree, "", set) < 0)
		return error_set(err, errno, "cannot copy the mount of %s", g->path);
	return take_fd(&tree);
}

/* Makes @path below @dir: directories, and at its end a mount point like the grant itself. */
static int make_target(const char *dir, const struct mounts_grant *g, struct error *err)
{
	CLEANUP_FREE char *path = xstrdup(g->path);
	struct stat st;
	int fd;

	for (char *p = path + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return error_set(err, errno, "cannot make %s", path);
		*p = '/';
	}
	if (fstat(g->fd, &st) < 0)
		return error_set(err, errno, "cannot examine %s", path);
	if (S_ISDIR(st.st_mode)) {
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return error_set(err, errno, "cannot make %s", path);
	} else if (access(path, F_OK) < 0) {
		CLEANUP_CLOSE int made = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

		if (made < 0)
			return error_set(err, errno, "cannot make %s", path);
	}
	fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, errno, "cannot open %s", path);
	return fd;
}

/* Puts a copy where it belongs; from then on the grant's descriptor is the copy. */
static int attach(struct mounts *m, struct mounts_grant *g, int *tree, struct error *err)
{
	const char *dir = private_above(m, g);
	CLEANUP_CLOSE int made = -1;

	if (dir) {
		made = make_target(dir, g, err);
		if (made < 0)
			return -1;
	}
	if (move_mount(*tree, "", dir ? made : g->fd, "",
		       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return error_set(err, errno, "cannot mount %s", g->path);
	(void)close(g->fd);
	g->fd = take_fd(tree);
	return 0;
}

static int attach_all(struct mounts *m, int *trees, struct error *err)
{
	for (size_t i = 0; i < m->n; i++)
		if (trees[i] >= 0 && attach(m, &m->v[i], &trees[i], err))
			return -1;
	return 0;
}

static int mount_tmpfs(const char *dir, struct error *err)
{
	if (mount("tmpfs", dir, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") < 0)
		return error_set(err, errno, "cannot mount a private %s", dir);
	return 0;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Adds a private directory to the writable roots. */
static int add_private(struct mounts *m, const char *dir, struct error *err)
{
	CLEANUP_CLOSE int fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return error_set(err, errno, "cannot open %s", dir);
	if (strcmp(dir, LAUNCHER_TMPDIR) == 0) {
		m->tmpdir = take_fd(&fd);
		return 0;
	}
	m->v = xreallocarray(m->v, m->n + 1, sizeof(*m->v));
	m->v[m->n++] = (struct mounts_grant){ .use = MOUNTS_WRITE,
					      .path = xstrdup(dir),
					      .fd = take_fd(&fd) };
	return 0;
}

/*
 * Should: give the run temporary directories that nobody else sees (predictable names, other
 * users' sockets), and a /dev/shm as private as its IPC namespace.
 * Mustn't: hide a granted directory.
 */
static int make_private_dirs(struct mounts *m, bool made[static ARRAY_SIZE(private_dirs)],
			     struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(private_dirs); i++) {
		made[i] = is_dir(private_dirs[i]) && is_private(m, private_dirs[i]);
		if (made[i] && mount_tmpfs(private_dirs[i], err))
			return -1;
	}
	return 0;
}

static int add_private_dirs(struct mounts *m, const bool made[static ARRAY_SIZE(private_dirs)],
			    struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(private_dirs); i++)
		if (made[i] && add_private(m, private_dirs[i], err))
			return -1;
	return 0;
}

/*
 * Should: show only the run's own processes, and nothing of the kernel to write to.
 * Mustn't: fall back to the host's /proc, where a hundred other processes can be read.
 */
static int mount_proc(struct error *err)
{
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, NULL) == 0)
		return 0;
	if (errno == EPERM)
		return error_set(
			err, errno,
			"cannot mount a fresh /proc: the surrounding container hides parts "
			"of its own; start it with --security-opt systempaths=unconfined");
	return error_set(err, errno, "cannot mount a fresh /proc");
}

/* Everything but the grants: read-only. Nothing of it with --fs off, save /sys. */
static int make_readonly(const struct mounts *m, const struct launcher_plan *plan,
			 struct error *err)
{
	bool all = m->n > 0 && m->v[0].use == MOUNTS_WRITE && strcmp(m->v[0].path, "/") == 0;
	const char *root = plan->fs == FS_OFF || all ? "/sys" : "/";

	if (set_flags(AT_FDCWD, root, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID) < 0)
		return error_set(err, errno, "cannot make %s read-only", root);
	return 0;
}

static int copy_trees(const struct mounts *m, int *trees, struct error *err)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct mounts_grant *g = &m->v[i];

		if (is_covered(m, i) || strcmp(g->path, "/") == 0)
			continue;
		if (g->use != MOUNTS_WRITE && !private_above(m, g))
			continue;
		trees[i] = copy_tree(g, err);
		if (trees[i] < 0)
			return -1;
	}
	return 0;
}

static int confine_files(struct mounts *m, const struct launcher_plan *plan, int *trees,
			 struct error *err)
{
	bool made[ARRAY_SIZE(private_dirs)];

	if (copy_trees(m, trees, err) || make_readonly(m, plan, err))
		return -1;
	if (make_private_dirs(m, made, err) || attach_all(m, trees, err))
		return -1;
	return add_private_dirs(m, made, err);
}

static int setup(struct mounts *m, const struct launcher_plan *plan, struct error *err)
{
	CLEANUP_FREE int *trees = NULL;
	size_t n;
	int rc;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return error_set(err, errno, "cannot detach the mount namespace");
	if (plan->fs == FS_OFF) {
		if (make_readonly(m, plan, err) || mount_tmpfs("/dev/shm", err))
			return -1;
		return mount_proc(err);
	}
	if (open_grants(m, plan, err))
		return -1;
	n = m->n; /* confine_files() adds to it */
	trees = xcalloc(n, sizeof(*trees));
	for (size_t i = 0; i < n; i++)
		trees[i] = -1;
	rc = confine_files(m, plan, trees, err);
	for (size_t i = 0; i < n; i++)
		cleanup_close(&trees[i]);
	return rc ? rc : mount_proc(err);
}

int mounts_setup(const struct launcher_plan *plan, struct mounts *out, struct error *err)
{
	struct mounts m = { .tmpdir = -1 };

	if (setup(&m, plan, err)) {
		mounts_clear(&m);
		return -1;
	}
	*out = m;
	return 0;
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

void mounts_clear(struct mounts *m)
{
	for (size_t i = 0; i < m->n; i++) {
		cleanup_close(&m->v[i].fd);
		free(m->v[i].path);
	}
	free(m->v);
	cleanup_close(&m->tmpdir);
	*m = (struct mounts){ .tmpdir = -1 };
}
