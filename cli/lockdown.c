#include "cli/lockdown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "cli/statedir.h"
#include "launcher/landlock.h"
#include "launcher/landlock_abi.h"
#include "launcher/seccomp_supervisor.h"

#define READ (LL_FS_READ_FILE | LL_FS_READ_DIR)
#define SAVE                                                                       \
	(READ | LL_FS_WRITE_FILE | LL_FS_TRUNCATE | LL_FS_MAKE_REG | LL_FS_REFER | \
	 LL_FS_REMOVE_FILE)

/* What the resolver reads again: resolv.conf, which may be a link into /run, and hosts. */
static const struct landlock_grant fixed[] = {
	{ "/etc", READ },
	{ "/run/systemd/resolve", READ },
	{ "/run/resolvconf", READ },
	{ "/run/NetworkManager", READ },
	{ "/proc/self", READ },
	{ "/dev/null", LL_FS_READ_FILE | LL_FS_WRITE_FILE },
	{ "/dev/tty", LL_FS_READ_FILE | LL_FS_WRITE_FILE | LL_FS_IOCTL_DEV },
	{ "/usr/share/zoneinfo", READ },
};

/* The directory of a file, which the caller frees: a file may be replaced by another. */
static char *dir_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xstrdup(".");
	return xstrndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static int build(const char *const *files, size_t n, const char *sockets,
		 const struct landlock_rights *rights, struct error *err)
{
	size_t count = ARRAY_SIZE(fixed);
	struct landlock_grant *v = xcalloc(count + n + 2, sizeof(*v));
	char **dirs = xcalloc(n + 1, sizeof(*dirs));
	struct error ignored;
	int ruleset;

	memcpy(v, fixed, sizeof(fixed));
	for (size_t i = 0; i < n; i++) {
		dirs[i] = dir_of(files[i]);
		v[count++] = (struct landlock_grant){ dirs[i], READ };
	}
	dirs[n] = statedir_path(&ignored);
	if (dirs[n])
		v[count++] = (struct landlock_grant){ dirs[n], SAVE };
	if (sockets)
		v[count++] = (struct landlock_grant){ sockets, LL_FS_REMOVE_FILE };
	ruleset = landlock_build_grants(v, count, rights, err);
	for (size_t i = 0; i <= n; i++)
		free(dirs[i]);
	free(dirs);
	free(v);
	return ruleset;
}

int lockdown_enter(const char *const *files, size_t n, const char *sockets, struct error *err)
{
	struct landlock_rights rights;
	CLEANUP_CLOSE int ruleset = -1;

	if (landlock_abi_query(&rights, err) < 0)
		return -1;
	ruleset = build(files, n, sockets, &rights, err);
	if (ruleset < 0)
		return -1;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set(err, errno, "cannot give up privileges");
	if (landlock_enforce(ruleset, err) < 0)
		return -1;
	return seccomp_supervisor_install(err);
}
