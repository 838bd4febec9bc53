/*
 * mountinfo.h - what is mounted where, as /proc/self/mountinfo says
 */
#ifndef LAUNCHER_FILES_MOUNTINFO_H
#define LAUNCHER_FILES_MOUNTINFO_H

#include <stddef.h>

/** struct mountinfo_mount - a line (proc_pid_mountinfo(5)) */
struct mountinfo_mount {
	char *device; /* major:minor */
	char *root;   /* of the mount, within its file system */
	char *point;
	char *type;
	char *options; /* of the file system */
};

/** struct mountinfo - all of it; @v points into @text */
struct mountinfo {
	char *text;
	struct mountinfo_mount *v;
	size_t n;
};

/** mountinfo_read() - Return: 0, or -1 with errno. */
int mountinfo_read(struct mountinfo *m);

/** mountinfo_clear() - release. */
void mountinfo_clear(struct mountinfo *m);

#endif
