/*
 * Theory of operation
 *
 * Landlock and seccomp are tried by a plain child. The rest is tried by a child that is born as
 * pid 1 of a run is, with one clone(2) into all namespaces; it goes on in the order of a run and
 * writes what it finds into memory that it shares with us. Where it ends early, what comes later
 * stays untried.
 */
#include "launcher/trial.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "launcher/files/devpts.h"
#include "launcher/files/landlock.h"
#include "launcher/launcher.h"
#include "launcher/files/mounts.h"
#include "launcher/seccomp.h"
#include "launcher/userns.h"
#include "netns/netns.h"
#include "netns/tproxy.h"

#define CONTAINER "start the surrounding container with --security-opt seccomp=unconfined"

static const struct trial_about about[] = {
	[TRIAL_LANDLOCK] = { "landlock", TRIAL_NEEDED, "keeps the command from files", NULL },
	[TRIAL_SCOPES] = { "landlock-scopes", TRIAL_WEAKER,
			   "a second wall for signals and abstract sockets",
			   "use Linux 6.12 or newer, or run with --accept-weaker=landlock-scopes" },
	[TRIAL_SECCOMP] = { "seccomp", TRIAL_NEEDED, "keeps the command from system calls",
			    "use a kernel with CONFIG_SECCOMP_FILTER=y; in a "
			    "container, " CONTAINER },
	[TRIAL_NAMESPACES] = { "namespaces", TRIAL_NEEDED, "the sandbox's own world", NULL },
	[TRIAL_IDS] = { "user-map", TRIAL_NEEDED, "keeps the user's own ids inside", NULL },
	[TRIAL_NETWORK] = { "network", TRIAL_NEEDED, "an empty network with the proxy in it",
			    NULL },
	[TRIAL_MOUNTS] = { "mounts", TRIAL_NEEDED, "read-only and hidden directories",
			   "use Linux 6.10 or newer; in a container, " CONTAINER },
	[TRIAL_PROC] = { "proc", TRIAL_WEAKER, "shows the command its own processes only",
			 "start the surrounding container with --security-opt "
			 "systempaths=unconfined, or run with --accept-weaker=proc" },
	[TRIAL_TPROXY] = { "nft_tproxy", TRIAL_OPTIONAL,
			   "captures connections to every port, not to well-known ones only",
			   "as root: modprobe nft_tproxy (CONFIG_NFT_TPROXY)" },
	[TRIAL_IPV6] = { "ipv6", TRIAL_OPTIONAL, "IPv6 inside",
			 "as root: sysctl -w net.ipv6.conf.all.disable_ipv6=0" },
	[TRIAL_TERMINALS] = { "devpts", TRIAL_OPTIONAL,
			      "terminals that the command makes; runs with --fs off",
			      "use a kernel that mounts devpts in user namespaces" },
};
static_assert(ARRAY_SIZE(about) == TRIAL_NUM, "each part is described");

const struct trial_about *trial_about(enum trial_part part)
{
	return &about[part];
}

/* Takes down how a part went: @rc as error_set() returns it. */
static bool note(struct trial_result *v, enum trial_part part, int rc, const struct error *err)
{
	v[part] = (struct trial_result){ .tried = true, .ok = rc == 0 };
	if (rc)
		v[part].err = *err;
	return rc == 0;
}

/* The same for a call: @rc as the kernel returns it, with errno. */
static bool note_call(struct trial_result *v, enum trial_part part, long rc, const char *what)
{
	struct error err;

	if (rc < 0)
		(void)error_set(&err, errno, "%s", what);
	return note(v, part, rc < 0 ? -1 : 0, &err);
}

static void try_landlock(struct trial_result *v)
{
	static const struct landlock_grant none = { "/", LL_FS_READ_DIR };
	CLEANUP_CLOSE int ruleset = -1;
	struct landlock_rights rights;
	struct error err;
	int rc = landlock_abi_query(&rights, &err);

	if (rc == 0)
		ruleset = landlock_build_grants(&none, 1, &rights, &err);
	if (rc == 0)
		rc = ruleset < 0 || landlock_enforce(ruleset, &err) < 0 ? -1 : 0;
	if (!note(v, TRIAL_LANDLOCK, rc, &err))
		return;
	if (!rights.scoped)
		(void)error_set(&err, 0, "this kernel's Landlock has ABI %d, scopes came with 6",
				rights.abi);
	(void)note(v, TRIAL_SCOPES, rights.scoped ? 0 : -1, &err);
}

static void try_seccomp(struct trial_result *v)
{
	const struct seccomp_options options = { .arch = SECCOMP_NATIVE };
	static struct seccomp_program program;
	struct error err;
	int rc = seccomp_build(&options, &program, &err);

	if (rc == 0)
		rc = seccomp_install(&program, &err);
	(void)note(v, TRIAL_SECCOMP, rc, &err);
}

/* What is tried here stays with the child. */
static void try_confinement(struct trial_result *v)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		(void)note_call(v, TRIAL_LANDLOCK, -1, "cannot set no_new_privs");
		return;
	}
	try_landlock(v);
	try_seccomp(v);
}

/* ---- in the namespaces */

static bool try_network(struct trial_result *v)
{
	static struct netns_listener listeners[NETNS_LISTENERS_MAX];
	const struct netns_plan plan = { .capture = true, .no_tproxy = true };
	struct error err, why;
	bool ipv6 = false;
	size_t n = 0;
	int rc = netns_setup(&plan, listeners, &n, &err);

	if (rc && err.code == EPERM)
		(void)userns_explain(EPERM, &err);
	if (!note(v, TRIAL_NETWORK, rc, &err))
		return false;
	(void)note_call(v, TRIAL_TPROXY, tproxy_install(NETNS_CAPTURE_PORT),
			"nf_tables has no transparent proxying here");
	for (size_t i = 0; i < n; i++) {
		ipv6 |= listeners[i].family == AF_INET6;
		cleanup_close(&listeners[i].fd);
	}
	(void)error_set(&why, 0, "there is no IPv6 in a new network namespace");
	(void)note(v, TRIAL_IPV6, ipv6 ? 0 : -1, &why);
	return true;
}

/* Copy a tree, make it read-only, put a new file system in: on a place that every host has. */
static int try_mount_calls(struct error *err)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	CLEANUP_CLOSE int root = open("/", O_PATH | O_CLOEXEC), tree = -1, fs = -1, made = -1;

	tree = open_tree(root, "",
			 AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return error_set(err, errno, "cannot copy a mount (open_tree, Linux 5.2)");
	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return error_set(err, errno,
				 "cannot make a mount read-only (mount_setattr, Linux 5.12)");
	fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return error_set(err, errno, "cannot make a file system (fsopen, Linux 5.2)");
	made = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (made < 0 || move_mount(made, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return error_set(err, errno, "cannot mount a file system");
	if (umount2("/proc", MNT_DETACH) < 0)
		return error_set(err, errno, "cannot unmount a file system");
	return 0;
}

static void try_mounts(struct trial_result *v)
{
	struct error err;

	if (!note(v, TRIAL_MOUNTS, mounts_detach(&err), &err)) {
		v[TRIAL_MOUNTS].explained = err.code == EPERM;
		return;
	}
	if (!note(v, TRIAL_MOUNTS, try_mount_calls(&err), &err))
		return;
	(void)note(v, TRIAL_PROC, mounts_proc(&err), &err);
	(void)error_set(&err, 0, "devpts cannot be mounted in a user namespace here");
	(void)note(v, TRIAL_TERMINALS, devpts_mount() ? 0 : -1, &err);
}

/* As pid 1 of a run. */
static void try_inside(struct trial_result *v, uid_t uid, gid_t gid)
{
	struct error err;
	int rc = userns_map_self(uid, gid, &err);

	if (rc && (err.code == EPERM || err.code == EACCES))
		(void)userns_explain(err.code, &err);
	if (!note(v, TRIAL_IDS, rc, &err))
		return;
	if (try_network(v))
		try_mounts(v);
}

/* ---- outside */

/* Return: the child's pid, 0 in the child, -1 with errno. */
static pid_t start(unsigned long flags)
{
	return (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, 0L);
}

static void await(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void try_namespaces(struct trial_result *v)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	struct error err;
	pid_t pid = start(USERNS_ALL);

	if (pid == 0) {
		try_inside(v, uid, gid);
		_exit(0);
	}
	if (pid < 0)
		(void)userns_explain(errno, &err);
	(void)note(v, TRIAL_NAMESPACES, pid < 0 ? -1 : 0, &err);
	if (pid > 0)
		await(pid);
}

int trial_run(struct trial_result out[TRIAL_NUM], struct error *err)
{
	size_t size = sizeof(*out) * TRIAL_NUM;
	struct trial_result *v =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (v == MAP_FAILED)
		return error_set(err, errno, "cannot share memory");
	pid = start(0);
	if (pid == 0) {
		try_confinement(v);
		_exit(0);
	}
	if (pid > 0) {
		await(pid);
		try_namespaces(v);
		memcpy(out, v, size);
	} else {
		(void)error_set(err, errno, "cannot fork");
	}
	(void)munmap(v, size);
	return pid > 0 ? 0 : -1;
}
