#include "cli/reread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "cli/rules.h"
#include "policy/listfile.h"

/* What became known only later was not locked when the command began. */
static int open_unmarked(const struct reread *r, const char *path, struct error *err)
{
	CLEANUP_CLOSE int fd = fd_open_regular(AT_FDCWD, path, 0, err);

	if (fd < 0)
		return -1;
	if (r && r->marks && filemark_is_open_to_writes(r->marks, fd)) {
		(void)error_set(err, 0,
				"'%s' lies where the command can write, and was no policy file "
				"when it began: it is read in the next run",
				path);
		errno = EPERM;
		return -1;
	}
	return take_fd(&fd);
}

int reread_open(struct reread *r, const char *path, struct error *err)
{
	struct error why;
	int fd = -1;

	switch (r && r->marks ? filemark_open(r->marks, path, &fd, &why) : FILEMARK_UNKNOWN) {
	case FILEMARK_UNKNOWN:
		return open_unmarked(r, path, err);
	case FILEMARK_MOVED:
		if (!r->moved && r->nkept == 0)
			r->why = why;
		r->moved = true;
		break;
	case FILEMARK_SAME:
		break;
	}
	if (fd < 0) {
		int code = errno;

		(void)error_set(err, code, "cannot open '%s'", path);
		errno = code;
	}
	return fd;
}

void reread_note(struct reread *r, const char *path, int fd)
{
	if (r)
		liststamps_note(&r->stamps, &r->before->stamps, path, fd, clock_ms());
}

int reread_list(struct reread *r, struct policy *p, enum list list, const char *path,
		struct error *err)
{
	CLEANUP_CLOSE int fd = -1;

	if (reread_keeps(r, path))
		return policy_take_over(p, list, r->before->policy, path, err);
	fd = reread_open(r, path, err);
	if (fd >= 0)
		reread_note(r, path, fd);
	if (fd < 0 || listfile_read(p, list, fd, path, err) < 0)
		return reread_failed(r, path);
	return 0;
}

bool reread_keeps(const struct reread *r, const char *path)
{
	for (size_t i = 0; r && i < r->nkept; i++)
		if (strcmp(r->kept[i], path) == 0)
			return true;
	return false;
}

int reread_failed(struct reread *r, const char *path)
{
	if (r && !r->failed)
		r->failed = xstrdup(path);
	return -1;
}

bool reread_keep_failed(struct reread *r, const struct error *err)
{
	char *path = take_ptr(r->failed);

	liststamps_clear(&r->stamps);
	if (!path || reread_keeps(r, path)) {
		free(path);
		return false;
	}
	if (r->nkept == 0)
		r->why = *err; /* an error comes before what has merely moved */
	r->kept = xreallocarray(r->kept, r->nkept + 1, sizeof(*r->kept));
	r->kept[r->nkept++] = path;
	return true;
}

void reread_clear(struct reread *r)
{
	for (size_t i = 0; i < r->nkept; i++)
		free(r->kept[i]);
	free(r->kept);
	free(r->failed);
	liststamps_clear(&r->stamps);
	*r = (struct reread){ .before = NULL };
}
