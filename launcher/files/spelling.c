#include "launcher/files/spelling.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "launcher/files/mountplan.h"
#include "launcher/weaker.h"

/* What hides, locks or pins a name in something that the command may write. */
static bool is_guard(const struct mountplan *p, size_t i)
{
	const struct mountplan_step *above = i > 0 ? mountplan_above(p, i) : NULL;

	return p->v[i].mounted && above &&
	       (p->v[i].kind == STEP_LOCK || p->v[i].kind == STEP_PIN ||
		p->v[i].kind == STEP_HIDE) &&
	       (above->kind == STEP_ROOT || above->kind == STEP_PIN ||
		(above->kind == STEP_GRANT && above->use == MOUNTS_WRITE));
}

/* "name" as "NAME" and the other way round. Return: whether that is another spelling. */
static bool turn_case(char *name)
{
	bool turned = false;

	for (char *c = name; *c; c++) {
		bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');

		*c = letter ? (char)(*c ^ 0x20) : *c;
		turned |= letter;
	}
	return turned;
}

/* A name that is found, but not listed, is another spelling of one that is. */
static bool is_listed(int dir, const char *name)
{
	DIR *d = fd_opendir(dir);
	struct dirent *e;
	bool found = false;

	if (!d)
		return false;
	while (!found && (e = readdir(d)))
		found = strcmp(e->d_name, name) == 0;
	(void)closedir(d);
	return found;
}

static bool is_same_mount(int a, int b)
{
	struct statx x, y;

	return statx(a, "", AT_EMPTY_PATH, STATX_MNT_ID, &x) == 0 &&
	       statx(b, "", AT_EMPTY_PATH, STATX_MNT_ID, &y) == 0 && x.stx_mnt_id == y.stx_mnt_id;
}

/*
 * A mount is on one spelling of a name. Where the file system takes ".GIT" for ".git" and the kernel
 * does not know that (a share of Windows or of a Mac, by 9p, SMB, FUSE or virtiofs), the other one would
 * lead past it. ext4 and vfat, of which the kernel does, show the mount by each.
 */
static int check(const struct mountplan *plan, size_t i, unsigned accept, unsigned *weaker,
		 struct error *err)
{
	const struct mountplan_step *s = &plan->v[i], *above = mountplan_above(plan, i);
	CLEANUP_FREE char *rel = xstrdup(mountplan_below(s, above));
	char *slash = strrchr(rel, '/'), *name = slash ? slash + 1 : rel;
	CLEANUP_CLOSE int dir = -1, other = -1;

	if (slash)
		*slash = '\0';
	if (!turn_case(name))
		return 0;
	dir = fd_open_plain(above->fd, slash ? rel : ".", O_PATH | O_DIRECTORY);
	if (dir < 0)
		return error_set(err, errno, "cannot look around %s", s->path);
	other = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (other < 0 || is_same_mount(other, s->fd) || is_listed(dir, name))
		return 0;
	if (s->kind != STEP_HIDE && accept & WEAKER_SPELLING) {
		*weaker |= WEAKER_SPELLING;
		return 0;
	}
	return error_set(err, 0,
			 "%s cannot be kept from the command: on this file system it can be "
			 "spelled %s as well; use a directory where case matters, or --fs strict%s",
			 s->path, name,
			 s->kind == STEP_HIDE ? ""
					      : ", or accept that with --accept-weaker=spelling");
}

int spelling_check(const struct mountplan *plan, unsigned accept, unsigned *weaker,
		   struct error *err)
{
	for (size_t i = 0; i < plan->n; i++)
		if (is_guard(plan, i) && check(plan, i, accept, weaker, err))
			return -1;
	return 0;
}
