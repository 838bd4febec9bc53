#include "launcher/files/mountcheck.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "launcher/files/grantpath.h"

/** struct place - where a look-up has ended */
struct place {
	uint64_t mount, ino;
	uint32_t major, minor;
};

/* @dir and "" for what the descriptor leads to. */
static int look(int dir, const char *path, struct place *out)
{
	const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC |
			  (*path ? 0 : AT_EMPTY_PATH);
	struct statx st;

	if (statx(dir, path, flags, STATX_INO | STATX_MNT_ID, &st) < 0)
		return -1;
	if (!(st.stx_mask & STATX_MNT_ID)) { /* Linux 5.8 */
		errno = ENOSYS;
		return -1;
	}
	*out = (struct place){ st.stx_mnt_id, st.stx_ino, st.stx_dev_major, st.stx_dev_minor };
	return 0;
}

static bool is_same(const struct place *a, const struct place *b)
{
	return a->mount == b->mount && a->ino == b->ino && a->major == b->major &&
	       a->minor == b->minor;
}

int mountcheck_past(const char *path, int code, struct error *err)
{
	return error_set(err, code,
			 "%s does not lead to what was mounted there, so the command would not be "
			 "held back there; if something outside has just replaced it, start anew, "
			 "else this is a fault of ours: please report it",
			 path);
}

/* The one that covers the others of its path. */
static bool is_seen(const struct mountplan *p, size_t i)
{
	if (!p->v[i].mounted)
		return false;
	for (size_t k = i + 1; k < p->n && strcmp(p->v[k].path, p->v[i].path) == 0; k++)
		if (p->v[k].mounted)
			return false;
	return true;
}

size_t mountcheck_next(const struct mountplan *p, size_t i)
{
	for (; i < p->n; i++) {
		const struct mountplan_step *s = &p->v[i];
		struct place is, should;

		if (is_seen(p, i) && (look(AT_FDCWD, s->path, &is) < 0 ||
				      look(s->fd, "", &should) < 0 || !is_same(&is, &should)))
			break;
	}
	return i;
}

/* The lowest step that holds the working directory; NULL if that is where it always was. */
static const struct mountplan_step *around(const struct mountplan *p, const char *cwd)
{
	const struct mountplan_step *found = NULL;

	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].mounted && path_beneath(cwd, p->v[i].path))
			found = &p->v[i];
	return found;
}

int mountcheck_cwd(const struct mountplan *p, const struct launcher_plan *plan, struct error *err)
{
	CLEANUP_CLOSE int fd = fd_open_plain(AT_FDCWD, plan->cwd, O_PATH | O_DIRECTORY);
	const struct mountplan_step *s = around(p, plan->cwd);
	CLEANUP_CLOSE int below = -1;
	struct place is, should;
	const char *rel;

	if (s && s->kind == STEP_HIDE)
		return error_set(err, 0,
				 "cannot start in %s: reading %s is denied; start elsewhere, or "
				 "deny less",
				 plan->cwd, s->path);
	if (fd < 0)
		return error_set(err, errno, "cannot enter %s", plan->cwd);
	if (s && s->kind == STEP_COVER && strcmp(s->path, plan->cwd) == 0)
		return take_fd(&fd); /* nothing of it is shown */
	if (grantpath_same(fd, plan->cwd_id, plan->cwd, err) < 0)
		return -1;
	if (!s)
		return take_fd(&fd);
	rel = path_below(plan->cwd, s->path);
	below = fd_open_plain(s->fd, *rel ? rel : ".", O_PATH | O_DIRECTORY);
	if (below < 0 || look(fd, "", &is) < 0 || look(below, "", &should) < 0)
		return mountcheck_past(plan->cwd, errno, err);
	return is_same(&is, &should) ? take_fd(&fd) : mountcheck_past(plan->cwd, 0, err);
}
