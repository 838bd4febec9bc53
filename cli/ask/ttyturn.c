#include "cli/ask/ttyturn.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/ask/control.h"

#define TTYTURN_FILE ".terminals"

/* The command reaches no file of this directory, so it cannot keep anybody from asking. */
void ttyturn_open(struct ttyturn *t, int tty)
{
	struct error unused;
	CLEANUP_CLOSE int dir = control_dir(true, &unused);

	*t = (struct ttyturn){ .fd = -1 };
	if (dir >= 0 && ioctl(tty, TIOCGDEV, &t->tty) == 0)
		t->fd = openat(dir, TTYTURN_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Of the description (F_OFD_SETLK), so that it ends with us, and no close(2) of another one ends it. */
static bool set(const struct ttyturn *t, short type, off_t from, off_t len)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = from, .l_len = len };

	return t->fd < 0 || fcntl(t->fd, F_OFD_SETLK, &lock) == 0;
}

/* Process numbers are below 2^22 (PID_MAX_LIMIT), devices below 2^32. */
bool ttyturn_take(const struct ttyturn *t)
{
	return set(t, F_WRLCK, (off_t)t->tty << 22 | getpgrp(), 1);
}

void ttyturn_leave(const struct ttyturn *t)
{
	(void)set(t, F_UNLCK, 0, 0);
}

void ttyturn_close(struct ttyturn *t)
{
	cleanup_close(&t->fd);
}
