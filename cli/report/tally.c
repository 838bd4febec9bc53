#include "cli/report/tally.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "policy/refusal.h"

enum outcome { REFUSED, NOT_REACHED, REACHED, OUTCOMES };

#define SLOTS (TALLY_MAX * OUTCOMES * 2)
static_assert(TALLY_MAX * OUTCOMES < UINT16_MAX, "a slot holds the number of any row");

struct tally {
	struct hash_key key;
	uint16_t slot[SLOTS]; /* 1 + index into @v; 0 is empty */
	struct tally_row *v;
	size_t n, of[OUTCOMES];
	struct tally_sums sums;
};

struct tally *tally_new(void)
{
	struct tally *t = xcalloc(1, sizeof(*t));

	t->key = hash_key_random();
	return t;
}

void tally_free(struct tally *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].rule);
		free(t->v[i].file);
		free(t->v[i].text);
		free(t->v[i].remedy);
		free(t->v[i].by);
		free(t->v[i].program);
	}
	free(t->v);
	free(t);
}

static enum outcome outcome(bool allow, enum code code)
{
	if (!allow)
		return REFUSED;
	return code == CODE_OK ? REACHED : NOT_REACHED;
}

/* The row, made if there is room; NULL if not. */
static struct tally_row *row(struct tally *t, const struct target *target, bool allow,
			     enum code code, int64_t now)
{
	char text[TARGET_TEXT_MAX];
	struct tally_row *r;
	size_t i;

	(void)target_format(target, text);
	i = (hash_bytes(&t->key, text, strlen(text)) + (uint64_t)code) % SLOTS;
	for (; t->slot[i]; i = (i + 1) % SLOTS) {
		r = &t->v[t->slot[i] - 1];
		if (r->code == code && r->allow == allow && target_equal(&r->target, target)) {
			r->last = now;
			return r;
		}
	}
	if (t->of[outcome(allow, code)] == TALLY_MAX)
		return NULL;
	t->of[outcome(allow, code)]++;
	t->v = xreallocarray(t->v, t->n + 1, sizeof(*t->v));
	r = &t->v[t->n++];
	t->slot[i] = (uint16_t)t->n;
	*r = (struct tally_row){
		.target = *target, .allow = allow, .code = code, .first = now, .last = now
	};
	return r;
}

static char *copy_of(const char *s)
{
	return s && *s ? xstrdup(s) : NULL;
}

static void put_words(struct tally_row *r, const struct decision *d,
		      const struct tally_words *words)
{
	char text[REFUSAL_MAX];

	if (d->code == CODE_OK)
		return;
	r->text = xstrdup(words->text ? words->text : refusal_format(&r->target, d, text));
	r->remedy = copy_of(words->text ? words->remedy : refusal_remedy(&r->target, d, text));
}

void tally_decision(struct tally *t, const struct target *target, const struct decision *d,
		    const struct tally_words *words, int64_t now)
{
	bool allow = d->verdict == VERDICT_ALLOW;
	struct tally_row *r = row(t, target, allow, d->code, now);

	if (!allow)
		t->sums.refused++;
	else if (d->code == CODE_OK)
		t->sums.allowed++;
	else
		t->sums.failed++;
	if (!r) {
		t->sums.left_out++;
		return;
	}
	if (words->program && !r->program)
		r->program = xstrdup(words->program);
	if (r->count++ > 0)
		return;
	r->by = copy_of(d->by);
	r->at = words->at;
	put_words(r, d, words);
	if (d->rule) {
		r->rule = xstrdup(d->rule->text);
		r->file = d->rule->file ? xstrdup(d->rule->file) : NULL;
		r->line = d->rule->line;
	}
}

void tally_close(struct tally *t, const struct target *target, const struct addr *addr, uint64_t up,
		 uint64_t down, int64_t now)
{
	struct tally_row *r = row(t, target, true, CODE_OK, now);

	t->sums.bytes_up += up;
	t->sums.bytes_down += down;
	if (!r)
		return;
	r->bytes_up += up;
	r->bytes_down += down;
	if (addr->family == AF_UNSPEC || addr_classify(addr) == ADDR_PUBLIC)
		return;
	if (addr_classify(addr) == ADDR_PRIVATE)
		r->is_private = true;
	else if (!target_is_literal(target))
		r->listed = *addr;
}

const struct tally_sums *tally_sums(const struct tally *t)
{
	return &t->sums;
}

static int order(const void *a, const void *b)
{
	const struct tally_row *const *x = a, *const *y = b;

	int a_is = (int)outcome((*x)->allow, (*x)->code),
	    b_is = (int)outcome((*y)->allow, (*y)->code);

	if (a_is != b_is)
		return a_is - b_is;
	if ((*x)->count != (*y)->count)
		return (*x)->count > (*y)->count ? -1 : 1;
	return *x < *y ? -1 : *x > *y; /* in the order of first sight */
}

const struct tally_row **tally_sorted(const struct tally *t, size_t *n)
{
	const struct tally_row **v = xcalloc(t->n + 1, sizeof(*v));

	for (size_t i = 0; i < t->n; i++)
		v[i] = &t->v[i];
	*n = t->n;
	qsort(v, t->n, sizeof(*v), order);
	return v;
}
