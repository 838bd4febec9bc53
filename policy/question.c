#include "policy/question.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonout.h"
#include "base/log.h"

unsigned question_seconds(const struct question *q, uint64_t now)
{
	return q->deadline <= now ? 0 : (unsigned)((q->deadline - now + 999) / 1000);
}

size_t question_format(const struct question *q, uint64_t now, char out[QUESTION_LINE_MAX])
{
	struct jsonout j;

	jsonout_begin(&j, out, QUESTION_LINE_MAX);
	jsonout_str(&j, "event", "question");
	jsonout_uint(&j, "id", q->id);
	jsonout_str(&j, "target", q->target);
	jsonout_str(&j, "via", q->via);
	jsonout_str(&j, "wide", q->wide);
	jsonout_str(&j, "mark", q->mark);
	jsonout_str(&j, "program", q->program);
	jsonout_str(&j, "argv", q->argv);
	jsonout_uint(&j, "pid", q->pid);
	jsonout_str(&j, "command", q->command);
	jsonout_str(&j, "project", q->project);
	jsonout_uint(&j, "waiting", q->waiting);
	jsonout_uint(&j, "seconds_left", question_seconds(q, now));
	return jsonout_end(&j);
}

/* ---- reading */

static bool get_text(const json_t *o, const char *key, char *out, size_t size)
{
	const char *s = json_string_value(json_object_get(o, key));

	(void)log_escape_once(out, size, s ? s : "", s ? strlen(s) : 0);
	return s;
}

static bool get_uint(const json_t *o, const char *key, uint64_t *out)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return false;
	*out = (uint64_t)json_integer_value(v);
	return true;
}

static bool is_word(const char *word, size_t n, const char *what)
{
	return strlen(what) == n && memcmp(word, what, n) == 0;
}

static bool parse_verdict(const char *word, size_t n, bool *allow)
{
	*allow = is_word(word, n, "allow") || is_word(word, n, "yes");
	return *allow || is_word(word, n, "deny") || is_word(word, n, "no");
}

static bool parse_scope(const char *word, size_t n, struct prompt_answer *out)
{
	for (unsigned i = 0; i < PROMPT_DURATION; i++) {
		if (!is_word(word, n, prompt_scope_name((enum prompt_scope)i)))
			continue;
		out->scope = (enum prompt_scope)i;
		return true;
	}
	out->seconds = prompt_parse_duration(word, n);
	out->scope = PROMPT_DURATION;
	return out->seconds > 0;
}

static bool read_answer(const json_t *o, struct prompt_answer *out)
{
	const char *verdict = json_string_value(json_object_get(o, "verdict"));
	const json_t *scope = json_object_get(o, "scope"), *wide = json_object_get(o, "wide");
	struct prompt_answer a = { .scope = PROMPT_ONCE };

	if (!verdict || !parse_verdict(verdict, strlen(verdict), &a.allow))
		return false;
	if (scope && (!json_is_string(scope) ||
		      !parse_scope(json_string_value(scope), json_string_length(scope), &a)))
		return false;
	if (wide && !json_is_boolean(wide))
		return false;
	a.widen = json_is_true(wide);
	*out = a;
	return true;
}

static void read_request(const json_t *o, struct question_request *out)
{
	const char *op = json_string_value(json_object_get(o, "op"));

	if (!op)
		return;
	if (strcmp(op, "subscribe") == 0)
		out->op = QUESTION_SUBSCRIBE;
	else if (strcmp(op, "list") == 0)
		out->op = QUESTION_LIST;
	else if (strcmp(op, "stats") == 0)
		out->op = QUESTION_STATS;
	else if (strcmp(op, "explain") == 0 &&
		 get_text(o, "target", out->target, sizeof(out->target)))
		out->op = QUESTION_EXPLAIN;
	else if (strcmp(op, "answer") == 0)
		out->op = QUESTION_ANSWER;
	if (out->op != QUESTION_ANSWER)
		return;
	(void)get_uint(o, "id", &out->id);
	(void)get_text(o, "by", out->by, sizeof(out->by));
	out->valid = read_answer(o, &out->answer);
}

void question_parse_request(const char *line, size_t len, struct question_request *out)
{
	json_t *o = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);

	*out = (struct question_request){ .op = QUESTION_BAD };
	read_request(o, out);
	json_decref(o);
}

static bool parse_object(const char *text, size_t len, uint64_t id, struct prompt_answer *out)
{
	json_t *o = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	uint64_t named = id;
	bool ok = !json_object_get(o, "id") || get_uint(o, "id", &named);

	ok = ok && named == id && read_answer(o, out);

	json_decref(o);
	return ok;
}

/* The next word of (*p, *n); its length, 0 for none. */
static size_t next_word(const char **p, size_t *n)
{
	size_t len = 0;

	while (*n && memchr(" \t\r\n", **p, 4)) {
		(*p)++;
		(*n)--;
	}
	while (len < *n && !memchr(" \t\r\n", (*p)[len], 4))
		len++;
	return len;
}

bool question_parse_words(const char *text, size_t len, uint64_t id, struct prompt_answer *out)
{
	struct prompt_answer a = { .scope = PROMPT_ONCE };
	size_t n = next_word(&text, &len);

	if (n && *text == '{')
		return parse_object(text, len, id, out);
	for (unsigned i = 0; n; i++) {
		if (i == 0 && !parse_verdict(text, n, &a.allow))
			return false;
		if (i == 1 && is_word(text, n, "wide"))
			i++; /* "allow wide" is once */
		if (i == 1 && !parse_scope(text, n, &a))
			return false;
		if (i >= 2 && (a.widen || !is_word(text, n, "wide")))
			return false;
		a.widen = i >= 2;
		text += n;
		len -= n;
		n = next_word(&text, &len);
		if (!n) {
			*out = a;
			return true;
		}
	}
	return false;
}

static void read_question(const json_t *o, uint64_t now, struct question *q)
{
	uint64_t left = 0;

	(void)get_text(o, "target", q->target, sizeof(q->target));
	(void)get_text(o, "via", q->via, sizeof(q->via));
	(void)get_text(o, "wide", q->wide, sizeof(q->wide));
	(void)get_text(o, "mark", q->mark, sizeof(q->mark));
	(void)get_text(o, "program", q->program, sizeof(q->program));
	(void)get_text(o, "argv", q->argv, sizeof(q->argv));
	(void)get_uint(o, "pid", &q->pid);
	(void)get_text(o, "command", q->command, sizeof(q->command));
	(void)get_text(o, "project", q->project, sizeof(q->project));
	(void)get_uint(o, "waiting", &q->waiting);
	(void)get_uint(o, "seconds_left", &left);
	q->deadline = now + (left > 86400 ? 86400 : left) * 1000;
}

static enum question_event read_event(const json_t *o, uint64_t now, struct question *q, char *text)
{
	static const struct {
		const char *name;
		enum question_event event;
	} events[] = {
		{ "hello", QUESTION_EV_HELLO },
		{ "question", QUESTION_EV_OPEN },
		{ "changed", QUESTION_EV_CHANGED },
		{ "closed", QUESTION_EV_CLOSED },
	};
	const char *name = json_string_value(json_object_get(o, "event"));

	*q = (struct question){ .id = 0 };
	text[0] = '\0';
	(void)get_uint(o, "id", &q->id);
	if (json_object_get(o, "reply")) {
		(void)get_text(o, "error", text, QUESTION_TEXT_MAX);
		return QUESTION_EV_REPLY;
	}
	for (size_t i = 0; name && i < ARRAY_SIZE(events); i++) {
		if (strcmp(name, events[i].name) != 0)
			continue;
		read_question(o, now, q);
		(void)get_text(o, "text", text, QUESTION_TEXT_MAX);
		return events[i].event;
	}
	return QUESTION_EV_OTHER;
}

enum question_event question_parse_event(const char *line, size_t len, uint64_t now,
					 struct question *q, char *text)
{
	json_t *o = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	enum question_event ev = read_event(o, now, q, text);

	json_decref(o);
	return ev;
}
