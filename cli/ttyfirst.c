/*
 * Theory of operation: all runs of a user share a file, of which a byte far behind its end stands for a process
 * group at a terminal, and a record for what may have been found there. Whoever can lock the byte alone is the
 * first, and writes the record; then, as everybody else, it holds the lock with others for as long as it lives.
 * Records that share a place overwrite each other: then the modes are those that were found.
 */
#include "cli/ttyfirst.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/ask/control.h"

#define RECORDS_MAX 512
#define TRIES_MAX \
	100 /* a millisecond each: the first holds the lock alone for as long as it writes */

struct record {
	unsigned tty;
	pid_t group;
	struct termios modes;
};

/* Of the description, so that it ends with us (ttyturn.c); process numbers are below 2^22 (PID_MAX_LIMIT). */
static bool lock(int fd, short type, const struct record *r)
{
	struct flock l = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)1 << 56 | (off_t)r->tty << 22 | r->group,
		.l_len = 1,
	};

	return fcntl(fd, F_OFD_SETLK, &l) == 0;
}

static bool join(int fd, const struct record *r)
{
	const struct timespec step = { .tv_nsec = 1000 * 1000 };

	for (int i = 0; i < TRIES_MAX; i++) {
		if (lock(fd, F_RDLCK, r))
			return true;
		(void)nanosleep(&step, NULL);
	}
	return false;
}

void ttyfirst_begin(int tty, struct termios *modes)
{
	static int kept = -1; /* for as long as we live */
	struct record ours = { .group = getpgrp(), .modes = *modes }, found;
	struct error unused;
	CLEANUP_CLOSE int dir = control_dir(false, &unused);
	CLEANUP_CLOSE int fd = -1;
	off_t at;

	if (dir < 0 || ioctl(tty, TIOCGDEV, &ours.tty) < 0)
		return;
	at = (off_t)((ours.tty ^ (unsigned)ours.group) % RECORDS_MAX * sizeof(ours));
	fd = openat(dir, ".modes", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	if (lock(fd, F_WRLCK, &ours)) {
		if (pwrite(fd, &ours, sizeof(ours), at) != sizeof(ours) ||
		    !lock(fd, F_RDLCK, &ours))
			return;
	} else if (!join(fd, &ours)) {
		return;
	} else if (pread(fd, &found, sizeof(found), at) == sizeof(found) && found.tty == ours.tty &&
		   found.group == ours.group) {
		*modes = found.modes;
	}
	kept = take_fd(&fd);
	(void)kept;
}
