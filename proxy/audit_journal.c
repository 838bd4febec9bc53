#include "proxy/audit_journal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

/* A member of the object: its name and its value as text; quotes are stripped. */
struct member {
	const char *key, *value;
	size_t key_len, value_len;
	bool text;
};

/* What MESSAGE is made of; each points into the line. */
struct summary {
	struct member event, verdict, host, port, code, reason;
};

/* A datagram under way. */
struct entry {
	char *out;
	size_t n;
	bool full;
};

int audit_journal_open(const char *path, struct error *err)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (strlen(path) >= sizeof(sa.sun_path))
		return error_set(err, ENAMETOOLONG, "cannot reach the journal at '%s'", path);
	memcpy(sa.sun_path, path, strlen(path) + 1);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
		return error_set(err, errno, "cannot reach the journal at '%s'", path);
	return take_fd(&fd);
}

/* The end of a quoted text that begins at @p; NULL if there is none. */
static const char *end_of_text(const char *p, const char *end)
{
	for (p++; p < end; p++) {
		if (*p == '\\')
			p++;
		else if (*p == '"')
			return p;
	}
	return NULL;
}

/* The end of a value: a text, or everything up to the comma or bracket at its own depth. */
static const char *end_of_value(const char *p, const char *end)
{
	unsigned depth = 0;

	for (; p < end; p++) {
		if (*p == '"') {
			p = end_of_text(p, end);
			if (!p)
				return NULL;
		} else if (*p == '[' || *p == '{') {
			depth++;
		} else if (depth == 0 && (*p == ',' || *p == '}')) {
			return p;
		} else if (*p == ']' || *p == '}') {
			depth--;
		}
	}
	return NULL;
}

/* Takes "key":value at *@p, which moves to the comma or the bracket behind it. */
static bool take_member(const char **p, const char *end, struct member *m)
{
	const char *q = **p == '"' ? end_of_text(*p, end) : NULL;
	const char *stop;

	if (!q || q + 1 >= end || q[1] != ':')
		return false;
	stop = end_of_value(q + 2, end);
	if (!stop)
		return false;
	*m = (struct member){ .key = *p + 1, .key_len = (size_t)(q - *p - 1), .value = q + 2 };
	m->value_len = (size_t)(stop - m->value);
	m->text = m->value_len >= 2 && m->value[0] == '"';
	if (m->text) {
		m->value++;
		m->value_len -= 2;
	}
	*p = stop;
	return true;
}

static bool is_named(const struct member *m, const char *key)
{
	return strlen(key) == m->key_len && memcmp(key, m->key, m->key_len) == 0;
}

static void put(struct entry *e, const char *p, size_t n)
{
	if (n > AUDIT_JOURNAL_MAX - e->n) {
		e->full = true;
		return;
	}
	memcpy(e->out + e->n, p, n);
	e->n += n;
}

static void put_str(struct entry *e, const char *s)
{
	put(e, s, strlen(s));
}

/* Quotes and backslashes as they are; control bytes stay \u00xx: a value cannot start a field. */
static void put_value(struct entry *e, const struct member *m)
{
	for (size_t i = 0; i < m->value_len; i++) {
		const char *p = m->value + i;

		if (m->text && *p == '\\' && i + 1 < m->value_len &&
		    (p[1] == '"' || p[1] == '\\')) {
			p++;
			i++;
		}
		put(e, p, 1);
	}
}

static void put_field(struct entry *e, const struct member *m)
{
	put_str(e, "SBX_NET_");
	for (size_t i = 0; i < m->key_len; i++) {
		char c = m->key[i];

		if (c >= 'a' && c <= 'z')
			c = (char)(c - 'a' + 'A');
		else if (!(c >= '0' && c <= '9'))
			c = '_';
		put(e, &c, 1);
	}
	put_str(e, "=");
	put_value(e, m);
	put_str(e, "\n");
}

static void note(struct summary *s, const struct member *m)
{
	const struct {
		const char *key;
		struct member *to;
	} wanted[] = {
		{ "event", &s->event }, { "verdict", &s->verdict }, { "host", &s->host },
		{ "port", &s->port },	{ "code", &s->code },	    { "reason", &s->reason }
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (is_named(m, wanted[i].key))
			*wanted[i].to = *m;
	}
}

/* "decision: deny example.com:443 (not-listed)" */
static void put_message(struct entry *e, const struct summary *s)
{
	const struct member *why = s->code.value ? &s->code : &s->reason;
	bool deny = s->verdict.value && s->verdict.value_len == 4 &&
		    memcmp(s->verdict.value, "deny", 4) == 0;

	put_str(e, deny ? "PRIORITY=4\nMESSAGE=" : "PRIORITY=6\nMESSAGE=");
	put_value(e, &s->event);
	if (s->verdict.value) {
		put_str(e, ": ");
		put_value(e, &s->verdict);
	}
	if (s->host.value) {
		put_str(e, " ");
		put_value(e, &s->host);
		put_str(e, ":");
		put_value(e, &s->port);
	}
	if (why->value) {
		put_str(e, " (");
		put_value(e, why);
		put_str(e, ")");
	}
	put_str(e, "\nSYSLOG_IDENTIFIER=sbx-net\n");
}

size_t audit_journal_format(const char *line, size_t n, char out[AUDIT_JOURNAL_MAX])
{
	const char *p = line, *end = line + n;
	struct entry e = { .out = out };
	struct summary s = { .event = { 0 } };
	struct member m;

	if (n < 2 || *p != '{')
		return 0;
	do {
		p++;
		if (p >= end || !take_member(&p, end, &m))
			return 0;
		note(&s, &m);
		put_field(&e, &m);
	} while (*p == ',');
	put_message(&e, &s);
	return *p != '}' || e.full ? 0 : e.n;
}
