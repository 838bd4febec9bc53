#include "cli/report/learn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/path.h"
#include "base/shellword.h"
#include "base/xalloc.h"
#include "cli/statedir.h"
#include "cli/suffixfile.h"
#include "policy/learnfile.h"
#include "policy/settings.h"
#include "policy/suffix.h"

#define LOCK_TRIES 10

struct learn {
	char *file, *dir, *name;
	int fd, lock; /* of the directory, and of the file as it was, whose lock is ours */
	bool made;    /* that file is ours, and empty */
	char *old;
	struct suffixes *suffixes;
};

static void warn(void *arg, const char *file, unsigned line, const char *text)
{
	(void)arg, (void)file, (void)line, (void)text; /* said when it is used as a policy */
}

static int check(const struct learn *l, size_t len, struct error *err)
{
	struct settings *s = settings_parse(l->old, len, l->file, warn, NULL, err);
	bool own = s && s->shape == SETTINGS_OWN;

	settings_free(s);
	if (s && !own)
		return error_set(err, 0, "'%s' is another program's settings file", l->file);
	return s ? 0 : -1;
}

static int read_old(struct learn *l, struct error *err)
{
	struct error failed;
	size_t len;

	l->old = statedir_read(l->fd, l->name, SETTINGS_FILE_MAX, &len, &failed);
	if (!l->old)
		return error_set(err, failed.code, "cannot read '%s'", l->file);
	if (len > 0)
		return check(l, len, err);
	free(l->old); /* as good as none */
	l->old = NULL;
	return 0;
}

static int open_dir(struct learn *l, struct error *err)
{
	CLEANUP_FREE char *real = NULL;

	if (!*l->name || strcmp(l->name, ".") == 0 || strcmp(l->name, "..") == 0)
		return error_set(err, EISDIR, "'%s' is no file", l->file);
	l->fd = guard_open(l->dir, O_RDONLY | O_DIRECTORY, 0);
	if (l->fd < 0 && errno == ELOOP)
		return error_set(
			err, 0,
			"a symbolic link leads to '%s' that a command of an earlier run may "
			"have left; name what it leads to",
			l->file);
	if (l->fd < 0 || !path_may(l->fd, ".", W_OK))
		return error_set(err, errno, "cannot write '%s'", l->file);
	real = fd_path(l->fd); /* lockdown.c grants it by name */
	if (!real)
		return error_set(err, errno, "cannot tell where '%s' is", l->dir);
	free(l->dir);
	l->dir = take_ptr(real);
	return 0;
}

/* Whether what we have locked is what the name leads to. */
static bool is_current(const struct learn *l)
{
	struct stat ours, named;

	return fstat(l->lock, &ours) == 0 &&
	       fstatat(l->fd, l->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

/*
 * The file is made if it is missing, empty, so that there is something to lock: of two runs that
 * are the first to learn there, one would else lose what the other wrote. A run that ends puts
 * another file in its place, and whoever waited for this one has locked the wrong one: once more.
 */
static int lock_file(struct learn *l, struct error *err)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

	for (int i = 0; i < LOCK_TRIES; i++) {
		cleanup_close(&l->lock);
		l->lock = openat(l->fd, l->name, flags | O_CREAT | O_EXCL, 0666);
		l->made = l->lock >= 0;
		if (l->lock < 0 && errno == EEXIST)
			l->lock = openat(l->fd, l->name, flags);
		if (l->lock < 0 && errno == ENOENT)
			continue;
		if (l->lock < 0)
			return error_set(err, errno, "cannot open '%s'", l->file);
		if (flock(l->lock, LOCK_EX | LOCK_NB) < 0)
			break;
		if (is_current(l))
			return 0;
	}
	l->made = false;
	return error_set(err, 0, "another run learns in '%s'", l->file);
}

struct learn *learn_new(const char *file, struct error *err)
{
	struct learn *l = xcalloc(1, sizeof(*l));
	const char *slash = strrchr(file, '/');

	l->fd = l->lock = -1;
	l->file = xstrdup(file);
	l->name = xstrdup(slash ? slash + 1 : file);
	/* "DIR/." or "./." is a directory wherever it stands */
	l->dir = slash ? xasprintf("%.*s/.", (int)(slash - file), file) : xstrdup(".");
	if (open_dir(l, err) < 0 || lock_file(l, err) < 0 || read_old(l, err) < 0) {
		(void)error_wrap(err, "--learn");
		learn_free(l);
		return NULL;
	}
	l->suffixes = suffixfile_read();
	return l;
}

void learn_free(struct learn *l)
{
	if (!l)
		return;
	if (l->made && is_current(l)) /* nothing was learnt */
		(void)unlinkat(l->fd, l->name, 0);
	cleanup_close(&l->fd);
	cleanup_close(&l->lock);
	free(l->file);
	free(l->dir);
	free(l->name);
	free(l->old);
	suffixes_free(l->suffixes);
	free(l);
}

const char *learn_dir(const struct learn *l)
{
	return l->dir;
}

/* A name that does not resolve is not learnt: nobody knows whose it will be. */
static bool is_needed(const struct tally_row *r)
{
	return r->allow && r->code != CODE_DNS_FAILED && r->target.port != 0 && r->target.host.len;
}

/* The rule that names it is as needed as the one for the name; but localhost is one for both. */
static bool needs_address(const struct tally_row *r)
{
	return r->listed.family != AF_UNSPEC && !hostname_is_local(&r->target.host);
}

static void add(struct learnt *v, size_t *n, const struct target *t, const struct tally_row *r)
{
	size_t i = 0;

	while (i < *n && !target_equal(&v[i].target, t))
		i++;
	if (i == *n)
		v[(*n)++] = (struct learnt){ .target = *t, .first = r->first, .last = r->last };
	if (!v[i].program)
		v[i].program = r->program;
	v[i].is_private |= r->is_private;
	if (r->first < v[i].first)
		v[i].first = r->first;
	if (r->last > v[i].last)
		v[i].last = r->last;
}

static int by_name(const void *a, const void *b)
{
	const struct learnt *x = a, *y = b;
	int c = strcmp(x->target.host.s, y->target.host.s);

	return c ? c : (int)x->target.port - (int)y->target.port;
}

static struct learnt *collect(const struct tally *t, size_t *n)
{
	size_t rows;
	const struct tally_row **row = tally_sorted(t, &rows);
	struct learnt *v = xcalloc(2 * rows + 1, sizeof(*v));
	struct target listed;

	*n = 0;
	for (size_t i = 0; i < rows; i++) {
		if (!is_needed(row[i]))
			continue;
		add(v, n, &row[i]->target, row[i]);
		if (needs_address(row[i])) {
			target_from_addr(&row[i]->listed, row[i]->target.port, &listed);
			add(v, n, &listed, row[i]);
		}
	}
	free(row);
	qsort(v, *n, sizeof(*v), by_name);
	return v;
}

static void propose(void *arg, const char *pattern, size_t count)
{
	const struct learn *l = arg;

	(void)fprintf(stderr, "sbx-net: %zu names in '%s' would be one as \"%s\"\n", count, l->file,
		      pattern);
}

/* The command cannot have it lead elsewhere by now, others can. */
static int check_place(const struct learn *l, struct error *err)
{
	CLEANUP_FREE char *now = fd_path(l->fd);
	struct stat ours, named;

	if (fstatat(l->fd, l->name, &ours, AT_SYMLINK_NOFOLLOW) == 0 &&
	    stat(l->file, &named) == 0 && ours.st_dev == named.st_dev &&
	    ours.st_ino == named.st_ino)
		return 0;
	return error_set(err, 0,
			 "--learn: '%s' was moved or replaced while the run lasted: what stands "
			 "there is not from this run, which has written %s/%s",
			 l->file, now ? now : "(unknown)", l->name);
}

int learn_save(const struct learn *l, const struct tally *t, struct error *err)
{
	size_t n, added;
	CLEANUP_FREE struct learnt *v = collect(t, &n);
	CLEANUP_FREE char *text = learnfile_merge(l->old, v, n, &added, err);

	char word[SHELLWORD_MAX(PATH_MAX)];
	struct stat was;

	if (!text)
		return error_wrap(err, "--learn");
	if (fstat(l->lock, &was) < 0 ||
	    statedir_replace(l->fd, l->name, text, strlen(text), was.st_mode & 0777, err) < 0)
		return error_set(err, err->code, "--learn: cannot write '%s'", l->file);
	if (check_place(l, err) < 0)
		return -1;
	(void)fprintf(stderr, "sbx-net: learnt %zu new of %zu targets; next time: -p %s\n", added,
		      n, shellword(word, sizeof(word), l->file));
	if (tally_sums(t)->left_out)
		(void)fprintf(stderr, "sbx-net: more than %d targets; not all were learnt\n",
			      TALLY_MAX);
	learnfile_propose(v, n, l->suffixes, propose, (void *)(uintptr_t)l);
	return 0;
}
