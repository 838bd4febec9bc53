#include "cli/lockdown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "cli/statedir.h"
#include "launcher/files/landlock.h"
#include "launcher/files/landlock_abi.h"
#include "launcher/seccomp_supervisor.h"

#define READ (LL_FS_READ_FILE | LL_FS_READ_DIR)
#define SAVE (READ | LL_FS_WRITE_FILE | LL_FS_TRUNCATE | LL_FS_MAKE_REG | LL_FS_REMOVE_FILE)
#define TIDY \
	(READ | LL_FS_REMOVE_FILE | LL_FS_REMOVE_DIR) /* what is as it was made, and only that */

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

static int build(const struct lockdown_plan *plan, const struct landlock_rights *rights,
		 struct error *err)
{
	size_t count = ARRAY_SIZE(fixed), npaths = 0;
	size_t max = plan->nfiles + plan->ntidy + 3;
	struct landlock_grant *v = xcalloc(count + max, sizeof(*v));
	char **paths = xcalloc(max, sizeof(*paths));
	int ruleset;

	memcpy(v, fixed, sizeof(fixed));
	for (size_t i = 0; i < plan->nfiles; i++) {
		paths[npaths] = path_dir(plan->files[i]);
		v[count++] = (struct landlock_grant){ paths[npaths++], READ };
	}
	for (size_t i = 0; i < plan->ntidy; i++) {
		paths[npaths] = xasprintf("/proc/self/fd/%d", plan->tidy[i]);
		v[count++] = (struct landlock_grant){ paths[npaths++], TIDY };
	}
	paths[npaths] = statedir_path(NULL);
	if (paths[npaths])
		v[count++] = (struct landlock_grant){ paths[npaths++], SAVE };
	if (plan->sockets)
		v[count++] = (struct landlock_grant){ plan->sockets, LL_FS_REMOVE_FILE };
	if (plan->save)
		v[count++] = (struct landlock_grant){ plan->save, SAVE };
	ruleset = landlock_build_grants(v, count, rights, err);
	for (size_t i = 0; i < npaths; i++)
		free(paths[i]);
	free(paths);
	free(v);
	return ruleset;
}

int lockdown_enter(const struct lockdown_plan *plan, struct error *err)
{
	struct landlock_rights rights;
	CLEANUP_CLOSE int ruleset = -1;

	if (landlock_abi_query(&rights, err) < 0)
		return -1;
	ruleset = build(plan, &rights, err);
	if (ruleset < 0)
		return -1;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set(err, errno, "cannot give up privileges");
	if (landlock_enforce(ruleset, err) < 0)
		return -1;
	return seccomp_supervisor_install(&plan->peers, err);
}
