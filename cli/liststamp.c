#include "cli/liststamp.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/xalloc.h"

/* @since: when it was found as it is, by clock_ms(); 0: long ago */
struct liststamp {
	char *path;
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed;
	uint64_t since;
	bool ended;
};

static bool is_same(const struct liststamp *s, const struct stat *st)
{
	return s->dev == st->st_dev && s->ino == st->st_ino && s->size == st->st_size &&
	       s->changed.tv_sec == st->st_ctim.tv_sec && s->changed.tv_nsec == st->st_ctim.tv_nsec;
}

static const struct liststamp *find(const struct liststamps *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].path, path) == 0)
			return &l->v[i];
	return NULL;
}

/* Of a file that is looked at for the first time only its own time is known. */
static bool is_old(const struct stat *st)
{
	const time_t rest = LISTSTAMP_ENDED_MS / 1000;
	time_t age = time(NULL) - st->st_ctim.tv_sec;

	return age > rest || age < -rest;
}

static bool has_end(int fd, off_t size)
{
	char last;

	return size == 0 || pread(fd, &last, 1, size - 1) != 1 || last == '\n';
}

void liststamps_note(struct liststamps *l, const struct liststamps *before, const char *path,
		     int fd, uint64_t now)
{
	const struct liststamp *old = find(before, path);
	struct liststamp *s;
	struct stat st;

	if (fstat(fd, &st) < 0)
		memset(&st, 0, sizeof(st));
	l->v = xreallocarray(l->v, l->n + 1, sizeof(*l->v));
	s = &l->v[l->n++];
	*s = (struct liststamp){ .path = xstrdup(path),
				 .dev = st.st_dev,
				 .ino = st.st_ino,
				 .size = st.st_size,
				 .changed = st.st_ctim,
				 .since = now,
				 .ended = has_end(fd, st.st_size) };
	if (old && is_same(old, &st))
		s->since = old->since;
	else if (!old && is_old(&st))
		s->since = 0;
}

unsigned liststamps_rest_ms(const struct liststamps *l, uint64_t now)
{
	uint64_t most = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct liststamp *s = &l->v[i];
		uint64_t due = s->since + (s->ended ? LISTSTAMP_REST_MS : LISTSTAMP_ENDED_MS);

		if (s->since && due > now && due - now > most)
			most = due - now;
	}
	return (unsigned)most;
}

void liststamps_clear(struct liststamps *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].path);
	free(l->v);
	*l = (struct liststamps){ .v = NULL };
}
