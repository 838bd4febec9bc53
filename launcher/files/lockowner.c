#include "launcher/files/lockowner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

/*
 * "NSpid:" and the numbers of a process in the namespaces from that of this /proc inwards
 * (proc_pid_status(5)): one if it is in no other, and the last is 1 if it is pid 1 of a run. That of a command
 * is not, which can make no namespace.
 */
static bool is_no_command(pid_t pid)
{
	CLEANUP_FREE char *path = xasprintf("/proc/%d/status", (int)pid);
	CLEANUP_FCLOSE FILE *f = fopen(path, "re");
	char line[512];

	if (!f)
		return errno != ENOENT; /* it has ended, or nobody can tell */
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "NSpid:\t", 7) == 0) {
			const char *last = strrchr(line, '\t');

			return last == line + 6 || strcmp(last, "\t1\n") == 0;
		}
	}
	return true;
}

struct lockowner lockowner_find(int dir)
{
	CLEANUP_FCLOSE FILE *f = fopen("/proc/locks", "re");
	struct lockowner owner = { 0 };
	bool any = false;
	char line[256];
	struct stat st;

	if (!f || fstat(dir, &st) < 0)
		return (struct lockowner){ .run = -1 };
	while (fgets(line, sizeof(line), f)) {
		unsigned long ino;
		int pid;

		/* "N: FLOCK ADVISORY READ PID MAJOR:MINOR:INO 0 EOF"; behind "->" somebody waits */
		if (sscanf(line, "%*[^:]: FLOCK %*s %*s %d %*x:%*x:%lu", &pid, &ino) != 2 ||
		    ino != st.st_ino)
			continue;
		any = true;
		if (is_no_command(pid))
			owner.run = pid;
		else
			owner.other = pid;
	}
	if (!any)
		owner.run =
			-1; /* it is of another namespace, where this /proc is not the first one's */
	return owner;
}
