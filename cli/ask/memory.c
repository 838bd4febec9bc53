#include "cli/ask/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/fdreserve.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/statedir.h"

#define MEMORY_FILE	"answers"
#define MEMORY_FILE_MAX (16 * 1024 * 1024)

char *memory_path(struct error *err)
{
	CLEANUP_FREE char *dir = statedir_path(err);

	return dir ? xasprintf("%s/%s", dir, MEMORY_FILE) : NULL;
}

int64_t memory_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec;
}

/* The text of the file, "" if there is none, and its length; NULL with @err. */
static char *read_all(int dir, size_t *len, struct error *err)
{
	struct error failed;
	char *text = statedir_read(dir, MEMORY_FILE, MEMORY_FILE_MAX, len, &failed);

	if (!text && failed.code == ENOENT) {
		*len = 0;
		return xstrdup("");
	}
	if (!text)
		*err = failed;
	return text;
}

/*
 * Copies the lines of @text for which @drop says no to @out, if there is one; *outlen is then their
 * length. A line that is no answer stays, with whatever is in it: a file that was not written whole
 * may have NUL bytes. Return: how many were dropped.
 */
static long filter(const char *text, size_t len, memory_visit *drop, void *arg, char *out,
		   size_t *outlen)
{
	const char *stop = text + len;
	struct grant *g = xcalloc(1, sizeof(*g));
	unsigned number = 0;
	long dropped = 0;
	char *put = out;

	while (text < stop) {
		const char *end = memchr(text, '\n', (size_t)(stop - text));
		size_t n = (size_t)((end ? end : stop) - text);
		struct error err;
		bool bad = grant_parse(text, n, g, &err) < 0;

		number++;
		if (bad && n)
			log_warn("line %u of the remembered answers is ignored: %s", number,
				 err.msg);
		if (!bad && drop(arg, g)) {
			dropped++;
		} else if (put && n) {
			memcpy(put, text, n);
			put[n] = '\n';
			put += n + 1;
		}
		text += n + (end != NULL);
	}
	if (put)
		*outlen = (size_t)(put - out);
	free(g);
	return dropped;
}

/* What is added, and for which project. */
struct loading {
	struct grants *grants;
	const char *project;
	bool full;
};

static bool load_one(void *arg, const struct grant *g)
{
	struct loading *l = arg;

	if (g->scope == GRANT_PROJECT && strcmp(g->project, l->project) != 0)
		return false;
	if (grant_is_over(g, memory_now()))
		return false;
	if (!grants_add(l->grants, g))
		l->full = true;
	return false;
}

/* Without the directory nothing is remembered: 0; otherwise -1 with @err. */
static int no_directory(const struct error *missing, struct error *err)
{
	if (missing->code == ENOENT)
		return 0;
	*err = *missing;
	return -1;
}

int memory_load(struct grants *g, const char *project, struct error *err)
{
	struct loading l = { .grants = g, .project = project };

	if (memory_each(load_one, &l, err) < 0)
		return -1;
	if (l.full)
		log_warn("more than %d remembered answers; the last ones are ignored", GRANTS_MAX);
	return 0;
}

static int read_each(memory_visit *visit, void *arg, struct error *err)
{
	struct error missing;
	CLEANUP_CLOSE int dir = statedir_open(false, &missing);
	CLEANUP_FREE char *text = NULL;
	size_t len;

	if (dir < 0)
		return no_directory(&missing, err);
	text = read_all(dir, &len, err);
	if (!text)
		return -1;
	(void)filter(text, len, visit, arg, NULL, NULL);
	return 0;
}

/* A remembered no must not be lost because the command has taken every descriptor. */
int memory_each(memory_visit *visit, void *arg, struct error *err)
{
	int rc;

	fdreserve_lend();
	rc = read_each(visit, arg, err);
	fdreserve_back();
	return rc;
}

/* Replaces the file by what @drop leaves and @line. Return: how many were dropped, or -1. */
static long replace(memory_visit *drop, void *arg, const char *line, struct error *err)
{
	CLEANUP_CLOSE int dir = statedir_open(true, err);
	CLEANUP_CLOSE int lock = dir < 0 ? -1 : statedir_lock(dir, err);
	size_t len, n, more = strlen(line);
	CLEANUP_FREE char *text = lock < 0 ? NULL : read_all(dir, &len, err);
	CLEANUP_FREE char *next = NULL;
	long dropped;

	if (!text)
		return -1;
	next = xmalloc(len + 1 + more);
	dropped = filter(text, len, drop, arg, next, &n);
	memcpy(next + n, line, more);
	n += more;
	if (n == len && memcmp(next, text, n) == 0)
		return dropped;
	if (statedir_replace(dir, MEMORY_FILE, next, n, 0600, err) < 0)
		return -1;
	return dropped;
}

/* As above. */
static long rewrite(memory_visit *drop, void *arg, const char *line, struct error *err)
{
	long dropped;

	fdreserve_lend();
	dropped = replace(drop, arg, line, err);
	fdreserve_back();
	return dropped;
}

/* Whether an answer is out of date: replaced by the new one, or over. */
static bool is_stale(void *arg, const struct grant *g)
{
	const struct grant *next = arg;

	if (g->until && g->until <= next->when)
		return true;
	return g->scope == next->scope && strcmp(g->pattern, next->pattern) == 0 &&
	       strcmp(g->project, next->project) == 0;
}

int memory_save(const struct grant *grant, struct error *err)
{
	CLEANUP_FREE char *line = xcalloc(1, GRANT_LINE_MAX + 1);
	struct grant copy = *grant;

	if (grant_format(grant, line) == 0)
		return error_set(err, 0, "the answer is too long to be saved");
	return rewrite(is_stale, &copy, line, err) < 0 ? -1 : 0;
}

long memory_forget(memory_visit *visit, void *arg, struct error *err)
{
	struct error missing;
	CLEANUP_CLOSE int dir = statedir_open(false, &missing);

	if (dir < 0)
		return no_directory(&missing, err);
	return rewrite(visit, arg, "", err);
}
