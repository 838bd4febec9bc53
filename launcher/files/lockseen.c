#include "launcher/files/lockseen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/xalloc.h"

#define LINES_MAX 16

/**
 * struct lockseen_one - which file or directory a name led to
 * @granted: the command may write it
 * @code: why nobody could look, if it is not just missing; the command may have taken a permission
 * @made, @made_ns: when it was born, where the file system tells: numbers are used again at once
 */
struct lockseen_one {
	bool there, granted;
	int code;
	uint32_t major, minor, made_ns;
	uint64_t ino;
	int64_t made;
};

static struct lockseen_one look(const char *name)
{
	struct statx st;

	if (statx(AT_FDCWD, name, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &st) < 0)
		return (struct lockseen_one){ .code = errno == ENOENT ? 0 : errno };
	if (!(st.stx_mask & STATX_BTIME))
		st.stx_btime = (struct statx_timestamp){ .tv_sec = 0 };
	return (struct lockseen_one){ .there = true,
				      .major = st.stx_dev_major,
				      .minor = st.stx_dev_minor,
				      .ino = st.stx_ino,
				      .made = st.stx_btime.tv_sec,
				      .made_ns = st.stx_btime.tv_nsec };
}

static bool is_same(const struct lockseen_one *a, const struct lockseen_one *b)
{
	return a->there && a->major == b->major && a->minor == b->minor && a->ino == b->ino &&
	       a->made == b->made && a->made_ns == b->made_ns;
}

void lockseen_note(struct lockseen *s, char *const *names, size_t n)
{
	*s = (struct lockseen){ .v = xcalloc(n + 1, sizeof(*s->v)), .names = names, .n = n };
	for (size_t i = 0; i < n; i++)
		s->v[i] = look(names[i]);
}

void lockseen_except(struct lockseen *s, const char *path)
{
	const struct lockseen_one one = look(path);

	for (size_t i = 0; i < s->n; i++)
		s->v[i].granted |= one.there && is_same(&s->v[i], &one);
}

/* Names that nobody can look at any more; one line, as there is most often one reason. */
static void tell_unseen(const char *first, size_t n, int code,
			void (*tell)(void *arg, const char *line), void *arg)
{
	char line[PATH_MAX + 256], more[64] = "";

	if (n == 0)
		return;
	if (n > 1)
		(void)snprintf(more, sizeof(more), ", and %zu more locked names,", n - 1);
	(void)snprintf(line, sizeof(line),
		       "%s%s cannot be looked at (%s): see what is there before it is "
		       "used",
		       first, more, strerror(code));
	tell(arg, line);
}

void lockseen_compare(const struct lockseen *s, void (*tell)(void *arg, const char *line),
		      void *arg)
{
	char line[PATH_MAX + 256];
	const char *first = NULL;
	size_t found = 0, unseen = 0;
	int code = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct lockseen_one now = look(s->names[i]);

		if (s->v[i].granted)
			continue;
		if (now.code && s->v[i].there && unseen++ == 0) {
			first = s->names[i];
			code = now.code;
		}
		if (!now.there || is_same(&s->v[i], &now) || ++found > LINES_MAX)
			continue;
		(void)snprintf(
			line, sizeof(line),
			"%s is not what it was when the run began: something outside (git, an "
			"editor) has put it there, and the command could write it since; look "
			"at it before it is used",
			s->names[i]);
		tell(arg, line);
	}
	tell_unseen(first, unseen, code, tell, arg);
	if (found <= LINES_MAX)
		return;
	(void)snprintf(line, sizeof(line), "%zu more locked names are not what they were",
		       found - LINES_MAX);
	tell(arg, line);
}

void lockseen_clear(struct lockseen *s)
{
	free(s->v);
	*s = (struct lockseen){ 0 };
}
