#include "cli/report/savedaudit.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "policy/hostname.h"

static const char *text_of(const json_t *line, const char *key)
{
	return json_string_value(json_object_get(line, key));
}

static uint64_t number_of(const json_t *line, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(line, key));

	return n < 0 ? 0 : (uint64_t)n;
}

static bool is(const json_t *line, const char *key, const char *word)
{
	const char *text = text_of(line, key);

	return text && strcmp(text, word) == 0;
}

static int64_t time_of(const json_t *line)
{
	const char *text = text_of(line, "time");
	struct tm tm = { .tm_isdst = 0 };

	return text && strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? timegm(&tm) : 0;
}

/* An empty host is one that was not valid; any other must be what the log may hold. */
static bool target_of(const json_t *line, struct target *out)
{
	const char *host = text_of(line, "host"), *via = text_of(line, "via");
	uint64_t port = number_of(line, "port");

	*out = (struct target){ .via = VIA_CONNECT };
	for (int v = 0; via && v < VIA_NUM; v++) {
		if (strcmp(target_via_name((enum via)v), via) == 0)
			out->via = (enum via)v;
	}
	if (!host || port > UINT16_MAX)
		return false;
	if (*host &&
	    target_from_host(host, strlen(host), port ? (uint16_t)port : 1, out) != TARGET_OK)
		return false;
	out->port = (uint16_t)port;
	return true;
}

static bool code_of(const json_t *line, enum code *out)
{
	for (int c = 0; c < CODE_NUM; c++) {
		if (is(line, "code", policy_code_name((enum code)c))) {
			*out = (enum code)c;
			return true;
		}
	}
	return false;
}

static void address_of(const json_t *line, struct addr *out)
{
	const char *text = text_of(line, "address");

	*out = (struct addr){ .family = AF_UNSPEC };
	if (text)
		(void)addr_parse(text, strlen(text), out);
}

/* A word of a remedy: of plain characters, or such with brackets in quotes (refusal.c). */
static size_t plain_word(const char *p)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789-._:[]";
	size_t quoted = *p == '\'', n = strspn(p + quoted, plain);

	return !quoted ? n : p[1 + n] == '\'' ? n + 2 : 0;
}

/* To be copied into a shell: what is no option with a target was not written by us. */
static const char *remedy_of(const json_t *line)
{
	const char *text = text_of(line, "remedy"), *p = text;

	if (!text || strncmp(text, "--", 2) != 0)
		return NULL;
	for (p += plain_word(p); *p == ' ' && plain_word(p + 1);)
		p += 1 + plain_word(p + 1);
	return *p ? NULL : text;
}

static void add(const json_t *line, unsigned at, struct tally *t)
{
	const struct rule rule = { .text = text_of(line, "rule"),
				   .file = text_of(line, "origin"),
				   .line = (unsigned)number_of(line, "line") };
	struct decision d = { .by = text_of(line, "by"), .rule = rule.text ? &rule : NULL };
	const struct tally_words words = { .program = text_of(line, "program"),
					   .text = text_of(line, "text"),
					   .remedy = remedy_of(line),
					   .at = at };
	struct target target;

	if (!target_of(line, &target))
		return;
	address_of(line, &d.addr);
	if (is(line, "event", "close")) {
		tally_close(t, &target, &d.addr, number_of(line, "bytes_up"),
			    number_of(line, "bytes_down"), time_of(line));
		return;
	}
	d.verdict = is(line, "verdict", "allow") ? VERDICT_ALLOW : VERDICT_DENY;
	if (is(line, "event", "decision") && code_of(line, &d.code))
		tally_decision(t, &target, &d, &words, time_of(line));
}

long savedaudit_read(FILE *in, const char *name, struct tally *t, struct error *err)
{
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	ssize_t n;
	long bad = 0;
	unsigned at = 0;
	bool events = false;

	while ((n = getline(&text, &size, in)) > 0) {
		json_t *line = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, NULL);

		at++;
		events |= json_is_string(json_object_get(line, "event"));
		if (json_is_object(line))
			add(line, at, t);
		else
			bad++;
		json_decref(line);
	}
	if (ferror(in))
		return error_set(err, errno, "cannot read '%s'", name);
	if (bad > 0 && !events)
		return error_set(err, 0, "'%s' is no audit log", name);
	return bad;
}
