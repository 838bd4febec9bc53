#include "policy/listfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "policy/hostname.h"

#define BYTES_AN_ENTRY 8 /* no list has shorter lines on average; bounds the reservation */

/* The file being read. */
struct list_reader {
	struct policy *policy;
	enum list list;
	const char *file;
	unsigned line;
};

/* A run of bytes without blanks at either end. */
struct field {
	const char *p;
	size_t n;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Take the next field off @rest; an empty one at the end. */
static struct field next_field(struct field *rest)
{
	struct field f;

	while (rest->n && is_blank(rest->p[0])) {
		rest->p++;
		rest->n--;
	}
	f = (struct field){ rest->p, 0 };
	while (rest->n && !is_blank(rest->p[0])) {
		rest->p++;
		rest->n--;
		f.n++;
	}
	return f;
}

static int add(struct list_reader *r, struct field f, struct error *err)
{
	char text[LISTFILE_LINE_MAX + 1];

	memcpy(text, f.p, f.n);
	text[f.n] = '\0';
	return policy_add(r->policy, r->list, text, r->file, r->line, NULL, err);
}

/* What hosts files call the machine itself and its networks; no entry is meant. */
static bool is_hosts_boilerplate(const struct hostname *h)
{
	static const char *const name[] = { "broadcasthost",  "local",		"ip6-localnet",
					    "ip6-allnodes",   "ip6-allrouters", "ip6-allhosts",
					    "ip6-mcastprefix" };

	for (size_t i = 0; i < ARRAY_SIZE(name); i++)
		if (!strcmp(h->s, name[i]))
			return true;
	return hostname_is_local(h);
}

/* The names of "0.0.0.0 ads.example tracker.example"; some files repeat the address there. */
static int add_hosts_names(struct list_reader *r, struct field rest, struct error *err)
{
	struct field f;

	for (f = next_field(&rest); f.n; f = next_field(&rest)) {
		struct hostname h;
		struct addr a;

		switch (hostname_parse(f.p, f.n, &h, &a)) {
		case HOSTNAME_ADDR:
			continue;
		case HOSTNAME_NAME:
			if (!is_hosts_boilerplate(&h) && add(r, f, err))
				return -1;
			continue;
		case HOSTNAME_BAD:
			break;
		}
		return error_set(err, 0,
				 "a line of a hosts file with something that is no host name");
	}
	return 0;
}

/* An address at the start of a hosts line may have a zone: fe80::1%lo0 */
static bool is_address(struct field f)
{
	const char *zone = memchr(f.p, '%', f.n);
	struct addr a;

	return addr_parse(f.p, zone ? (size_t)(zone - f.p) : f.n, &a);
}

static int parse_line(struct list_reader *r, struct field line, struct error *err)
{
	const char *comment = line.n ? memchr(line.p, '#', line.n) : NULL;
	struct field rest = line, first, second;

	if (rest.n && rest.p[rest.n - 1] == '\r')
		rest.n--;
	if (comment)
		rest.n = (size_t)(comment - rest.p);
	if (rest.n > LISTFILE_LINE_MAX)
		return error_set(err, 0, "longer than %d bytes", LISTFILE_LINE_MAX);
	first = next_field(&rest);
	if (!first.n)
		return 0;
	line = rest;
	second = next_field(&rest);
	if (!second.n)
		return add(r, first, err);
	if (is_address(first))
		return add_hosts_names(r, line, err);
	return error_set(err, 0, "more than one entry; write one a line");
}

static size_t count_lines(const char *p, size_t n)
{
	size_t lines = 1;
	const char *nl;

	while (n && (nl = memchr(p, '\n', n))) {
		n -= (size_t)(nl - p) + 1;
		p = nl + 1;
		lines++;
	}
	return lines;
}

static int parse_lines(struct list_reader *r, struct field rest, struct error *err)
{
	while (rest.n) {
		const char *nl = memchr(rest.p, '\n', rest.n);
		struct field line = { rest.p, nl ? (size_t)(nl - rest.p) : rest.n };
		size_t used = line.n + (nl ? 1 : 0);

		r->line++;
		if (memchr(line.p, '\0', line.n))
			return error_set(err, 0, "a NUL byte; this is no text file");
		if (parse_line(r, line, err))
			return -1;
		rest.p += used;
		rest.n -= used;
	}
	return 0;
}

static int parse_block(struct list_reader *r, const char *text, size_t len, struct error *err)
{
	if (parse_lines(r, (struct field){ text, len }, err))
		return error_wrap(err, "%s:%u", r->file, r->line);
	return 0;
}

/* Length of a byte order mark at the start of the text. */
static size_t mark_len(const char *text, size_t len)
{
	return len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
}

/* Make room for the lines of @total bytes, judging by the first @len of them. */
static void reserve(const struct list_reader *r, const char *text, size_t len, size_t total)
{
	size_t lines = count_lines(text, len);

	if (lines > len / BYTES_AN_ENTRY)
		lines = len / BYTES_AN_ENTRY;
	if (len)
		policy_reserve(r->policy, r->list,
			       (size_t)((double)lines * (double)total / (double)len));
}

int listfile_parse(struct policy *p, enum list list, const char *text, size_t len, const char *file,
		   struct error *err)
{
	struct list_reader r = { .policy = p, .list = list, .file = file };
	size_t mark = mark_len(text, len);

	reserve(&r, text, len, len);
	return parse_block(&r, text + mark, len - mark, err);
}

static size_t file_size(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0)
		return 0;
	return st.st_size < LISTFILE_SIZE_MAX ? (size_t)st.st_size : LISTFILE_SIZE_MAX;
}

/* Bytes up to the last line end, or all where no more will come. */
static size_t whole_lines(const char *buf, size_t n, bool eof)
{
	const char *nl = n && !eof ? memrchr(buf, '\n', n) : NULL;

	return eof ? n : nl ? (size_t)(nl - buf) + 1 : 0;
}

/* In blocks, so that a file of a million names is never in memory beside them. */
int listfile_read(struct policy *p, enum list list, int fd, const char *file, struct error *err)
{
	struct list_reader r = { .policy = p, .list = list, .file = file };
	CLEANUP_FREE char *buf = xmalloc(LISTFILE_BLOCK);
	size_t have = 0, total = 0;
	bool eof = false;

	while (!eof) {
		ssize_t n = fd_read_full(fd, buf + have, LISTFILE_BLOCK - have);
		size_t at = 0, end;

		if (n < 0)
			return error_set(err, errno, "cannot read %s", file);
		eof = (size_t)n < LISTFILE_BLOCK - have;
		have += (size_t)n;
		if (!total) {
			at = mark_len(buf, have);
			reserve(&r, buf, have, eof ? have : file_size(fd));
		}
		total += (size_t)n;
		if (total > LISTFILE_SIZE_MAX)
			return error_set(err, EFBIG, "cannot read %s", file);
		end = whole_lines(buf, have, eof);
		if (end < at || (!end && !eof))
			return error_set(err, 0, "%s:%u: a line without end", file, r.line + 1);
		if (parse_block(&r, buf + at, end - at, err))
			return -1;
		have -= end;
		memmove(buf, buf + end, have);
	}
	if (!total)
		return error_set(err, 0, "%s is empty; a list without entries needs a comment",
				 file);
	return 0;
}

int listfile_load(struct policy *p, enum list list, const char *path, struct error *err)
{
	CLEANUP_CLOSE int fd = fd_open_regular(AT_FDCWD, path, 0, err);

	if (fd < 0)
		return -1;
	return listfile_read(p, list, fd, path, err);
}
