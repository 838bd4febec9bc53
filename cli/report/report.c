#include "cli/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/fdname.h"
#include "base/guard.h"
#include "base/xalloc.h"

/* @append: a file of that format is added to, not replaced */
static const struct format {
	const char *name;
	report_writer *write;
	bool append;
} formats[] = {
	{ "text", report_text, false },	  { "markdown", report_markdown, true },
	{ "json", report_json, false },	  { "junit", report_junit, false },
	{ "sarif", report_sarif, false },
};

struct reports {
	const char *const *v;
	size_t n;
	struct sink {
		int fd;	       /* -1: standard error */
		bool replaces; /* what the file held before */
	} * sink;
};

static const struct format *find(const char *value)
{
	size_t n = strcspn(value, ":");

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strlen(formats[i].name) == n && memcmp(formats[i].name, value, n) == 0)
			return &formats[i];
	}
	return NULL;
}

const char *report_file(const char *value)
{
	const char *colon = strchr(value, ':');

	return colon ? colon + 1 : NULL;
}

int report_check(const char *value, struct error *err)
{
	const char *file = report_file(value);

	if (!find(value) || (file && !*file))
		return error_set(err, 0,
				 "knows text, markdown, json, junit and sarif, each with :FILE or "
				 "without");
	return file ? fdname_check(file, err) : 0;
}

void report_write(const char *value, const struct tally *t, const char *command, const char *place,
		  FILE *out)
{
	struct report r = { .command = command, .place = place, .sums = *tally_sums(t) };
	const struct tally_row **row = tally_sorted(t, &r.n);

	r.row = row;
	find(value)->write(&r, out);
	free(row);
}

static int open_file(const char *file, int flags, struct error *err)
{
	int fd = guard_open(file, O_WRONLY | O_CREAT | O_NOCTTY | O_NONBLOCK | flags, 0666);

	if (fd < 0 && errno == ELOOP)
		return error_set(err, 0,
				 "the report '%s' is a symbolic link, or one leads there that an "
				 "earlier run may have left; name what it leads to",
				 file);
	return fd < 0 ? error_set(err, errno, "cannot write the report '%s'", file) : fd;
}

/* A descriptor of the caller's is written where it stands: the command's output may be before it. */
static int open_sink(struct sink *s, const char *value, struct error *err)
{
	const char *file = report_file(value);
	bool append = find(value)->append;

	*s = (struct sink){ .fd = -1 };
	if (!file)
		return 0;
	if (fdname_is(file)) {
		s->fd = fdname_open(file, "the report", err);
	} else {
		s->fd = open_file(file, append ? O_APPEND : 0, err);
		s->replaces = !append;
	}
	return s->fd < 0 ? -1 : 0;
}

struct reports *reports_open(const char *const *v, size_t n, struct error *err)
{
	struct reports *r = xcalloc(1, sizeof(*r));

	r->v = v;
	r->sink = xcalloc(n + 1, sizeof(*r->sink));
	for (; r->n < n; r->n++) {
		if (open_sink(&r->sink[r->n], v[r->n], err) < 0) {
			reports_free(r);
			return NULL;
		}
	}
	return r;
}

void reports_free(struct reports *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		cleanup_close(&r->sink[i].fd);
	free(r->sink);
	free(r);
}

/* A report is made in memory: what cannot be written whole is an error, not half a document. */
static int put(const struct sink *s, const char *text, size_t len)
{
	struct stat st;

	if (s->replaces && fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode) && ftruncate(s->fd, 0) < 0)
		return -1;
	return fd_write_all(s->fd < 0 ? STDERR_FILENO : s->fd, text, len);
}

/* What stands where the report was opened is what we have written: the command cannot, others can. */
static int check_place(const char *value, int fd, struct error *err)
{
	const char *file = report_file(value);
	CLEANUP_FREE char *now = NULL;
	struct stat ours, named;

	if (!file || fdname_is(file) || fstat(fd, &ours) < 0 || !S_ISREG(ours.st_mode))
		return 0;
	if (stat(file, &named) == 0 && named.st_dev == ours.st_dev && named.st_ino == ours.st_ino)
		return 0;
	now = ours.st_nlink > 0 ? fd_path(fd) : NULL;
	return error_set(
		err, 0,
		"the report '%s' was moved, replaced or removed while the run lasted: what "
		"stands there is not from this run%s%s",
		file, now ? "; it is now " : "", now ? now : "");
}

int reports_write(const struct reports *r, const struct tally *t, const char *command,
		  const char *place, struct error *err)
{
	for (size_t i = 0; i < r->n; i++) {
		CLEANUP_FREE char *text = NULL;
		size_t len;
		FILE *out = open_memstream(&text, &len);

		if (!out)
			return error_set(err, errno, "cannot write a report");
		report_write(r->v[i], t, command, place, out);
		if (fclose(out) != 0 || put(&r->sink[i], text, len) < 0)
			return error_set(err, errno, "cannot write the report '%s'", r->v[i]);
		if (check_place(r->v[i], r->sink[i].fd, err) < 0)
			return -1;
	}
	return 0;
}

const char *report_outcome(const struct tally_row *row)
{
	if (!row->allow)
		return "refused";
	return row->code == CODE_OK ? "allowed" : "failed";
}

const char *report_target(const struct tally_row *row, char out[TARGET_TEXT_MAX])
{
	if (row->target.host.len)
		return target_format(&row->target, out);
	(void)snprintf(out, TARGET_TEXT_MAX, "(no valid target)");
	return out;
}

const char *report_bytes(uint64_t n, char out[REPORT_BYTES_MAX])
{
	static const char *const unit[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	double d = (double)n;
	size_t i = 0;

	while (d >= 999.5 && i + 1 < ARRAY_SIZE(unit)) {
		d /= 1000;
		i++;
	}
	if (n == 0)
		(void)snprintf(out, REPORT_BYTES_MAX, "-");
	else
		(void)snprintf(out, REPORT_BYTES_MAX, "%.*f %s", i && d < 99.95 ? 1 : 0, d,
			       unit[i]);
	return out;
}

void report_escaped(const char *text, FILE *out)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			(void)fputs("&amp;", out);
			break;
		case '<':
			(void)fputs("&lt;", out);
			break;
		case '>':
			(void)fputs("&gt;", out);
			break;
		case '"':
			(void)fputs("&quot;", out);
			break;
		default: /* XML has no way to write a control byte, Markdown no use for one */
			if (*text < ' ' || *text > '~')
				(void)fputc('?', out);
			else
				(void)fputc(*text, out);
		}
	}
}

void report_quoted(const char *text, FILE *out)
{
	(void)fputc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			(void)fprintf(out, "\\%c", c);
		else if (c < ' ' || c > '~')
			(void)fprintf(out, "\\u%04x", c);
		else
			(void)fputc(c, out);
	}
	(void)fputc('"', out);
}
