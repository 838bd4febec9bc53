#include "cli/searchlist.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/reader.h"
#include "base/xalloc.h"

#define RESOLV_CONF_MAX (64 * 1024)
#define SUFFIXES_MAX	32
#define RECENT_MAX	32 /* names remembered; a program seldom looks up more at once */

/* A name that was asked for, and when. */
struct asked {
	struct hostname name;
	uint64_t at;
};

struct searchlist {
	struct hostname suffix[SUFFIXES_MAX];
	size_t nsuffix;
	unsigned ndots;
	struct asked recent[RECENT_MAX];
	size_t next;
	bool twin; /* the last question was the second for its name */
};

static void add_suffix(struct searchlist *s, const char *p, size_t n)
{
	struct addr a;

	if (s->nsuffix < SUFFIXES_MAX &&
	    hostname_parse(p, n, &s->suffix[s->nsuffix], &a) == HOSTNAME_NAME)
		s->nsuffix++;
}

/* "options ... ndots:N" */
static void read_options(struct searchlist *s, const char *p, size_t n)
{
	const char *at = memmem(p, n, "ndots:", 6);
	uint64_t dots;

	if (at && at + 6 < p + n && reader_decimal(at + 6, strspn(at + 6, "0123456789"), 15, &dots))
		s->ndots = (unsigned)dots;
}

/* The last of `search` and `domain` counts, as in resolv.conf(5). */
static void read_line(struct searchlist *s, const char *p, size_t n)
{
	size_t word = 0;

	while (word < n && p[word] != ' ' && p[word] != '\t')
		word++;
	if (word == 7 && memcmp(p, "options", 7) == 0)
		read_options(s, p, n);
	if (word != 6 || (memcmp(p, "search", 6) != 0 && memcmp(p, "domain", 6) != 0))
		return;
	s->nsuffix = 0;
	for (size_t i = word; i < n;) {
		size_t start;

		while (i < n && (p[i] == ' ' || p[i] == '\t'))
			i++;
		start = i;
		while (i < n && p[i] != ' ' && p[i] != '\t')
			i++;
		if (i > start)
			add_suffix(s, p + start, i - start);
	}
}

struct searchlist *searchlist_new(const char *resolv_conf)
{
	struct searchlist *s = xcalloc(1, sizeof(*s));
	CLEANUP_CLOSE int fd = fd_open_regular(AT_FDCWD, resolv_conf, 0, NULL);
	CLEANUP_FREE char *text = NULL;
	size_t len = 0;

	s->ndots = 1;

	if (fd >= 0)
		text = fd_read_file(fd, RESOLV_CONF_MAX, &len);
	for (size_t i = 0; text && i < len;) {
		const char *end = memchr(text + i, '\n', len - i);
		size_t n = end ? (size_t)(end - text) - i : len - i;

		read_line(s, text + i, n);
		i += n + 1;
	}
	return s;
}

void searchlist_free(struct searchlist *s)
{
	free(s);
}

static const struct asked *find(const struct searchlist *s, const char *p, size_t n, uint64_t now)
{
	for (size_t i = 0; i < RECENT_MAX; i++) {
		const struct asked *a = &s->recent[i];

		if (a->name.len == n && n && memcmp(a->name.s, p, n) == 0 &&
		    now - a->at <= SEARCHLIST_MOMENT_MS)
			return a;
	}
	return NULL;
}

/* The length of what stands before the suffix, or 0. */
static size_t base_length(const struct hostname *name, const struct hostname *suffix)
{
	size_t cut = (size_t)suffix->len + 1;

	if (name->len <= cut || name->s[name->len - cut] != '.' ||
	    memcmp(name->s + name->len - cut + 1, suffix->s, suffix->len) != 0)
		return 0;
	return name->len - cut;
}

bool searchlist_is_expansion(const struct searchlist *s, const struct hostname *name,
			     uint64_t now_ms)
{
	for (size_t i = 0; i < s->nsuffix; i++) {
		if (find(s, name->s, base_length(name, &s->suffix[i]), now_ms))
			return true;
	}
	return false;
}

static bool is_longer(const struct searchlist *s, const struct hostname *name,
		      const struct hostname *base)
{
	for (size_t i = 0; i < s->nsuffix; i++) {
		if (base->len && base_length(name, &s->suffix[i]) == base->len &&
		    memcmp(name->s, base->s, base->len) == 0)
			return true;
	}
	return false;
}

bool searchlist_is_same(const struct searchlist *s, const struct hostname *name,
			const struct hostname *base)
{
	return hostname_equal(name, base) || is_longer(s, name, base) || is_longer(s, base, name);
}

static bool has_suffix(const struct searchlist *s, const struct hostname *name)
{
	for (size_t i = 0; i < s->nsuffix; i++) {
		if (base_length(name, &s->suffix[i]))
			return true;
	}
	return false;
}

enum searchlist_kind searchlist_ask(struct searchlist *s, const struct hostname *name,
				    uint64_t now_ms)
{
	const struct asked *last = &s->recent[(s->next + RECENT_MAX - 1) % RECENT_MAX];
	bool same = hostname_equal(&last->name, name) && now_ms - last->at <= SEARCHLIST_MOMENT_MS;

	s->twin = same && !s->twin;
	if (s->twin)
		return SEARCHLIST_MADE_UP;
	s->recent[s->next] = (struct asked){ .name = *name, .at = now_ms };
	s->next = (s->next + 1) % RECENT_MAX;
	if (searchlist_is_expansion(s, name, now_ms))
		return SEARCHLIST_MADE_UP;
	return has_suffix(s, name) ? SEARCHLIST_UNSURE : SEARCHLIST_PLAIN;
}

static unsigned count_dots(const char *p, size_t n)
{
	unsigned dots = 0;

	for (size_t i = 0; i < n; i++)
		dots += p[i] == '.';
	return dots;
}

/* Whether the name itself was tried with a suffix just now: then it is what the program meant. */
static bool was_expanded(const struct searchlist *s, const struct hostname *name, uint64_t now_ms)
{
	char longer[2 * HOSTNAME_MAX + 2];

	for (size_t i = 0; i < s->nsuffix; i++) {
		int n = snprintf(longer, sizeof(longer), "%s.%s", name->s, s->suffix[i].s);

		if (find(s, longer, (size_t)n, now_ms))
			return true;
	}
	return false;
}

bool searchlist_base(const struct searchlist *s, const struct hostname *name, struct hostname *base)
{
	for (size_t i = 0; i < s->nsuffix; i++) {
		size_t n = base_length(name, &s->suffix[i]);
		unsigned dots = count_dots(name->s, n);

		if (dots == 0 || dots >= s->ndots)
			continue;
		*base = (struct hostname){ .len = (uint8_t)n };
		memcpy(base->s, name->s, n);
		return true;
	}
	return false;
}

bool searchlist_is_guess(const struct searchlist *s, const struct hostname *name, uint64_t now_ms)
{
	struct hostname base;

	return searchlist_base(s, name, &base) && !was_expanded(s, name, now_ms);
}
