#include "dns/hostsfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/xalloc.h"

#define NONE UINT32_MAX

/**
 * struct pair - one name of one line
 * @name: offset of its text in the table's names
 * @next: the next pair of the same bucket, in file order, or NONE: by the name, and by the address
 */
struct pair {
	struct addr addr;
	uint8_t len;
	uint32_t name;
	uint32_t next[2];
};

enum { BY_NAME, BY_ADDR };

/** struct chains - first and last pair of each bucket, or NONE */
struct chains {
	uint32_t *heads, *tails;
};

/**
 * struct table - the contents of one reading
 * @names: texts of all names, one after the other, not terminated
 * @by: where each name, and each address, is found
 * @mask: number of buckets less one
 */
struct table {
	char *names;
	size_t names_len, names_cap;
	struct pair *pairs;
	size_t n, cap;
	struct chains by[2];
	size_t mask;
};

/**
 * struct hostsfile - a table and the file it was read from
 * @path: NULL for text without a file
 * @seen: the file's identity at the last reading; st_ino 0 when there was none
 */
struct hostsfile {
	char *path;
	struct stat seen;
	struct hash_key key;
	struct table table;
};

static void table_clear(struct table *t)
{
	free(t->names);
	free(t->pairs);
	for (size_t i = 0; i < ARRAY_SIZE(t->by); i++) {
		free(t->by[i].heads);
		free(t->by[i].tails);
	}
	*t = (struct table){ 0 };
}

static int table_add(struct table *t, const struct hostname *name, const struct addr *a)
{
	if (t->n >= HOSTSFILE_ENTRIES_MAX)
		return -1;
	t->pairs = xgrow(t->pairs, &t->cap, t->n + 1, 16, sizeof(*t->pairs));
	t->names = xgrow(t->names, &t->names_cap, t->names_len + name->len, 1024, 1);
	memcpy(t->names + t->names_len, name->s, name->len);
	t->pairs[t->n++] = (struct pair){
		.addr = *a, .len = name->len, .name = (uint32_t)t->names_len, .next = { NONE, NONE }
	};
	t->names_len += name->len;
	return 0;
}

static size_t bucket_of_addr(const struct table *t, const struct hash_key *key,
			     const struct addr *a)
{
	return hash_bytes(key, a->bytes, a->family == AF_INET ? 4 : sizeof(a->bytes)) & t->mask;
}

static void chain(struct table *t, int by, size_t bucket, uint32_t i)
{
	struct chains *c = &t->by[by];

	if (c->heads[bucket] == NONE)
		c->heads[bucket] = i;
	else
		t->pairs[c->tails[bucket]].next[by] = i;
	c->tails[bucket] = i;
}

/* Buckets are made once the number of pairs is known; appending keeps the order of the file. */
static void table_index(struct table *t, const struct hash_key *key)
{
	size_t buckets = 16;

	while (buckets < t->n)
		buckets *= 2;
	t->mask = buckets - 1;
	for (size_t i = 0; i < ARRAY_SIZE(t->by); i++) {
		t->by[i].heads = xmalloc(buckets * sizeof(*t->by[i].heads));
		t->by[i].tails = xmalloc(buckets * sizeof(*t->by[i].tails));
		memset(t->by[i].heads, 0xff, buckets * sizeof(*t->by[i].heads));
		memset(t->by[i].tails, 0xff, buckets * sizeof(*t->by[i].tails));
	}
	for (uint32_t i = 0; i < t->n; i++) {
		const struct pair *p = &t->pairs[i];

		chain(t, BY_NAME, hash_bytes(key, t->names + p->name, p->len) & t->mask, i);
		chain(t, BY_ADDR, bucket_of_addr(t, key, &p->addr), i);
	}
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The next run of non-blanks of (*p, *n) into (*word, *len); false at the end. */
static bool next_word(const char **p, size_t *n, const char **word, size_t *len)
{
	while (*n && is_blank(**p)) {
		(*p)++;
		(*n)--;
	}
	*word = *p;
	while (*n && !is_blank(**p)) {
		(*p)++;
		(*n)--;
	}
	*len = (size_t)(*p - *word);
	return *len > 0;
}

static int parse_line(struct table *t, const char *p, size_t n)
{
	const char *comment = memchr(p, '#', n);
	const char *word;
	struct addr addr;
	size_t len;

	if (comment)
		n = (size_t)(comment - p);
	if (!next_word(&p, &n, &word, &len) || !addr_parse(word, len, &addr))
		return 0;
	while (next_word(&p, &n, &word, &len)) {
		struct hostname name;
		struct addr literal;

		if (hostname_parse(word, len, &name, &literal) != HOSTNAME_NAME)
			continue;
		if (table_add(t, &name, &addr))
			return -1;
	}
	return 0;
}

static int table_parse(struct table *t, const char *text, size_t len, const struct hash_key *key,
		       struct error *err)
{
	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t line = end ? (size_t)(end - text) : len;

		if (parse_line(t, text, line)) {
			table_clear(t);
			return error_set(err, 0, "more than %u names", HOSTSFILE_ENTRIES_MAX);
		}
		line += end != NULL;
		text += line;
		len -= line;
	}
	table_index(t, key);
	return 0;
}

/* Fills @t and @st; a file that is not there gives an empty table and st_ino 0. */
static int read_table(const struct hostsfile *h, struct table *t, struct stat *st,
		      struct error *err)
{
	CLEANUP_CLOSE int fd = fd_open_regular(AT_FDCWD, h->path, 0, err);
	CLEANUP_FREE char *text = NULL;
	size_t len;

	*st = (struct stat){ 0 };
	if (fd < 0 && errno == ENOENT) {
		table_index(t, &h->key);
		return 0;
	}
	if (fd < 0)
		return -1;
	if (fstat(fd, st))
		return error_set(err, errno, "cannot read %s", h->path);
	text = fd_read_file(fd, HOSTSFILE_SIZE_MAX, &len);
	if (!text)
		return error_set(err, errno, "cannot read %s", h->path);
	if (table_parse(t, text, len, &h->key, err))
		return error_wrap(err, "%s", h->path);
	return 0;
}

struct hostsfile *hostsfile_open(const char *path, struct error *err)
{
	struct hostsfile *h = xcalloc(1, sizeof(*h));

	h->path = xstrdup(path);
	h->key = hash_key_random();
	if (read_table(h, &h->table, &h->seen, err)) {
		hostsfile_close(h);
		return NULL;
	}
	return h;
}

struct hostsfile *hostsfile_parse(const char *text, size_t len, struct error *err)
{
	struct hostsfile *h = xcalloc(1, sizeof(*h));

	h->key = hash_key_random();
	if (len > HOSTSFILE_SIZE_MAX) {
		(void)error_set(err, EFBIG, "hosts text");
		hostsfile_close(h);
		return NULL;
	}
	if (table_parse(&h->table, text, len, &h->key, err)) {
		hostsfile_close(h);
		return NULL;
	}
	return h;
}

void hostsfile_close(struct hostsfile *h)
{
	if (!h)
		return;
	table_clear(&h->table);
	free(h->path);
	free(h);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

void hostsfile_refresh(struct hostsfile *h)
{
	struct table t = { 0 };
	struct error err;
	struct stat st;

	if (!h->path)
		return;
	if (stat(h->path, &st)) {
		if (errno != ENOENT)
			return;
		st = (struct stat){ 0 };
	}
	if (same_file(&st, &h->seen))
		return;
	h->seen = st; /* also when it fails: one try, and one warning, for each change */
	if (read_table(h, &t, &st, &err)) {
		log_warn("%s; its old contents stay in force", err.msg);
		return;
	}
	table_clear(&h->table);
	h->table = t;
	h->seen = st;
}

static bool already(const struct addr *v, size_t n, const struct addr *a)
{
	for (size_t i = 0; i < n; i++) {
		if (addr_equal(&v[i], a))
			return true;
	}
	return false;
}

size_t hostsfile_lookup(const struct hostsfile *h, const struct hostname *name, struct addr *out,
			size_t max)
{
	const struct table *t = &h->table;
	size_t n = 0;
	uint32_t i;

	i = t->by[BY_NAME].heads[hash_bytes(&h->key, name->s, name->len) & t->mask];
	for (; i != NONE && n < max; i = t->pairs[i].next[BY_NAME]) {
		const struct pair *p = &t->pairs[i];

		if (p->len != name->len || memcmp(t->names + p->name, name->s, p->len))
			continue;
		if (!already(out, n, &p->addr))
			out[n++] = p->addr;
	}
	return n;
}

size_t hostsfile_names(const struct hostsfile *h, const struct addr *a, struct hostname *out,
		       size_t max)
{
	const struct table *t = &h->table;
	size_t n = 0;
	uint32_t i = t->by[BY_ADDR].heads[bucket_of_addr(t, &h->key, a)];

	for (; i != NONE; i = t->pairs[i].next[BY_ADDR]) {
		const struct pair *p = &t->pairs[i];

		if (!addr_equal(&p->addr, a))
			continue;
		if (n == max)
			return max + 1;
		out[n] = (struct hostname){ .len = p->len };
		memcpy(out[n++].s, t->names + p->name, p->len);
	}
	return n;
}

size_t hostsfile_count(const struct hostsfile *h)
{
	return h->table.n;
}
