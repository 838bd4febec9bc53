#include "cli/report/refusals.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "policy/refusal.h"

#define SLOTS	    (REFUSALS_MAX * 2)
#define LINES_MAX   40	/* lines as it happens; what comes later is told at the end */
#define SUMMARY_MAX 12	/* targets at the end */
#define COMMON_MAX  200 /* lines of all sessions at once, and then one */
#define COMMON_S    10	/* in so many seconds */
#define NO_TARGET   "no valid target"

/* One host:port and reason, or what was said in the place of a host. */
struct entry {
	struct target target;
	enum code code;
	uint64_t count;
	char *text, *remedy, *hint;
	bool addition; /* the remedy: to what allows the name already */
	char *said;    /* where there is no valid target */
};

struct refusals {
	bool quiet;
	refusals_tell *tell;
	void *tell_arg;
	refusals_hint *hint;
	void *hint_arg;
	unsigned lines;
	struct refusals *common; /* counts the lines of many, or NULL */
	time_t common_from;	 /* when its next line is to be had, and all are with */
	bool common_dry;	 /* it has been said that there are none */
	uint64_t total;
	struct hash_key key;
	uint16_t slot[SLOTS]; /* 1 + index into @v; 0 is empty */
	struct entry v[REFUSALS_MAX];
	size_t n;
};

struct refusals *refusals_new(bool quiet)
{
	struct refusals *r = xcalloc(1, sizeof(*r));

	r->quiet = quiet;
	r->key = hash_key_random();
	return r;
}

void refusals_set_tell(struct refusals *r, refusals_tell *tell, void *arg)
{
	r->tell = tell;
	r->tell_arg = arg;
}

void refusals_set_common(struct refusals *r, struct refusals *with)
{
	r->common = with;
}

void refusals_set_hint(struct refusals *r, refusals_hint *hint, void *arg)
{
	r->hint = hint;
	r->hint_arg = arg;
}

void refusals_free(struct refusals *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++) {
		free(r->v[i].text);
		free(r->v[i].remedy);
		free(r->v[i].hint);
		free(r->v[i].said);
	}
	free(r);
}

static bool is_failure(enum code code)
{
	return code == CODE_DNS_FAILED || code == CODE_CONNECT_FAILED ||
	       code == CODE_CONNECT_TIMEOUT;
}

static const char *said_of(const struct target *t, const struct decision *d)
{
	return !t->host.len && d->said && *d->said ? d->said : NULL;
}

/* The slot of an entry, or the empty one where it would go. */
static size_t find(const struct refusals *r, const struct target *t, const struct decision *d)
{
	const char *said = said_of(t, d);
	char text[TARGET_TEXT_MAX];
	uint64_t h;
	size_t i;

	if (!said)
		said = target_format(t, text);
	h = hash_bytes(&r->key, said, strlen(said)) + (uint64_t)d->code;
	for (i = h % SLOTS; r->slot[i]; i = (i + 1) % SLOTS) {
		const struct entry *e = &r->v[r->slot[i] - 1];

		if (e->code == d->code && target_equal(&e->target, t) &&
		    (!e->said || strcmp(e->said, said) == 0))
			break;
	}
	return i;
}

/* Each line is an interval of the time to come that is used up; there is COMMON_MAX of it at most. */
static bool common_may(struct refusals *c)
{
	time_t now = (time_t)(clock_ms() / 1000);

	if (c->common_from < now)
		c->common_from = now;
	if (c->common_from - now > (COMMON_MAX - 1) * COMMON_S)
		return false;
	c->common_from += COMMON_S;
	return true;
}

/* One write, so that the line is not mixed with the command's own output. */
static void say(const char *text)
{
	CLEANUP_FREE char *line = xasprintf("sbx-net: %s\n", text);

	log_raw(line, strlen(line));
}

static void say_once(struct refusals *r, const char *text)
{
	struct refusals *c = r->common;

	if (!c || common_may(c)) {
		say(text);
		if (c)
			c->common_dry = false;
		return;
	}
	if (!c->common_dry)
		say("many refusals of sessions; for now further ones are told to their bridges "
		    "only");
	c->common_dry = true;
}

/* What may have been overlooked, or NULL. The caller frees. */
static char *look_for_hint(const struct refusals *r, const struct target *t,
			   const struct decision *d)
{
	char hint[REFUSAL_HINT_MAX];

	return r->hint && r->hint(r->hint_arg, t, d, hint) ? xstrdup(hint) : NULL;
}

const char *refusals_hint_of(const struct refusals *r, const struct target *t,
			     const struct decision *d)
{
	size_t i = r->slot[find(r, t, d)];

	return i ? r->v[i - 1].hint : NULL;
}

void refusals_note(struct refusals *r, const struct target *t, const struct decision *d)
{
	char text[REFUSAL_TOLD_MAX];
	size_t i = find(r, t, d);
	const char *told;
	struct entry *e;

	if (!is_failure(d->code))
		r->total++;
	if (r->slot[i]) {
		r->v[r->slot[i] - 1].count++;
		return;
	}
	if (r->n == REFUSALS_MAX)
		return;
	e = &r->v[r->n++];
	r->slot[i] = (uint16_t)r->n;
	*e = (struct entry){ .target = *t, .code = d->code, .count = 1 };
	e->remedy = xstrdup(refusal_remedy(t, d, text));
	e->addition = refusal_is_addition(t, d);
	e->hint = look_for_hint(r, t, d);
	e->text = xstrdup(refusal_told(t, d, e->hint, text));
	e->said = said_of(t, d) ? xstrdup(d->said) : NULL;
	if ((r->quiet && !r->tell) || r->lines > LINES_MAX)
		return;
	told = r->lines == LINES_MAX ? "many refusals; further ones are told at the end" : e->text;
	if (!r->quiet)
		say_once(r, told);
	if (r->tell)
		r->tell(r->tell_arg, told);
	r->lines++;
}

/* What was no host name is called what it was said to be. */
static const char *target_text(const struct entry *e, char out[TARGET_TEXT_MAX])
{
	if (e->said)
		return e->said;
	return e->target.host.len ? target_format(&e->target, out) : NO_TARGET;
}

/* A line of the summary. */
struct listed {
	const struct entry *e;
	uint64_t count;
};

/* Most often refused first; then in the order of first sight. */
static int more_often(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->e < y->e ? -1 : x->e > y->e;
}

/*
 * Whether @e is a name that was looked up, and @other a connection to that name which was refused for
 * the same reason: what allows the connection allows the look-up.
 */
static bool is_lookup_of(const struct entry *e, const struct entry *other)
{
	return e->code == other->code && e->target.port == 0 && other->target.port != 0 &&
	       e->target.host.len > 0 && e->target.addr.family == other->target.addr.family &&
	       hostname_equal(&e->target.host, &other->target.host);
}

/* Counts @e with a line that says it all. Return: whether there is one. */
static bool count_with(const struct entry *e, struct listed *v, size_t n)
{
	for (size_t i = 0; e->target.port == 0 && i < n; i++) {
		if (!is_lookup_of(e, v[i].e))
			continue;
		v[i].count += e->count;
		return true;
	}
	return false;
}

/* The refusals by policy, in the order of the summary. Return: how many. */
static size_t sorted(const struct refusals *r, struct listed *v)
{
	size_t n = 0, ported;

	for (size_t i = 0; i < r->n; i++) {
		if (!is_failure(r->v[i].code) && r->v[i].target.port != 0)
			v[n++] = (struct listed){ &r->v[i], r->v[i].count };
	}
	ported = n;
	for (size_t i = 0; i < r->n; i++) {
		const struct entry *e = &r->v[i];

		if (!is_failure(e->code) && e->target.port == 0 && !count_with(e, v, ported))
			v[n++] = (struct listed){ e, e->count };
	}
	qsort(v, n, sizeof(*v), more_often);
	return n;
}

static bool is_said(const struct listed *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i].e->remedy, v[n].e->remedy) == 0)
			return true;
	return false;
}

/* The options that would have allowed what is listed, in one line to be copied. */
static void put_remedies(const struct listed *v, size_t n, FILE *out)
{
	const char *lead = "sbx-net: allow with: ";

	for (size_t i = 0; i < n; i++) {
		if (v[i].e->addition)
			lead = "sbx-net: allow also with: ";
	}
	for (size_t i = 0; i < n; i++) {
		if (!*v[i].e->remedy || is_said(v, i))
			continue;
		(void)fprintf(out, "%s%s", lead, v[i].e->remedy);
		lead = " ";
	}
	if (*lead == ' ')
		(void)fputc('\n', out);
}

void refusals_summary(const struct refusals *r, FILE *out)
{
	struct listed v[REFUSALS_MAX];
	size_t n = sorted(r, v), shown = n < SUMMARY_MAX ? n : SUMMARY_MAX;
	char name[TARGET_TEXT_MAX];

	/* One line has said it all already. */
	if (r->quiet || r->total < 2)
		return;
	(void)fprintf(out, "sbx-net: %llu refusals, %zu target%s%s:\n",
		      (unsigned long long)r->total, n, n == 1 ? "" : "s",
		      r->n == REFUSALS_MAX ? " or more" : "");
	for (size_t i = 0; i < shown; i++)
		(void)fprintf(out, "sbx-net: %6llux %s (%s)\n", (unsigned long long)v[i].count,
			      target_text(v[i].e, name), policy_code_name(v[i].e->code));
	if (shown < n)
		(void)fprintf(out, "sbx-net:         and %zu more\n", n - shown);
	put_remedies(v, shown, out);
}

uint64_t refusals_total(const struct refusals *r)
{
	return r->total;
}

const char *refusals_first(const struct refusals *r)
{
	for (size_t i = 0; i < r->n; i++) {
		if (!is_failure(r->v[i].code))
			return r->v[i].text;
	}
	return "too many targets to remember them";
}

void refusals_block(const struct refusals *r, FILE *out)
{
	bool any = false, malformed = false;

	for (size_t i = 0; i < r->n; i++) {
		const struct entry *e = &r->v[i];
		char name[TARGET_TEXT_MAX];

		/* Programs read this: where no target was, it does not matter to them why. */
		if (is_failure(e->code) || (malformed && e->code == CODE_BAD_REQUEST))
			continue;
		malformed |= e->code == CODE_BAD_REQUEST;
		if (!any)
			(void)fputs("<sandbox_violations>\n", out);
		any = true;
		(void)fprintf(out, "deny network-outbound %s (%s)\n",
			      e->code == CODE_BAD_REQUEST ? NO_TARGET : target_text(e, name),
			      policy_code_name(e->code));
	}
	if (any)
		(void)fputs("</sandbox_violations>\n", out);
}
