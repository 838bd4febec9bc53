/*
 * Theory of operation: the files are looked at four times a second. inotify(7) would tell at once,
 * but closing its descriptor waits for a grace period of the kernel (13 to 17 ms on Linux 6.18),
 * which every run would pay at its end; and it sees neither a directory that comes later nor a
 * change on a network file system.
 */
#include "cli/reload.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/path.h"
#include "base/xalloc.h"

#define LOOK_MS	  250
#define SETTLE_MS 50 /* an editor makes several changes at once */

/*
 * A file under watch, and what it was; all zero: not there. @fd is -1, or the file itself: then
 * @elsewhere says that its name leads to another. While the name cannot be followed it is @barred.
 */
struct file {
	char *path;
	int fd;
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed;
	bool elsewhere, barred;
};

struct reload {
	struct event look, settle, later;
	bool again;   /* the last reading failed, and may succeed as things are */
	bool partial; /* it left a file out */
	bool retry;   /* what is due is due for that only */
	struct file *file;
	size_t nfiles;
	reload_cb *cb;
	void *arg;
};

static void settle(struct reload *r)
{
	const struct timeval soon = { .tv_usec = SETTLE_MS * 1000 };

	/* Not put off by further changes: a steady stream of them would put it off for ever. */
	if (!event_pending(&r->settle, EV_TIMEOUT, NULL))
		(void)event_add(&r->settle, &soon);
}

void reload_soon(struct reload *r)
{
	r->retry = false;
	settle(r);
}

static void later_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	reload_soon(arg);
}

void reload_later(struct reload *r, unsigned ms)
{
	const struct timeval tv = { .tv_sec = ms / 1000,
				    .tv_usec = (suseconds_t)(ms % 1000) * 1000 };

	if (ms)
		(void)event_add(&r->later, &tv);
	else
		(void)event_del(&r->later);
}

/* Whether what has failed so is likely to fail so again, as long as no file changes. */
static bool lasts(int code)
{
	switch (code) {
	case 0: /* not what the system said: the text */
	case EACCES:
	case EPERM:
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
	case EISDIR:
	case EINVAL:
	case EFBIG:
	case ENAMETOOLONG:
		return true;
	default:
		return false;
	}
}

void reload_tell(struct reload *r, int rc, const struct error *err, const char *also,
		 struct error *said)
{
	if (rc == 0) {
		*said = (struct error){ 0 };
		return;
	}
	r->partial = true;
	r->again = !lasts(err->code);
	if ((!r->retry && rc < 0) || strcmp(err->msg, said->msg) != 0)
		log_warn("reload: %s; the policy stays as it was%s%s%s", err->msg,
			 rc > 0 ? ", but for what other files refuse now" : "", *also ? "; " : "",
			 also);
	*said = *err;
}

bool reload_is_retry(const struct reload *r)
{
	return r->retry;
}

struct timespec reload_now(void)
{
	struct timespec now;

	/* Not finer than the stamps: a change after this has this time or a later one. */
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return now;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* What a file is now. Of one that cannot be looked at nothing is known that is new. */
static void look_at(struct file *f)
{
	struct stat st, held;
	int rc = stat(f->path, &st);

	f->barred = rc < 0 && errno != ENOENT && errno != ENOTDIR;
	if (rc < 0)
		memset(&st, 0, sizeof(st));
	if (f->fd >= 0 && fstat(f->fd, &held) == 0) {
		if (!f->barred)
			f->elsewhere = st.st_dev != held.st_dev || st.st_ino != held.st_ino;
		st = held;
	} else if (f->barred) {
		return;
	}
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->size = st.st_size;
	f->changed = st.st_ctim;
}

/* Looks at a file again. Return: whether it is another, or has changed. */
static bool look(const struct reload *r, struct file *f)
{
	struct file old = *f;

	look_at(f);
	return f->dev != old.dev || f->ino != old.ino || f->size != old.size ||
	       !same_time(&f->changed, &old.changed) || f->elsewhere != old.elsewhere ||
	       (r->partial && old.barred && !f->barred);
}

static void look_cb(evutil_socket_t fd, short what, void *arg)
{
	struct reload *r = arg;

	(void)fd, (void)what;
	for (size_t i = 0; i < r->nfiles; i++) {
		if (look(r, &r->file[i]))
			reload_soon(r);
	}
	if (!r->again || event_pending(&r->settle, EV_TIMEOUT, NULL))
		return;
	r->retry = true;
	settle(r);
}

bool reload_is_due(struct reload *r)
{
	look_cb(-1, 0, r);
	return event_pending(&r->settle, EV_TIMEOUT, NULL);
}

static void settle_cb(evutil_socket_t fd, short what, void *arg)
{
	struct reload *r = arg;

	(void)fd, (void)what;
	r->again = r->partial = false;
	r->cb(r->arg);
}

/* The time of the directory that a file is in: a file that is gone has left its time there. */
static struct timespec left_at(const char *path)
{
	CLEANUP_FREE char *dir = path_dir(path);
	struct stat st;

	if (stat(dir, &st) < 0)
		memset(&st, 0, sizeof(st));
	return st.st_ctim;
}

static void watch(struct reload *r, struct file *f, const struct timespec *since)
{
	struct timespec when;

	look_at(f);
	when = f->ino ? f->changed : left_at(f->path);
	if (when.tv_sec && !before(&when, since))
		reload_soon(r);
}

struct reload *reload_new(struct event_base *base, const char *const *paths, const int *fds,
			  size_t n, const struct timespec *since, reload_cb *cb, void *arg)
{
	const struct timeval every = { .tv_usec = LOOK_MS * 1000 };
	struct reload *r = xcalloc(1, sizeof(*r));

	r->cb = cb;
	r->arg = arg;
	r->file = xcalloc(n + 1, sizeof(*r->file));
	(void)event_assign(&r->look, base, -1, EV_PERSIST, look_cb, r);
	(void)event_assign(&r->settle, base, -1, 0, settle_cb, r);
	(void)event_assign(&r->later, base, -1, 0, later_cb, r);
	for (r->nfiles = 0; r->nfiles < n; r->nfiles++) {
		r->file[r->nfiles].path = xstrdup(paths[r->nfiles]);
		r->file[r->nfiles].fd = fds ? fds[r->nfiles] : -1;
		watch(r, &r->file[r->nfiles], since);
	}
	(void)event_add(&r->look, &every);
	return r;
}

void reload_free(struct reload *r)
{
	if (!r)
		return;
	(void)event_del(&r->look);
	(void)event_del(&r->settle);
	(void)event_del(&r->later);
	for (size_t i = 0; i < r->nfiles; i++)
		free(r->file[i].path);
	free(r->file);
	free(r);
}
