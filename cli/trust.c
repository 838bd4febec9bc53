#include "cli/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "cli/statedir.h"
#include "launcher/digest.h"

#define TRUST_FILE     "trusted"
#define TRUST_FILE_MAX (1024 * 1024)

/* "DIGEST PATH\n", as a line of the file; NULL for a path with a newline. */
static char *line_of(const char *path, const void *text, size_t len, struct error *err)
{
	char hex[DIGEST_HEX_SIZE];

	if (strchr(path, '\n')) {
		(void)error_set(err, 0, "a path with a newline cannot be trusted");
		return NULL;
	}
	digest_hex(text, len, hex);
	return xasprintf("%s %s\n", hex, path);
}

/* Whether @line stands in @all as a whole line. */
static bool has_line(const char *all, const char *line)
{
	size_t n = strlen(line);

	for (const char *p = all; *p; p = strchr(p, '\n') + 1) {
		if (strncmp(p, line, n) == 0)
			return true;
		if (!strchr(p, '\n'))
			return false;
	}
	return false;
}

int trust_check(const char *path, const void *text, size_t len, struct error *err)
{
	CLEANUP_FREE char *line = line_of(path, text, len, err);
	CLEANUP_CLOSE int dir = -1;
	CLEANUP_FREE char *all = NULL;
	struct error missing;
	size_t have;

	/* Without a state directory nothing has been trusted. */
	if (!line)
		return -1;
	dir = statedir_open(false, &missing);
	if (dir < 0)
		return 0;
	all = statedir_read(dir, TRUST_FILE, TRUST_FILE_MAX, &have, &missing);
	if (!all && missing.code == ENOENT)
		return 0;
	if (!all) {
		*err = missing;
		return -1;
	}
	return has_line(all, line);
}

/* @all without the lines of @path. The caller frees. */
static char *without(const char *all, const char *path)
{
	char *out = xcalloc(strlen(all) + 1, 1);
	size_t n = strlen(path), o = 0;

	while (*all) {
		const char *end = strchr(all, '\n');
		size_t len = end ? (size_t)(end - all) + 1 : strlen(all);

		if (len != DIGEST_HEX_SIZE + n + 1 ||
		    strncmp(all + DIGEST_HEX_SIZE, path, n) != 0) {
			memcpy(out + o, all, len);
			o += len;
		}
		all += len;
	}
	return out;
}

int trust_remember(const char *path, const void *text, size_t len, struct error *err)
{
	CLEANUP_FREE char *line = line_of(path, text, len, err);
	CLEANUP_CLOSE int dir = line ? statedir_open(true, err) : -1;
	CLEANUP_CLOSE int lock = dir >= 0 ? statedir_lock(dir, err) : -1;
	CLEANUP_FREE char *all = NULL, *kept = NULL, *next = NULL;
	struct error missing;
	size_t have;

	if (lock < 0)
		return -1;
	all = statedir_read(dir, TRUST_FILE, TRUST_FILE_MAX, &have, &missing);
	if (!all && missing.code != ENOENT)
		return error_set(err, 0, "%s", missing.msg);
	kept = without(all ? all : "", path);
	next = xasprintf("%s%s", kept, line);
	return statedir_replace(dir, TRUST_FILE, next, strlen(next), 0600, err);
}
