/*
 * Theory of operation
 *
 * A reference is known as a line of packed-refs has it, by its object and its name: git pack-refs may have
 * moved the user's own from one place to the other.
 */
#include "launcher/files/gitreplace.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/xalloc.h"

#define TEXT_MAX (64 * 1024 * 1024)
#define REPLACED " refs/replace/"
#define SHOWS	 "git would show another object by it in the place of one:"

/* NULL if there is none, or at the start, if it may be another run's. */
static char *read_refs(const struct gitvisit_known *g, const struct gitvisit *v, int dir,
		       const char *name, size_t *n)
{
	CLEANUP_CLOSE int fd = fd_open_regular(dir, name, O_NOFOLLOW, &(struct error){ 0 });
	struct stat st;

	if (fd < 0 || (v->task != GITVISIT_SWEEP &&
		       (fstat(fd, &st) < 0 || !gitvisit_is_older(g, st.st_ctim))))
		return NULL;
	return gitvisit_read_all(v, fd, TEXT_MAX, n);
}

static bool is_known(struct gitvisit_known *g, const struct gitvisit *v, const char *line, size_t n)
{
	if (v->task != GITVISIT_SWEEP)
		gitseen_add(&g->seen, GITSEEN_REPLACED, "", line, n);
	return gitseen_has(&g->seen, GITSEEN_REPLACED, "", line, n);
}

void gitreplace_loose(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *name,
		      const char *at, const char *within)
{
	size_t n;
	CLEANUP_FREE char *text = read_refs(g, v, dir, name, &n);
	CLEANUP_FREE char *line = NULL;
	bool known = false;

	if (text) {
		text[strcspn(text, "\n")] = '\0';
		line = xasprintf("%s %s", text, within);
		known = is_known(g, v, line, strlen(line));
	}
	if (!known || v->task == GITVISIT_WARN)
		gitvisit_deal(v, dir, name, at, SHOWS, text ? text : "");
}

static bool is_replaced(const char *line, size_t n)
{
	const char *blank = memchr(line, ' ', n);

	return blank && (size_t)(line + n - blank) > strlen(REPLACED) &&
	       strncmp(blank, REPLACED, strlen(REPLACED)) == 0;
}

/* Takes the new ones out. A line that begins with "^" goes with the one before. Return: what is left. */
static size_t filter(struct gitvisit_known *g, const struct gitvisit *v, const char *at, char *text,
		     size_t n)
{
	char *out = text;
	bool taken = false;

	for (char *p = text, *end = text + n; p < end;) {
		char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((eol ? eol : end) - p), whole = len + (eol ? 1 : 0);
		CLEANUP_FREE char *line = NULL;

		if (p[0] != '^')
			taken = is_replaced(p, len) && !is_known(g, v, p, len);
		if (taken && p[0] != '^') {
			line = xstrndup(p, len);
			v->say(v->arg, at, SHOWS, line,
			       GITVISIT_GONE "the line has been taken out");
		}
		if (!taken) {
			memmove(out, p, whole);
			out += whole;
		}
		p += whole;
	}
	return (size_t)(out - text);
}

void gitreplace_packed(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *at)
{
	const char *name = GITREPLACE_PACKED;
	struct gitvisit_identity id;
	size_t n = 0, left;
	CLEANUP_FREE char *text = NULL;

	if (v->task == GITVISIT_SWEEP && gitvisit_identify(g, dir, name, &id) &&
	    gitvisit_is_still(g, v, GITSEEN_FORM, at, &id))
		return;
	text = read_refs(g, v, dir, name, &n);
	if (!text || !memmem(text, n, REPLACED, strlen(REPLACED)))
		return;
	left = filter(g, v, at, text, n);
	if (v->task == GITVISIT_SWEEP && left < n && gitvisit_replace(dir, name, text, left) < 0)
		gitvisit_put_away(v, dir, name, at, SHOWS, "");
}
