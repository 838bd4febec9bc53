#include "base/procstat.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* proc_pid_stat(5): "PID (NAME) S PARENT ...". The name may hold anything, brackets too. */
pid_t procstat_parent(pid_t pid)
{
	char path[64], text[512];
	CLEANUP_CLOSE int fd = -1;
	const char *end;
	ssize_t n;
	int parent;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	end = strrchr(text, ')');
	return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}
