#include "cli/hardlink.h"

#include <errno.h>
#include <ftw.h>

#define OPEN_MAX 16 /* directories at a time */

/* nftw(3) hands nothing on to what it calls. */
static const struct stat *wanted;
static unsigned left;

static int look(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)path, (void)where;
	if (left == 0 || type == FTW_DNR || type == FTW_NS)
		return 1;
	left--;
	return st->st_dev == wanted->st_dev && st->st_ino == wanted->st_ino;
}

bool hardlink_beneath(const char *dir, const struct stat *st)
{
	struct stat top;

	if (stat(dir, &top) < 0)
		return errno != ENOENT;
	if (top.st_dev != st->st_dev)
		return false; /* what is mounted in it is another directory's */
	wanted = st;
	left = HARDLINK_MAX;
	return nftw(dir, look, OPEN_MAX, FTW_PHYS | FTW_MOUNT) != 0;
}
