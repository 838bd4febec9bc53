#include "cli/serve/attach_message.h"

#include <jansson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/reader.h"
#include "base/xalloc.h"

#define VERSION 1

static const char *const op_name[] = {
	[ATTACH_OP_ATTACH] = "attach",
	[ATTACH_OP_RELOAD] = "reload",
	[ATTACH_OP_STATS] = "stats",
	[ATTACH_OP_SESSIONS] = "sessions",
};

uint64_t attach_netns(void)
{
	CLEANUP_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? 0 : fd_netns(fd);
}

void attach_list_add(struct attach_list *l, const char *text)
{
	l->v = xreallocarray(l->v, l->n + 2, sizeof(*l->v));
	l->v[l->n++] = xstrdup(text);
	l->v[l->n] = NULL;
}

static void list_clear(struct attach_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct attach_list){ 0 };
}

void attach_request_clear(struct attach_request *r)
{
	list_clear(&r->only);
	list_clear(&r->deny);
	list_clear(&r->forward);
	free(r->command);
	r->command = NULL;
}

/* The object as a line. The reference to it goes. */
static char *to_line(json_t *o)
{
	char *text = json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII);
	char *line;

	if (!text)
		die("out of memory");
	line = xasprintf("%s\n", text);
	free(text);
	json_decref(o);
	return line;
}

/* Text that is not UTF-8 cannot be sent; as an empty entry it is refused over there. */
static void put_list(json_t *o, const char *key, const struct attach_list *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++) {
		json_t *s = json_string(l->v[i]);

		(void)json_array_append_new(a, s ? s : json_string(""));
	}
	(void)json_object_set_new(o, key, a);
}

char *attach_request_format(const struct attach_request *r)
{
	json_t *o = json_object();

	(void)json_object_set_new(o, "op", json_string(op_name[r->op]));
	if (r->op == ATTACH_OP_ATTACH) {
		(void)json_object_set_new(o, "version", json_integer(VERSION));
		(void)json_object_set_new(o, "capture", json_boolean(r->capture));
		put_list(o, "only", &r->only);
		put_list(o, "deny", &r->deny);
		put_list(o, "forward", &r->forward);
		if (r->command)
			(void)json_object_set_new(o, "command", json_string(r->command));
	}
	return to_line(o);
}

static json_t *from_line(const char *line, size_t n, struct error *err)
{
	json_error_t je;
	json_t *o = json_loadb(line, n, JSON_REJECT_DUPLICATES, &je);

	if (!json_is_object(o)) {
		(void)error_set(err, 0, "a line on the control socket is no JSON object");
		json_decref(o);
		return NULL;
	}
	return o;
}

static int get_op(const json_t *v, struct attach_request *r, struct error *err)
{
	for (size_t i = 0; json_is_string(v) && i < ARRAY_SIZE(op_name); i++) {
		if (strcmp(json_string_value(v), op_name[i]) != 0)
			continue;
		r->op = (enum attach_op)i;
		return 0;
	}
	return error_set(err, 0, "'op' is one of attach, reload, stats and sessions");
}

static int get_list(const json_t *v, const char *key, struct attach_list *l, struct error *err)
{
	if (!json_is_array(v) || json_array_size(v) > ATTACH_ENTRIES_MAX)
		return error_set(err, 0, "'%s' is an array of at most %d strings", key,
				 ATTACH_ENTRIES_MAX);
	for (size_t i = 0; i < json_array_size(v); i++) {
		const json_t *s = json_array_get(v, i);

		if (!json_is_string(s) || json_string_length(s) == 0)
			return error_set(err, 0, "'%s' is an array of strings", key);
		attach_list_add(l, json_string_value(s));
	}
	return 0;
}

static int get_member(const char *key, const json_t *v, struct attach_request *r, struct error *err)
{
	if (strcmp(key, "op") == 0)
		return get_op(v, r, err);
	if (strcmp(key, "only") == 0)
		return get_list(v, key, &r->only, err);
	if (strcmp(key, "deny") == 0)
		return get_list(v, key, &r->deny, err);
	if (strcmp(key, "forward") == 0)
		return get_list(v, key, &r->forward, err);
	if (strcmp(key, "capture") == 0 && json_is_boolean(v)) {
		r->capture = json_is_true(v);
		return 0;
	}
	if (strcmp(key, "command") == 0 && json_is_string(v)) {
		r->command = xstrdup(json_string_value(v));
		return 0;
	}
	if (strcmp(key, "version") == 0 && json_integer_value(v) == VERSION)
		return 0;
	return error_set(err, 0, "'%s' is not known to this version, or has an odd value", key);
}

int attach_request_parse(const char *line, size_t n, struct attach_request *out, struct error *err)
{
	struct attach_request r = { 0 };
	json_t *o = from_line(line, n, err), *v;
	int rc = o ? 0 : -1;
	const char *key;

	if (o && !json_object_get(o, "op"))
		rc = error_set(err, 0, "no 'op'");
	json_object_foreach(o, key, v)
	{
		if (rc == 0)
			rc = get_member(key, v, &r, err);
	}
	json_decref(o);
	if (rc < 0)
		attach_request_clear(&r);
	else
		*out = r;
	return rc;
}

static void put_ports(json_t *o, const char *key, const uint16_t *v, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(a, json_integer(v[i]));
	(void)json_object_set_new(o, key, a);
}

char *attach_reply_format(const struct attach_reply *r)
{
	json_t *o = json_object(), *s;

	(void)json_object_set_new(o, "ok", json_boolean(r->ok));
	if (!r->ok) {
		s = json_string(r->error);
		(void)json_object_set_new(o, "error", s ? s : json_string("refused"));
	} else if (r->session) {
		CLEANUP_FREE char *netns = xasprintf("%llu", (unsigned long long)r->netns);

		(void)json_object_set_new(o, "session", json_integer(r->session));
		(void)json_object_set_new(o, "netns", json_string(netns));
		(void)json_object_set_new(o, "capture", json_boolean(r->capture));
		put_ports(o, "ports", r->ports, r->nports);
		put_ports(o, "forwards", r->forwards, r->nforwards);
	}
	return to_line(o);
}

static int get_ports(const json_t *o, const char *key, uint16_t *out, size_t max, size_t *n,
		     struct error *err)
{
	const json_t *a = json_object_get(o, key);

	for (size_t i = 0; i < json_array_size(a); i++) {
		json_int_t port = json_integer_value(json_array_get(a, i));

		if (port < 1 || port > UINT16_MAX || i >= max)
			return error_set(err, 0, "the server's '%s' make no sense", key);
		out[i] = (uint16_t)port;
		*n = i + 1;
	}
	return 0;
}

bool attach_refused_parse(const char *line, size_t n, char out[ATTACH_TEXT_MAX])
{
	struct error err;
	json_t *o = from_line(line, n, &err);
	const char *event = json_string_value(json_object_get(o, "event"));
	const char *text = json_string_value(json_object_get(o, "text"));
	bool ok = event && text && strcmp(event, "refused") == 0;

	if (ok)
		(void)snprintf(out, ATTACH_TEXT_MAX, "%s", text);
	json_decref(o);
	return ok;
}

int attach_reply_parse(const char *line, size_t n, struct attach_reply *out, struct error *err)
{
	json_t *o = from_line(line, n, err);
	struct attach_reply r = { 0 };
	char said[sizeof(err->msg)];
	const char *text;
	int rc = -1;

	if (!o)
		return -1;
	text = json_string_value(json_object_get(o, "error"));
	r.ok = json_is_true(json_object_get(o, "ok"));
	r.session = (unsigned)json_integer_value(json_object_get(o, "session"));
	r.capture = json_is_true(json_object_get(o, "capture"));
	if (!r.ok) {
		(void)error_set(err, 0, "the server says: %s",
				log_escape_once(said, sizeof(said), text ? text : "no",
						text ? strlen(text) : 2));
	} else if (get_ports(o, "ports", r.ports, ATTACH_PORTS_MAX, &r.nports, err) == 0 &&
		   get_ports(o, "forwards", r.forwards, FORWARDS_MAX, &r.nforwards, err) == 0) {
		text = json_string_value(json_object_get(o, "netns"));
		if (!text || !reader_decimal(text, strlen(text), UINT64_MAX, &r.netns))
			r.netns = 0;
		*out = r;
		rc = 0;
	}
	json_decref(o);
	return rc;
}
