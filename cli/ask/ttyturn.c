#include "cli/ask/ttyturn.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/ask/control.h"

#define TTYTURN_FILE ".terminals"

/* The command reaches no file of this directory, so it cannot keep anybody from asking. */
void ttyturn_open(struct ttyturn *t)
{
	struct error unused;
	CLEANUP_CLOSE int dir = control_dir(true, &unused);

	*t = (struct ttyturn){ .fd = -1 };
	if (dir >= 0)
		t->fd = openat(dir, TTYTURN_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

void ttyturn_at(struct ttyturn *t, int tty)
{
	if (ioctl(tty, TIOCGDEV, &t->tty) < 0)
		ttyturn_close(t);
}

/* Of the description (F_OFD_SETLK), so that it ends with us, and no close(2) of another one ends it. */
static bool set(const struct ttyturn *t, short type, off_t from, off_t len)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = from, .l_len = len };

	return t->fd < 0 || fcntl(t->fd, F_OFD_SETLK, &lock) == 0;
}

/* Process numbers are below 2^22 (PID_MAX_LIMIT), devices below 2^32; none is 0, which is for drawing. */
static off_t place(unsigned tty, pid_t group)
{
	return (off_t)tty << 22 | group;
}

bool ttyturn_take(const struct ttyturn *t)
{
	return set(t, F_WRLCK, place(t->tty, getpgrp()), 1);
}

void ttyturn_draw(const struct ttyturn *t, int tty)
{
	unsigned device;

	if (ioctl(tty, TIOCGDEV, &device) == 0)
		(void)set(t, F_RDLCK, place(device, 0), 1);
}

bool ttyturn_is_drawn(const struct ttyturn *t)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = place(t->tty, 0), .l_len = 1
	};

	return t->fd >= 0 && fcntl(t->fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void ttyturn_leave(const struct ttyturn *t)
{
	(void)set(t, F_UNLCK, 0, 0);
}

void ttyturn_close(struct ttyturn *t)
{
	cleanup_close(&t->fd);
}
