/*
 * landlock_abi.c - which Landlock rights exist in which ABI
 */
#include "launcher/files/landlock_abi.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define CREATE_RULESET_VERSION 1U /* LANDLOCK_CREATE_RULESET_VERSION */

#define FS_ABI_1 (LL_FS_REFER - 1) /* the thirteen rights below REFER */

/** struct addition - what one ABI added; @attr_size 0: as before */
struct addition {
	uint64_t fs, net, scoped;
	size_t attr_size;
};

static const struct addition additions[LANDLOCK_ABI_MAX + 1] = {
	[1] = { .fs = FS_ABI_1, .attr_size = offsetof(struct landlock_attr, handled_access_net) },
	[2] = { .fs = LL_FS_REFER },
	[3] = { .fs = LL_FS_TRUNCATE },
	[4] = { .net = LL_NET_BIND_TCP | LL_NET_CONNECT_TCP,
		.attr_size = offsetof(struct landlock_attr, scoped) },
	[5] = { .fs = LL_FS_IOCTL_DEV },
	[6] = { .scoped = LL_SCOPE_ABSTRACT_UNIX | LL_SCOPE_SIGNAL,
		.attr_size = sizeof(struct landlock_attr) },
	[7] = { 0 }, /* flags of restrict_self for the audit log */
	[8] = { 0 }, /* RESTRICT_SELF_TSYNC */
	[9] = { .fs = LL_FS_RESOLVE_UNIX },
	[10] = { .net = LL_NET_BIND_UDP | LL_NET_CONNECT_SEND_UDP },
};

static int no_landlock(int code, struct error *err)
{
	if (code == EOPNOTSUPP)
		return error_set(
			err, code,
			"Landlock is built into this kernel but disabled: add 'landlock' to "
			"the lsm= boot parameter (see /sys/kernel/security/lsm)");
	if (code == ENOSYS)
		return error_set(
			err, code,
			"this kernel has no Landlock (or an outer sandbox hides it): Linux "
			"6.10 or newer with CONFIG_SECURITY_LANDLOCK=y is needed");
	if (code == EPERM)
		return error_set(
			err, code,
			"Landlock is refused by an outer sandbox: its seccomp profile must "
			"allow landlock_create_ruleset");
	return error_set(err, code, "cannot ask the kernel for its Landlock version");
}

int landlock_abi_rights(int version, int code, struct landlock_rights *out, struct error *err)
{
	struct landlock_rights r = { 0 };

	if (version < 0)
		return no_landlock(code, err);
	if (version < LANDLOCK_ABI_MIN)
		return error_set(
			err, 0,
			"this kernel's Landlock has ABI %d, at least %d is needed: use Linux "
			"6.10 or newer",
			version, LANDLOCK_ABI_MIN);
	r.abi = version > LANDLOCK_ABI_MAX ? LANDLOCK_ABI_MAX : version;
	for (int i = 1; i <= r.abi; i++) {
		r.fs |= additions[i].fs;
		r.net |= additions[i].net;
		r.scoped |= additions[i].scoped;
		if (additions[i].attr_size)
			r.attr_size = additions[i].attr_size;
	}
	*out = r;
	return 0;
}

int landlock_abi_query(struct landlock_rights *out, struct error *err)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

	return landlock_abi_rights((int)version, errno, out, err);
}
