/*
 * Theory of operation
 *
 * Landlock only grants: a rule on the home directory covers whatever a program outside puts in the
 * place of a hidden file later, or makes where there was nothing, and a mount cannot cover what is
 * not there. So no rule is made for a directory on the way to something hidden. Its other entries
 * get one each, down to the directories that have nothing hidden in them. What appears in a
 * directory of the way afterwards is not granted, whatever it is.
 *
 * Symbolic links are left out: where they lead is granted, or not, under its own name. A directory
 * that this user may not list is passed through by the names that are known.
 *
 * A rule for each entry takes time, and the command may be kept waiting by a directory that anything has
 * filled. So no more than a crowd of a kind is granted: where there are more files than that, which
 * names do not begin with a dot, none of them is; where there are more of all others, directories first,
 * only the way to what is known is passed through. Some of each would be a matter of chance.
 */
#include "launcher/files/landlock_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "launcher/files/mountplan.h"

static void cleanup_dir(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

#define CLEANUP_DIR __attribute__((cleanup(cleanup_dir)))

/* Sorted as they are, what lies beneath a directory stands together. */
static struct path_list hidden_beneath(const struct path_list *all, const char *path)
{
	const char *end = strcmp(path, "/") == 0 ? "" : path;
	size_t n = strlen(end);
	struct path_list found = { .v = NULL };

	for (size_t i = 0; i < all->n; i++) {
		if (strncmp(all->v[i], end, n) != 0 || all->v[i][n] != '/')
			continue;
		if (found.n == 0)
			found.v = all->v + i;
		found.n++;
	}
	return found;
}

static bool is_hidden(const struct path_list *hidden, const char *path)
{
	for (size_t i = 0; i < hidden->n; i++)
		if (strcmp(hidden->v[i], path) == 0)
			return true;
	return false;
}

/* What an entry is. Asking the directory first spares a question to a file server that is gone. */
static unsigned char type_of(int fd, unsigned char told)
{
	struct stat st;

	if (told != DT_UNKNOWN)
		return told;
	if (fstat(fd, &st) < 0)
		return DT_UNKNOWN;
	return S_ISDIR(st.st_mode) ? DT_DIR : S_ISLNK(st.st_mode) ? DT_LNK : DT_REG;
}

static int walk(const struct landlock_tree *t, const struct path_list *hidden, int dir,
		const char *path);

static int walk_entry(const struct landlock_tree *t, const struct path_list *hidden, int dir,
		      const char *path, const char *name, unsigned char type)
{
	CLEANUP_FREE char *child = xasprintf("%s/%s", strcmp(path, "/") == 0 ? "" : path, name);
	CLEANUP_CLOSE int fd = -1;

	if (type == DT_LNK || is_hidden(hidden, child))
		return 0;
	fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == EACCES))
		return 0; /* gone; somebody else's FUSE: nothing is granted */
	if (fd < 0)
		return error_set(t->err, errno, "Landlock: cannot open %s", child);
	type = type_of(fd, type);
	if (type == DT_DIR)
		return walk(t, hidden, fd, child);
	return type == DT_LNK ? 0 : t->grant(t->arg, fd, LANDLOCK_TREE_FILE, child);
}

/* The next names on the way to what is hidden; each once, since they are sorted. */
static int walk_known(const struct landlock_tree *t, const struct path_list *hidden, int dir,
		      const char *path)
{
	size_t skip = strcmp(path, "/") == 0 ? 1 : strlen(path) + 1;
	char name[NAME_MAX + 1], last[NAME_MAX + 1] = "";

	for (size_t i = 0; i < hidden->n; i++) {
		const char *rest = hidden->v[i] + skip;
		size_t n = strcspn(rest, "/");

		if (n > NAME_MAX)
			continue;
		memcpy(name, rest, n);
		name[n] = '\0';
		if (strcmp(name, last) != 0 &&
		    walk_entry(t, hidden, dir, path, name, DT_UNKNOWN) < 0)
			return -1;
		strcpy(last, name);
	}
	return 0;
}

/** struct crowd - how much is in a directory: plain files, and what programs look for by its name */
struct crowd {
	unsigned files, others;
};

static bool is_plain(const struct dirent *e)
{
	return e->d_type != DT_DIR && e->d_type != DT_UNKNOWN && e->d_name[0] != '.';
}

static struct crowd count(DIR *d)
{
	struct crowd c = { 0 };
	struct dirent *e;

	while ((e = readdir(d))) {
		if (is_plain(e))
			c.files++;
		else
			c.others++;
	}
	rewinddir(d);
	return c;
}

static int walk_listed(const struct landlock_tree *t, const struct path_list *hidden, DIR *d,
		       const char *path, const char *skip)
{
	const struct crowd c = count(d);
	struct dirent *e;

	if (t->crowded && (c.files > LANDLOCK_TREE_CROWD || c.others > LANDLOCK_TREE_CROWD))
		t->crowded(t->arg, path, c.others > LANDLOCK_TREE_CROWD);
	if (c.others > LANDLOCK_TREE_CROWD)
		return walk_known(t, hidden, dirfd(d), path);

	while ((errno = 0, e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    (skip && strcmp(e->d_name, skip) == 0) ||
		    (c.files > LANDLOCK_TREE_CROWD && is_plain(e)))
			continue;
		if (walk_entry(t, hidden, dirfd(d), path, e->d_name, e->d_type) < 0)
			return -1;
	}
	return errno ? error_set(t->err, errno, "Landlock: cannot list %s", path) : 0;
}

/* A directory on the way to something hidden, or the top one that has a name to be left out. */
static int cut_up(const struct landlock_tree *t, const struct path_list *hidden, int dir,
		  const char *path, const char *skip)
{
	CLEANUP_CLOSE int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_DIR DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (t->grant(t->arg, dir, LANDLOCK_TREE_NAMES, path) < 0)
		return -1;
	if (d) {
		(void)take_fd(&fd);
		return walk_listed(t, hidden, d, path, skip);
	}
	if (errno == EACCES)
		return walk_known(t, hidden, dir, path);
	return error_set(t->err, errno, "Landlock: cannot list %s", path);
}

static int walk(const struct landlock_tree *t, const struct path_list *hidden, int dir,
		const char *path)
{
	struct path_list beneath = hidden_beneath(hidden, path);

	if (beneath.n == 0)
		return t->grant(t->arg, dir, LANDLOCK_TREE_WHOLE, path);
	return cut_up(t, &beneath, dir, path, NULL);
}

int landlock_tree_walk(const struct landlock_tree *t, int dir, const char *path)
{
	struct path_list beneath = hidden_beneath(&t->hidden, path);

	if (t->skip)
		return cut_up(t, &beneath, dir, path, t->skip);
	return walk(t, &t->hidden, dir, path);
}
