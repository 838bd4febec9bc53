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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "launcher/files/mountplan.h"

#define LISTING_STEP (32 * 1024)
#define PILE_MAX     16

/** struct pile - descriptors that are closed together: a call for each would be a third more */
struct pile {
	int fd[PILE_MAX]; /* ascending: each was the lowest that was free */
	size_t n;
};

/**
 * struct listing - the names in a directory, read once: readdir(3) would cost six calls more
 * @v: struct dirent64, one after another; no plain files beyond a crowd of them
 * @files, @others: how many there are: plain files, and what programs look for by its name
 */
struct listing {
	char *v;
	size_t len, size;
	unsigned files, others;
};

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

static int compare(const void *key, const void *entry)
{
	return strcmp(key, *(char *const *)entry);
}

static bool is_hidden(const struct path_list *hidden, const char *path)
{
	return hidden->n && bsearch(path, hidden->v, hidden->n, sizeof(*hidden->v), compare);
}

/* Without printf(3): there are hundreds of them. */
static char *path_of(const char *dir, const char *name)
{
	size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir), len = strlen(name);
	char *path = xmalloc(n + len + 2);

	memcpy(path, dir, n);
	path[n] = '/';
	memcpy(path + n + 1, name, len + 1);
	return path;
}

/* An older kernel, or an outer filter, has no close_range(2). */
static void close_row(int first, int last)
{
	if (syscall(SYS_close_range, (unsigned)first, (unsigned)last, 0) == 0)
		return;
	for (int fd = first; fd <= last; fd++)
		(void)close(fd);
}

static void pile_close(struct pile *p)
{
	size_t first = 0;

	for (size_t i = 1; i <= p->n; i++) {
		if (i < p->n && p->fd[i] == p->fd[i - 1] + 1)
			continue;
		close_row(p->fd[first], p->fd[i - 1]);
		first = i;
	}
	p->n = 0;
}

static void pile_add(struct pile *p, int fd)
{
	if (p->n == PILE_MAX)
		pile_close(p);
	p->fd[p->n++] = fd;
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

static int cut_up(const struct landlock_tree *t, const struct path_list *hidden, int dir,
		  const char *path, const char *skip);

/* The pile must not be what brings a low limit of descriptors to its end. */
static int open_entry(int dir, const char *name, struct pile *pile)
{
	const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir, name, flags);

	if (fd >= 0 || errno != EMFILE || pile->n == 0)
		return fd;
	pile_close(pile);
	return openat(dir, name, flags);
}

/* Descriptors of what has nothing hidden in it go on the pile, which is closed before a way down. */
static int walk_entry(const struct landlock_tree *t, const struct path_list *hidden, int dir,
		      const char *path, const char *name, unsigned char type, struct pile *pile)
{
	CLEANUP_FREE char *child = path_of(path, name);
	CLEANUP_CLOSE int fd = -1;
	struct path_list beneath;
	int rc;

	if (type == DT_LNK || is_hidden(hidden, child))
		return 0;
	fd = open_entry(dir, name, pile);
	if (fd < 0 && (errno == ENOENT || errno == EACCES))
		return 0; /* gone; somebody else's FUSE: nothing is granted */
	if (fd < 0)
		return error_set(t->err, errno, "Landlock: cannot open %s", child);
	type = type_of(fd, type);
	if (type == DT_LNK)
		return 0;
	beneath = hidden_beneath(hidden, child);
	if (type == DT_DIR && beneath.n > 0) {
		pile_close(pile);
		return cut_up(t, &beneath, fd, child, NULL);
	}
	rc = t->grant(t->arg, fd, type == DT_DIR ? LANDLOCK_TREE_WHOLE : LANDLOCK_TREE_FILE, child);
	pile_add(pile, take_fd(&fd));
	return rc;
}

/* The next names on the way to what is hidden; each once, since they are sorted. */
static int walk_known(const struct landlock_tree *t, const struct path_list *hidden, int dir,
		      const char *path)
{
	size_t skip = strcmp(path, "/") == 0 ? 1 : strlen(path) + 1;
	char name[NAME_MAX + 1], last[NAME_MAX + 1] = "";
	struct pile pile = { .n = 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < hidden->n; i++) {
		const char *rest = hidden->v[i] + skip;
		size_t n = strcspn(rest, "/");

		if (n > NAME_MAX)
			continue;
		memcpy(name, rest, n);
		name[n] = '\0';
		if (strcmp(name, last) != 0)
			rc = walk_entry(t, hidden, dir, path, name, DT_UNKNOWN, &pile);
		strcpy(last, name);
	}
	pile_close(&pile);
	return rc;
}

static bool is_plain(const struct dirent64 *e)
{
	return e->d_type != DT_DIR && e->d_type != DT_UNKNOWN && e->d_name[0] != '.';
}

static struct dirent64 *entry_at(const struct listing *l, size_t at)
{
	return (struct dirent64 *)(void *)(l->v + at);
}

/* Counts the @n bytes that have come, and closes the gaps of what need not be kept. */
static void take(struct listing *l, size_t n)
{
	size_t len;

	for (size_t at = l->len, end = l->len + n; at < end; at += len) {
		const struct dirent64 *e = entry_at(l, at);
		bool plain = is_plain(e);

		len = e->d_reclen;
		l->files += plain;
		l->others += !plain;
		if (plain && l->files > LANDLOCK_TREE_CROWD)
			continue;
		if (at != l->len)
			memmove(l->v + l->len, e, len);
		l->len += len;
	}
}

/* Ends early with too much to list. */
static int read_listing(int dir, struct listing *l)
{
	*l = (struct listing){ .size = LISTING_STEP, .v = xmalloc(LISTING_STEP) };
	while (l->others <= LANDLOCK_TREE_CROWD) {
		ssize_t n;

		if (l->size - l->len < LISTING_STEP / 2) {
			l->size += LISTING_STEP;
			l->v = xreallocarray(l->v, l->size, 1);
		}
		n = getdents64(dir, l->v + l->len, l->size - l->len);
		if (n <= 0) /* a directory that has been removed has no names */
			return n == 0 || errno == ENOENT ? 0 : -1;
		take(l, (size_t)n);
	}
	return 0;
}

static int walk_names(const struct landlock_tree *t, const struct path_list *hidden, int dir,
		      const char *path, const char *skip, const struct listing *l)
{
	struct pile pile = { .n = 0 };
	size_t len;
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < l->len; at += len) {
		const struct dirent64 *e = entry_at(l, at);

		len = e->d_reclen;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    (skip && strcmp(e->d_name, skip) == 0) ||
		    (l->files > LANDLOCK_TREE_CROWD && is_plain(e)))
			continue;
		rc = walk_entry(t, hidden, dir, path, e->d_name, e->d_type, &pile);
	}
	pile_close(&pile);
	return rc;
}

static int walk_listed(const struct landlock_tree *t, const struct path_list *hidden, int dir,
		       const char *path, const char *skip)
{
	struct listing l;
	int rc = read_listing(dir, &l);

	if (rc < 0)
		error_set(t->err, errno, "Landlock: cannot list %s", path);
	else if (t->crowded && (l.files > LANDLOCK_TREE_CROWD || l.others > LANDLOCK_TREE_CROWD))
		t->crowded(t->arg, path, l.others > LANDLOCK_TREE_CROWD);
	if (rc == 0)
		rc = l.others > LANDLOCK_TREE_CROWD ? walk_known(t, hidden, dir, path)
						    : walk_names(t, hidden, dir, path, skip, &l);
	free(l.v);
	return rc;
}

/* A directory on the way to something hidden, or the top one that has a name to be left out. */
static int cut_up(const struct landlock_tree *t, const struct path_list *hidden, int dir,
		  const char *path, const char *skip)
{
	CLEANUP_CLOSE int fd = -1;

	if (t->grant(t->arg, dir, LANDLOCK_TREE_NAMES, path) < 0)
		return -1;
	fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return walk_listed(t, hidden, fd, path, skip);
	if (errno == EACCES)
		return walk_known(t, hidden, dir, path);
	return error_set(t->err, errno, "Landlock: cannot list %s", path);
}

int landlock_tree_walk(const struct landlock_tree *t, int dir, const char *path)
{
	struct path_list beneath = hidden_beneath(&t->hidden, path);

	if (!t->skip && beneath.n == 0)
		return t->grant(t->arg, dir, LANDLOCK_TREE_WHOLE, path);
	return cut_up(t, &beneath, dir, path, t->skip);
}
