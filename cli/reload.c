#include "cli/reload.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define SETTLE_MS 50 /* an editor makes several changes at once */
#define CHANGES	  (IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE)

/* A file under watch: the watch of its directory and its name there. */
struct file {
	int watch;
	char *name;
};

struct reload {
	int fd;
	struct event changed, settle;
	struct file *file;
	size_t nfiles;
	reload_cb *cb;
	void *arg;
};

void reload_soon(struct reload *r)
{
	const struct timeval settle = { .tv_usec = SETTLE_MS * 1000 };

	/* Not put off by further changes: a steady stream of them would put it off for ever. */
	if (!event_pending(&r->settle, EV_TIMEOUT, NULL))
		(void)event_add(&r->settle, &settle);
}

struct timespec reload_now(void)
{
	struct timespec now;

	/* Not finer than the stamps: a change after this has this time or a later one. */
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return now;
}

static bool before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* A file that is gone has left its time on the directory. */
static bool changed_since(const char *path, const char *dir, const struct timespec *since)
{
	struct stat st;

	if (stat(path, &st) < 0 && stat(dir, &st) < 0)
		return false;
	return !before(&st.st_ctim, since);
}

static void settle_cb(evutil_socket_t fd, short what, void *arg)
{
	struct reload *r = arg;

	(void)fd, (void)what;
	r->cb(r->arg);
}

static bool is_ours(const struct reload *r, const struct inotify_event *ev)
{
	if (ev->mask & IN_Q_OVERFLOW)
		return true;
	for (size_t i = 0; i < r->nfiles; i++) {
		if (r->file[i].watch == ev->wd && ev->len && strcmp(r->file[i].name, ev->name) == 0)
			return true;
	}
	return false;
}

static void changed_cb(evutil_socket_t fd, short what, void *arg)
{
	union {
		char bytes[16384];
		struct inotify_event align;
	} buf;
	struct reload *r = arg;
	ssize_t n;

	(void)what;
	while ((n = read(fd, buf.bytes, sizeof(buf.bytes))) > 0) {
		const char *p = buf.bytes;

		while (p < buf.bytes + n) {
			const struct inotify_event *ev = (const void *)p;

			if (is_ours(r, ev))
				reload_soon(r);
			p += sizeof(*ev) + ev->len;
		}
	}
}

static void watch(struct reload *r, const char *path, const struct timespec *since)
{
	const char *slash = strrchr(path, '/');
	CLEANUP_FREE char *dir =
		slash ? xstrndup(path, slash == path ? 1 : (size_t)(slash - path)) : xstrdup(".");
	int wd = inotify_add_watch(r->fd, dir, CHANGES | IN_ONLYDIR | IN_MASK_ADD);

	if (wd < 0)
		return;
	r->file = xreallocarray(r->file, r->nfiles + 1, sizeof(*r->file));
	r->file[r->nfiles++] =
		(struct file){ .watch = wd, .name = xstrdup(slash ? slash + 1 : path) };
	if (changed_since(path, dir, since))
		reload_soon(r);
}

struct reload *reload_new(struct event_base *base, const char *const *paths, size_t n,
			  const struct timespec *since, reload_cb *cb, void *arg, struct error *err)
{
	struct reload *r = xcalloc(1, sizeof(*r));

	r->cb = cb;
	r->arg = arg;
	r->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (r->fd < 0) {
		(void)error_set(err, errno, "cannot watch the settings files");
		free(r);
		return NULL;
	}
	(void)event_assign(&r->changed, base, r->fd, EV_READ | EV_PERSIST, changed_cb, r);
	(void)event_assign(&r->settle, base, -1, 0, settle_cb, r);
	(void)event_add(&r->changed, NULL);
	for (size_t i = 0; i < n; i++)
		watch(r, paths[i], since);
	return r;
}

void reload_free(struct reload *r)
{
	if (!r)
		return;
	(void)event_del(&r->changed);
	(void)event_del(&r->settle);
	(void)close(r->fd);
	for (size_t i = 0; i < r->nfiles; i++)
		free(r->file[i].name);
	free(r->file);
	free(r);
}
