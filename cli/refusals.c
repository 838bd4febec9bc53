#include "cli/refusals.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "policy/refusal.h"

#define SLOTS (REFUSALS_MAX * 2)

/* One host:port and reason. @next keeps the order of first sight. */
struct entry {
	struct target target;
	enum code code;
	uint64_t count;
	char *text;
};

struct refusals {
	bool quiet;
	bool full_told;
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

void refusals_free(struct refusals *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		free(r->v[i].text);
	free(r);
}

static bool is_failure(enum code code)
{
	return code == CODE_DNS_FAILED || code == CODE_CONNECT_FAILED ||
	       code == CODE_CONNECT_TIMEOUT;
}

/* The slot of an entry, or the empty one where it would go. */
static size_t find(const struct refusals *r, const struct target *t, enum code code)
{
	char text[TARGET_TEXT_MAX];
	uint64_t h;
	size_t i;

	(void)target_format(t, text);
	h = hash_bytes(&r->key, text, strlen(text)) + (uint64_t)code;
	for (i = h % SLOTS; r->slot[i]; i = (i + 1) % SLOTS) {
		const struct entry *e = &r->v[r->slot[i] - 1];

		if (e->code == code && target_equal(&e->target, t))
			break;
	}
	return i;
}

/* One write, so that the line is not mixed with the command's own output. */
static void say(const char *text)
{
	CLEANUP_FREE char *line = xasprintf("sbx-net: %s\n", text);

	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		return;
}

void refusals_note(struct refusals *r, const struct target *t, const struct decision *d)
{
	char text[REFUSAL_MAX];
	size_t i = find(r, t, d->code);
	struct entry *e;

	if (!is_failure(d->code))
		r->total++;
	if (r->slot[i]) {
		r->v[r->slot[i] - 1].count++;
		return;
	}
	if (r->n == REFUSALS_MAX) {
		if (!r->full_told && !r->quiet)
			say("more than 1024 different targets refused; further ones are not "
			    "listed");
		r->full_told = true;
		return;
	}
	e = &r->v[r->n++];
	r->slot[i] = (uint16_t)r->n;
	*e = (struct entry){ .target = *t, .code = d->code, .count = 1 };
	e->text = xstrdup(refusal_format(t, d, text));
	if (!r->quiet)
		say(e->text);
}

uint64_t refusals_total(const struct refusals *r)
{
	return r->total;
}

void refusals_block(const struct refusals *r, FILE *out)
{
	bool any = false;

	for (size_t i = 0; i < r->n; i++) {
		const struct entry *e = &r->v[i];
		char name[TARGET_TEXT_MAX];

		if (is_failure(e->code))
			continue;
		if (!any)
			(void)fputs("<sandbox_violations>\n", out);
		any = true;
		(void)fprintf(out, "deny network-outbound %s (%s)\n",
			      target_format(&e->target, name), policy_code_name(e->code));
	}
	if (any)
		(void)fputs("</sandbox_violations>\n", out);
}
