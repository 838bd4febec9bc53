#include "launcher/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/reader.h"

static int write_file(const char *path, const char *text, struct error *err)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
		return error_set(err, errno, "cannot write %s", path);
	return 0;
}

/*
 * Should: map exactly one id each, so that nothing inside can become another user.
 * Mustn't: leave setgroups(2) allowed; dropping a group can gain access ("rwx---r-x").
 */
int userns_map_self(uid_t uid, gid_t gid, struct error *err)
{
	char map[64];

	if (write_file("/proc/self/setgroups", "deny", err))
		return -1;
	(void)snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
	if (write_file("/proc/self/gid_map", map, err))
		return -1;
	(void)snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
	return write_file("/proc/self/uid_map", map, err);
}

/* The number in a sysctl file; -1 if there is none. */
static int64_t read_sysctl(const char *path)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[32];
	uint64_t value;
	ssize_t n;

	if (fd < 0)
		return -1;
	n = fd_read_full(fd, text, sizeof(text));
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
		n--;
	if (n <= 0 || !reader_decimal(text, (size_t)n, INT64_MAX, &value))
		return -1;
	return (int64_t)value;
}

/*
 * AppArmor restricts whoever has no profile: one of a container, which forbids by itself or has a
 * filter beside it, or ours, which allows, is another matter. Where there is nothing to read the
 * doubt is against AppArmor.
 */
static bool apparmor_restricts_us(void)
{
	static const char *const restricted[] = { "unconfined", "unprivileged_userns" };
	CLEANUP_CLOSE int fd = open("/proc/self/attr/current", O_RDONLY | O_CLOEXEC);
	char label[64] = "";
	ssize_t n = fd < 0 ? -1 : fd_read_full(fd, label, sizeof(label) - 1);

	for (size_t i = 0; n > 0 && i < ARRAY_SIZE(restricted); i++)
		if (strncmp(label, restricted[i], strlen(restricted[i])) == 0)
			return true;
	return n <= 0;
}

/* What switches namespaces off on some host, and how to switch them on again. */
static const struct {
	const char *path;
	int64_t bad;
	const char *cause;
	const char *remedy;
	bool (*applies)(void); /* NULL: always */
} switches[] = {
	{ "/proc/sys/kernel/unprivileged_userns_clone", 0,
	  "user namespaces are switched off for ordinary users",
	  "sysctl -w kernel.unprivileged_userns_clone=1", NULL },
	{ "/proc/sys/user/max_user_namespaces", 0, "user namespaces are switched off",
	  "sysctl -w user.max_user_namespaces=15000", NULL },
	{ "/proc/sys/user/max_net_namespaces", 0, "network namespaces are switched off",
	  "sysctl -w user.max_net_namespaces=15000", NULL },
	{ "/proc/sys/user/max_pid_namespaces", 0, "PID namespaces are switched off",
	  "sysctl -w user.max_pid_namespaces=15000", NULL },
	{ "/proc/sys/user/max_mnt_namespaces", 0, "mount namespaces are switched off",
	  "sysctl -w user.max_mnt_namespaces=15000", NULL },
	{ "/proc/sys/user/max_ipc_namespaces", 0, "IPC namespaces are switched off",
	  "sysctl -w user.max_ipc_namespaces=15000", NULL },
	{ "/proc/sys/user/max_uts_namespaces", 0, "UTS namespaces are switched off",
	  "sysctl -w user.max_uts_namespaces=15000", NULL },
	{ "/proc/sys/user/max_cgroup_namespaces", 0, "cgroup namespaces are switched off",
	  "sysctl -w user.max_cgroup_namespaces=15000", NULL },
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1,
	  "AppArmor restricts user namespaces to programs with a profile",
	  "install contrib/apparmor/sbx-net in /etc/apparmor.d and run "
	  "apparmor_parser -r /etc/apparmor.d/sbx-net, or "
	  "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
	  apparmor_restricts_us },
};

/* The kernel's word stands before the remedy, which is the last thing so that it can be copied. */
static int explain(struct error *err, int code, const char *cause, const char *lead,
		   const char *remedy)
{
	(void)error_set(err, 0, "cannot make namespaces: %s (%s)%s%s", cause, strerror(code), lead,
			remedy);
	if (err)
		err->code = code;
	return -1;
}

int userns_explain(int code, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(switches); i++)
		if (read_sysctl(switches[i].path) == switches[i].bad &&
		    (!switches[i].applies || switches[i].applies()))
			return explain(err, code, switches[i].cause,
				       "; as root: ", switches[i].remedy);
	if (code == ENOSPC || code == EUSERS)
		return explain(err, code, "the limit of this user or of nesting is reached", "; ",
			       "raise user.max_*_namespaces with sysctl");
	if (code == EINVAL)
		return explain(err, code,
			       "this kernel lacks one of the user, net, PID, mount, IPC, UTS and "
			       "cgroup namespaces",
			       "", "");
	return explain(err, code,
		       "refused by the surroundings (a container's seccomp filter, a chroot, or "
		       "another sandbox)",
		       "; ",
		       "run it outside, or start the container with --security-opt "
		       "seccomp=unconfined --security-opt systempaths=unconfined");
}
