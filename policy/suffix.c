/*
 * Theory of operation
 *
 * Distributions ship the list for libpsl as an automaton of 54 kB, a directed acyclic graph of
 * labels ("DAFSA", as Chromium first made it). It is walked once, all words are put down backwards
 * ("moc.elpmaxe") and sorted: then what lies below a domain is next to it, and a look-up is a
 * binary search.
 *
 * Why not libpsl: it brings libidn2 and libunistring along, which cost every start of the program
 * 480,000 instructions and 27 system calls more (measured on Debian 12 against an empty program),
 * for something that most runs never need; our names are canonical ASCII already. Nothing is lost:
 * libpsl reads the same file. In the tests it is the independent opinion.
 *
 * The format, after 16 bytes of magic: a list of offsets, each to a node, counted from the one
 * before (the first from the list's own place). The two bits below the top one tell how long an
 * offset is, the top bit ends the list. A node is letters below 0x80; then either a last letter with
 * the top bit set, and the next list of offsets behind it, or a byte 0x80..0x8f, which ends a word
 * and holds its flags. Words with letters that are not ASCII have 0x1f in them and are there once
 * more in their xn-- form.
 */
#include "policy/suffix.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define MAGIC	  ".DAFSA@PSL_0   \n"
#define MAGIC_LEN 16
#define DEPTH_MAX 128		/* lists within lists; today's list needs a third of it */
#define STEPS_MAX (1024 * 1024) /* a list that is none must not keep us busy; today's: 40,000 */
#define WORDS_MAX 262144
#define TEXT_STEP 65536 /* more than a word is long */

#define EXCEPTION 1 /* "!www.ck": no public suffix though "*.ck" says so */
#define WILDCARD  2 /* "*.ck" */

/* A word of the list, last letter first. */
struct word {
	uint32_t at; /* in @text */
	uint8_t flags;
};

/**
 * struct suffixes
 * @graph: without the magic
 * @word, @text: the list unpacked, @nwords of them in the order of their letters; @usable: it is
 */
struct suffixes {
	uint8_t *graph;
	size_t len;
	bool unpacked, usable;
	struct word *word;
	size_t nwords;
	char *text;
	size_t ntext, room;
};

struct suffixes *suffixes_new(const void *bytes, size_t n)
{
	struct suffixes *s;

	if (n <= MAGIC_LEN || n > SUFFIX_BYTES_MAX || memcmp(bytes, MAGIC, MAGIC_LEN) != 0)
		return NULL;
	s = xcalloc(1, sizeof(*s));
	s->len = n - MAGIC_LEN;
	s->graph = xcalloc(s->len, 1);
	memcpy(s->graph, (const uint8_t *)bytes + MAGIC_LEN, s->len);
	return s;
}

void suffixes_free(struct suffixes *s)
{
	if (!s)
		return;
	free(s->graph);
	free(s->word);
	free(s->text);
	free(s);
}

/* ---- unpacking */

/* The walk: the word so far, and what is still allowed. */
struct walk {
	struct suffixes *s;
	char word[HOSTNAME_MAX + 1];
	size_t steps;
};

static bool add_word(struct suffixes *s, const char *word, size_t n, uint8_t flags)
{
	if (s->nwords == WORDS_MAX)
		return false;
	if (s->nwords % 1024 == 0)
		s->word = xreallocarray(s->word, s->nwords + 1024, sizeof(*s->word));
	if (s->room - s->ntext <= n) {
		s->room += TEXT_STEP;
		s->text = xreallocarray(s->text, s->room, 1);
	}
	s->word[s->nwords++] = (struct word){ .at = (uint32_t)s->ntext, .flags = flags };
	while (n > 0)
		s->text[s->ntext++] = word[--n];
	s->text[s->ntext++] = '\0';
	return true;
}

/* The offset at @pos. Return: how many bytes it takes; 0 if they are not there. */
static size_t read_offset(const struct suffixes *s, size_t pos, size_t *offset)
{
	const uint8_t *b = s->graph + pos;
	size_t kind, n;

	if (pos >= s->len)
		return 0;
	kind = b[0] & 0x60;
	n = kind == 0x60 ? 3 : kind == 0x40 ? 2 : 1;
	if (n > s->len - pos)
		return 0;
	if (n == 1)
		*offset = b[0] & 0x3f;
	else if (n == 2)
		*offset = (size_t)(b[0] & 0x1f) << 8 | b[1];
	else
		*offset = (size_t)(b[0] & 0x1f) << 16 | (size_t)b[1] << 8 | b[2];
	return n;
}

/* The letters of the node at @pos. Return: where its last byte is, which is no mere letter; or 0. */
static size_t read_letters(struct walk *w, size_t pos, size_t *len)
{
	const struct suffixes *s = w->s;

	while (pos < s->len && s->graph[pos] < 0x80) {
		if (*len == HOSTNAME_MAX)
			return 0;
		w->word[(*len)++] = (char)s->graph[pos++];
	}
	return pos < s->len && *len < HOSTNAME_MAX && w->steps++ < STEPS_MAX ? pos : 0;
}

/* All words that begin with the @len letters so far. Return: false if this is no list. */
static bool walk_list(struct walk *w, size_t pos, size_t len, unsigned depth)
{
	const uint8_t *graph = w->s->graph;
	size_t node = pos, offset, n, last;
	bool more = depth < DEPTH_MAX;

	if (!more)
		return false;
	for (; more; pos += n) {
		size_t here = len;

		n = read_offset(w->s, pos, &offset);
		if (n == 0)
			return false;
		node += offset;
		more = !(graph[pos] & 0x80);
		last = read_letters(w, node, &here);
		if (last == 0)
			return false;
		if (graph[last] < 0x90) {
			if (!add_word(w->s, w->word, here, graph[last] & 0x0f))
				return false;
			continue;
		}
		w->word[here++] = (char)(graph[last] & 0x7f);
		if (!walk_list(w, last + 1, here, depth + 1))
			return false;
	}
	return true;
}

static int by_letters(const void *a, const void *b, void *arg)
{
	const struct suffixes *s = arg;
	const struct word *x = a, *y = b;

	return strcmp(s->text + x->at, s->text + y->at);
}

static bool unpack(struct suffixes *s)
{
	struct walk w = { .s = s };

	if (s->unpacked)
		return s->usable;
	s->unpacked = true;
	s->usable = walk_list(&w, 0, 0, 0) && s->nwords > 0;
	if (s->usable)
		qsort_r(s->word, s->nwords, sizeof(*s->word), by_letters, s);
	return s->usable;
}

/* ---- looking up */

/* The first word that is not before @text. */
static size_t lower_bound(const struct suffixes *s, const char *text)
{
	size_t lo = 0, hi = s->nwords;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(s->text + s->word[mid].at, text) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static const struct word *find(const struct suffixes *s, const char *text)
{
	size_t i = lower_bound(s, text);

	return i < s->nwords && strcmp(s->text + s->word[i].at, text) == 0 ? &s->word[i] : NULL;
}

static size_t backwards(const char *text, char out[HOSTNAME_MAX + 2])
{
	size_t n = strnlen(text, HOSTNAME_MAX);

	for (size_t i = 0; i < n; i++)
		out[i] = text[n - 1 - i];
	out[n] = '\0';
	return n;
}

/* "moc.elpmaxe": whether the list has it, or the star of an entry stands for its first label. */
static bool is_listed(const struct suffixes *s, const char *reversed)
{
	char parent[HOSTNAME_MAX + 2];
	const struct word *w = find(s, reversed);
	const char *dot = strrchr(reversed, '.');

	if (w || !dot)
		return w && !(w->flags & EXCEPTION);
	memcpy(parent, reversed, (size_t)(dot - reversed));
	parent[dot - reversed] = '\0';
	w = find(s, parent);
	return w && (w->flags & WILDCARD);
}

/* A word below it, which is no exception. */
static const char *find_below(const struct suffixes *s, char reversed[HOSTNAME_MAX + 2], size_t n)
{
	const char *found = NULL;

	reversed[n] = '.';
	reversed[n + 1] = '\0';
	for (size_t i = lower_bound(s, reversed); !found && i < s->nwords; i++) {
		const char *text = s->text + s->word[i].at;

		if (strncmp(text, reversed, n + 1) != 0)
			break;
		if (!(s->word[i].flags & EXCEPTION))
			found = text;
	}
	reversed[n] = '\0';
	return found;
}

bool suffix_is_shared(struct suffixes *s, const char *domain, char found[HOSTNAME_MAX + 1])
{
	char reversed[HOSTNAME_MAX + 2], text[HOSTNAME_MAX + 2] = "";
	size_t n = backwards(domain, reversed);
	const char *suffix = NULL;
	bool usable = s && unpack(s);

	if (usable)
		suffix = is_listed(s, reversed) ? reversed : find_below(s, reversed, n);
	if (suffix)
		(void)backwards(suffix, text);
	if (found)
		memcpy(found, text, HOSTNAME_MAX + 1);
	/* A single label that is not listed is somebody's registry; without a list, all may be. */
	return suffix || !usable || !strchr(domain, '.');
}
