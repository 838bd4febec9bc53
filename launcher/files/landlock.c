/*
 * landlock.c - the file rules of a run, as one Landlock layer
 *
 * Should: grant exactly what the mode says, on descriptors that were opened once. Mustn't: go on
 * after any rule failed, or handle a right that no rule grants by oversight.
 *
 * Every file right of the kernel's ABI is handled. Never granted to anybody: making device nodes
 * (MAKE_CHAR covers overlay whiteouts too). Network rights are not handled: the empty network
 * namespace is the wall, they know only ports, and handling BIND_TCP or CONNECT_TCP would break
 * the servers that a test suite starts on its own loopback.
 *
 * What is hidden is left out of the rules (landlock_tree.c), since the mount that covers it goes with
 * it when a program outside replaces it.
 *
 * In one layer, since each further layer would have to grant REFER anew for renames to work.
 */
#include "launcher/files/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "launcher/files/landlock_tree.h"

#define RULE_PATH_BENEATH 1 /* LANDLOCK_RULE_PATH_BENEATH */

#define R_READ	 (LL_FS_READ_FILE | LL_FS_READ_DIR)
#define R_EXEC	 LL_FS_EXECUTE
#define R_CHANGE (LL_FS_WRITE_FILE | LL_FS_TRUNCATE)
#define R_WRITE                                                                              \
	(R_CHANGE | LL_FS_REMOVE_DIR | LL_FS_REMOVE_FILE | LL_FS_MAKE_DIR | LL_FS_MAKE_REG | \
	 LL_FS_MAKE_FIFO | LL_FS_MAKE_SYM | LL_FS_REFER)
#define R_SOCKETS LL_FS_MAKE_SOCK /* with --allow-unix-sockets, where one may write */

/** struct path_attr - struct landlock_path_beneath_attr */
struct path_attr {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

/* Harmless devices, and shared memory. A terminal needs its ioctls (window size, raw mode). */
static const struct landlock_grant devices[] = {
	{ "/dev/null", LL_FS_READ_FILE | R_CHANGE },
	{ "/dev/zero", LL_FS_READ_FILE | R_CHANGE },
	{ "/dev/full", LL_FS_READ_FILE | R_CHANGE },
	{ "/dev/random", LL_FS_READ_FILE | R_CHANGE },
	{ "/dev/urandom", LL_FS_READ_FILE | R_CHANGE },
	{ "/dev/tty", LL_FS_READ_FILE | R_CHANGE | LL_FS_IOCTL_DEV },
	{ "/dev/shm", R_READ | R_WRITE }, /* not executable in strict mode: X-026 */
};

/* Only if the instance is the run's own: X-045. */
static const struct landlock_grant terminals[] = {
	{ "/dev/ptmx", LL_FS_READ_FILE | R_CHANGE | LL_FS_IOCTL_DEV },
	{ "/dev/pts", R_READ | R_CHANGE | LL_FS_IOCTL_DEV },
};

/*
 * The system set of strict mode: what programs and their libraries are made of, and the files
 * about the machine that every runtime reads. No home directory, no /var, no /tmp, no /run but the
 * resolver's file. Secrets in /etc are covered by mounts, as in workspace mode.
 */
static const struct landlock_grant system_set[] = {
	{ "/usr", R_READ | R_EXEC },
	{ "/bin", R_READ | R_EXEC },
	{ "/sbin", R_READ | R_EXEC },
	{ "/lib", R_READ | R_EXEC },
	{ "/lib32", R_READ | R_EXEC },
	{ "/lib64", R_READ | R_EXEC },
	{ "/nix/store", R_READ | R_EXEC },
	{ "/gnu/store", R_READ | R_EXEC },
	{ "/etc", R_READ },
	{ "/proc", R_READ },
	{ "/sys/devices/system", R_READ },
	{ "/sys/fs/cgroup", R_READ },
	{ "/sys/kernel/mm", R_READ },
	{ "/run/systemd/resolve", R_READ },
	{ "/run/resolvconf", R_READ },
	{ "/run/NetworkManager/resolv.conf", LL_FS_READ_FILE },
};

/** struct builder - a ruleset being made */
struct builder {
	int fd;
	uint64_t handled; /* rights the kernel knows; the rest of a rule is left out */
	uint64_t sockets; /* added wherever one may write */
	struct path_list hidden;
	struct launcher_crowd *crowd;
	struct error *err;
};

int landlock_open(const char *path, struct error *err)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return error_set(err, errno, "cannot open %s", path);
	return fd;
}

static int add_typed(const struct builder *b, int fd, bool directory, uint64_t rights,
		     const char *what)
{
	struct path_attr attr = { .allowed_access = rights & b->handled, .parent_fd = fd };

	if (!directory)
		attr.allowed_access &= LL_FS_FILE;
	if (attr.allowed_access == 0)
		return 0; /* the kernel answers ENOMSG to a rule that grants nothing */
	if (syscall(SYS_landlock_add_rule, b->fd, RULE_PATH_BENEATH, &attr, 0) < 0)
		return error_set(b->err, errno, "Landlock: cannot add a rule for %s", what);
	return 0;
}

static int add_rule(const struct builder *b, int fd, uint64_t rights, const char *what)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set(b->err, errno, "Landlock: cannot look at %s", what);
	return add_typed(b, fd, S_ISDIR(st.st_mode), rights, what);
}

/** struct piecework - rights for the pieces of a tree */
struct piecework {
	const struct builder *b;
	uint64_t rights;
};

static int add_piece(void *arg, int fd, enum landlock_tree_what what, const char *path)
{
	const struct piecework *w = arg;
	uint64_t rights = w->rights;

	if (what == LANDLOCK_TREE_NAMES)
		rights &= LL_FS_READ_DIR;
	return add_typed(w->b, fd, what != LANDLOCK_TREE_FILE, rights, path);
}

/* The first is told. */
static void keep_crowd(void *arg, const char *path, bool all)
{
	const struct piecework *w = arg;
	struct launcher_crowd *crowd = w->b->crowd;

	if (!crowd || crowd->path[0])
		return;
	(void)snprintf(crowd->path, sizeof(crowd->path), "%s", path);
	crowd->all = all;
}

/*
 * Rights beneath a path, but for what is hidden there; of "/" but for /dev, where a caller in the right
 * group, or root, could read disks, inputs and other sessions' terminals.
 */
static int add_around(const struct builder *b, int fd, uint64_t rights, const char *what)
{

	struct piecework w = { b, rights };
	struct landlock_tree t = { .hidden = b->hidden,
				   .grant = add_piece,
				   .crowded = keep_crowd,
				   .arg = &w,
				   .err = b->err };
	CLEANUP_FREE char *path = NULL;
	struct stat st;

	path = fd_path(fd);
	if (!path || fstat(fd, &st) < 0)
		return error_set(b->err, errno, "Landlock: cannot tell where %s leads", what);
	if (strcmp(path, "/") == 0)
		t.skip = "dev";
	else if (b->hidden.n == 0)
		return add_rule(b, fd, rights, what);
	if (!S_ISDIR(st.st_mode))
		return add_typed(b, fd, false, rights, path);
	return landlock_tree_walk(&t, fd, path);
}

/* What is missing, or out of this user's reach, needs no grant; any other failure is one. */
static int add_system(const struct builder *b, const struct landlock_grant *paths, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		CLEANUP_CLOSE int fd = open(paths[i].path, O_PATH | O_CLOEXEC);

		if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
			continue;
		if (fd < 0)
			return error_set(b->err, errno, "Landlock: cannot open %s", paths[i].path);
		if (add_around(b, fd, paths[i].rights, paths[i].path) < 0)
			return -1;
	}
	return 0;
}

static int add_list_around(const struct builder *b, const struct fd_list *list, uint64_t rights,
			   const char *what)
{
	for (size_t i = 0; i < list->n; i++)
		if (add_around(b, list->v[i], rights, what) < 0)
			return -1;
	return 0;
}

static int add_list(const struct builder *b, const struct fd_list *list, uint64_t rights,
		    const char *what)
{
	for (size_t i = 0; i < list->n; i++)
		if (add_rule(b, list->v[i], rights, what) < 0)
			return -1;
	return 0;
}

static int add_optional(const struct builder *b, int fd, uint64_t rights, const char *what)
{
	return fd < 0 ? 0 : add_rule(b, fd, rights, what);
}

/* Everything in / but /dev. Directories may be listed there, too. */
static int add_everything(const struct builder *b, uint64_t rights)
{
	CLEANUP_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return error_set(b->err, errno, "Landlock: cannot open /");
	return add_around(b, root, rights, "/");
}

/* Read and execute all that the mounts leave visible; write little. */
static int add_workspace(const struct builder *b, const struct landlock_plan *plan)
{
	uint64_t use = R_READ | R_EXEC | (b->sockets ? LL_FS_RESOLVE_UNIX : 0);

	if (add_everything(b, use) < 0 || add_list_around(b, &plan->read, use, "--read") < 0 ||
	    add_list_around(b, &plan->exec, use, "--exec") < 0 ||
	    add_list(b, &plan->write, use, "--write") < 0 ||
	    add_optional(b, plan->cwd, use | R_WRITE | b->sockets, "the working directory") < 0 ||
	    add_optional(b, plan->tmpdir, use | R_WRITE | b->sockets, "TMPDIR") < 0)
		return -1;
	return 0;
}

/* Nothing but the system set, the program itself and a place for temporary files. */
static int add_strict(const struct builder *b, const struct landlock_plan *plan)
{
	uint64_t connect = b->sockets ? LL_FS_RESOLVE_UNIX : 0;

	if (add_system(b, system_set, ARRAY_SIZE(system_set)) < 0 ||
	    add_optional(b, plan->program, LL_FS_READ_FILE | R_EXEC, "the program") < 0 ||
	    add_optional(b, plan->tmpdir, R_READ | R_WRITE | b->sockets | connect, "TMPDIR") < 0 ||
	    add_list_around(b, &plan->read, R_READ | connect, "--read") < 0 ||
	    add_list(b, &plan->exec, R_EXEC, "--exec") < 0)
		return -1;
	return 0;
}

static int add_rules(const struct builder *b, const struct landlock_plan *plan)
{
	int rc = plan->mode == FS_WORKSPACE ? add_workspace(b, plan) : add_strict(b, plan);

	if (rc < 0 || add_system(b, devices, ARRAY_SIZE(devices)) < 0 ||
	    add_list(b, &plan->covers, R_READ, "an empty file") < 0)
		return -1;
	if (plan->private_pts && add_system(b, terminals, ARRAY_SIZE(terminals)) < 0)
		return -1;
	if (add_list(b, &plan->scratch, R_WRITE | b->sockets, "a temporary directory") < 0)
		return -1;
	return add_list(b, &plan->write, R_WRITE | b->sockets, "--write");
}

bool landlock_needed(const struct landlock_plan *plan, const struct landlock_rights *rights)
{
	return plan->mode != FS_OFF || rights->scoped != 0;
}

int landlock_build(const struct landlock_plan *plan, const struct landlock_rights *rights,
		   struct error *err)
{
	struct landlock_attr attr = {
		.handled_access_fs = plan->mode == FS_OFF ? 0 : rights->fs,
		.scoped = rights->scoped,
	};
	CLEANUP_CLOSE int fd =
		(int)syscall(SYS_landlock_create_ruleset, &attr, rights->attr_size, 0);
	struct builder b = {
		.fd = fd,
		.handled = rights->fs,
		.sockets = plan->allow_unix_sockets ? R_SOCKETS : 0,
		.hidden = plan->hidden,
		.crowd = plan->crowd,
		.err = err,
	};

	if (fd < 0)
		return error_set(err, errno, "cannot make a Landlock ruleset of ABI %d",
				 rights->abi);
	if (plan->mode != FS_OFF && add_rules(&b, plan) < 0)
		return -1;
	return take_fd(&fd);
}

int landlock_enforce(int ruleset, struct error *err)
{
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return error_set(err, 0, "Landlock: no_new_privs is not set");
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) == 0)
		return 0;
	if (errno == E2BIG)
		return error_set(err, errno, "cannot enforce Landlock: already inside 16 layers");
	return error_set(err, errno, "cannot enforce Landlock");
}

int landlock_build_grants(const struct landlock_grant *v, size_t n,
			  const struct landlock_rights *rights, struct error *err)
{
	struct landlock_attr attr = { .handled_access_fs = rights->fs };
	CLEANUP_CLOSE int fd =
		(int)syscall(SYS_landlock_create_ruleset, &attr, rights->attr_size, 0);
	struct builder b = { .fd = fd, .handled = rights->fs, .err = err };

	if (fd < 0)
		return error_set(err, errno, "cannot make a Landlock ruleset of ABI %d",
				 rights->abi);
	if (add_system(&b, v, n) < 0)
		return -1;
	return take_fd(&fd);
}
