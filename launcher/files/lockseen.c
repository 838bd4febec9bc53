#include "launcher/files/lockseen.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/xalloc.h"

#define LINES_MAX 16

/**
 * struct lockseen_one - which file or directory a name led to
 * @made, @made_ns: when it was born, where the file system tells: numbers are used again at once
 */
struct lockseen_one {
	bool there;
	uint32_t major, minor, made_ns;
	uint64_t ino;
	int64_t made;
};

static struct lockseen_one look(const char *name)
{
	struct statx st;

	if (statx(AT_FDCWD, name, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &st) < 0)
		return (struct lockseen_one){ .there = false };
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

void lockseen_compare(const struct lockseen *s, void (*tell)(void *arg, const char *line),
		      void *arg)
{
	char line[PATH_MAX + 256];
	size_t found = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct lockseen_one now = look(s->names[i]);

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
