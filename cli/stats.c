#include "cli/stats.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/jsonout.h"
#include "base/log.h"

void stats_note(struct stats *s, const struct proxy_event *ev)
{
	char name[TARGET_TEXT_MAX];

	if (ev->kind == PROXY_EVENT_CLOSE) {
		s->bytes_up += ev->bytes_up;
		s->bytes_down += ev->bytes_down;
	} else if (ev->decision.verdict == VERDICT_DENY) {
		s->refused++;
		(void)snprintf(s->last, sizeof(s->last), "%s (%s)",
			       ev->target->host.len ? target_format(ev->target, name)
						    : "no valid target",
			       policy_code_name(ev->decision.code));
	} else if (ev->decision.code == CODE_OK) {
		s->allowed++;
	} else {
		s->failed++;
	}
}

void stats_put(struct jsonout *j, const struct stats *s)
{
	jsonout_str(j, "session", s->session);
	jsonout_uint(j, "pid", s->pid);
	jsonout_str(j, "command", s->command);
	jsonout_uint(j, "seconds", s->seconds);
	jsonout_uint(j, "connections", s->connections);
	jsonout_uint(j, "allowed", s->allowed);
	jsonout_uint(j, "refused", s->refused);
	jsonout_uint(j, "failed", s->failed);
	jsonout_uint(j, "bytes_up", s->bytes_up);
	jsonout_uint(j, "bytes_down", s->bytes_down);
	jsonout_uint(j, "questions", s->questions);
	jsonout_str(j, "last_refused", s->last);
}

static bool get_text(const json_t *o, const char *key, char *out, size_t size)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_string(v))
		return false;
	(void)log_escape_once(out, size, json_string_value(v), json_string_length(v));
	return true;
}

static bool get_uint(const json_t *o, const char *key, uint64_t *out)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return false;
	*out = (uint64_t)json_integer_value(v);
	return true;
}

static bool get_all(const json_t *o, struct stats *s)
{
	return get_text(o, "session", s->session, sizeof(s->session)) &&
	       get_text(o, "command", s->command, sizeof(s->command)) &&
	       get_text(o, "last_refused", s->last, sizeof(s->last)) &&
	       get_uint(o, "pid", &s->pid) && get_uint(o, "seconds", &s->seconds) &&
	       get_uint(o, "connections", &s->connections) && get_uint(o, "allowed", &s->allowed) &&
	       get_uint(o, "refused", &s->refused) && get_uint(o, "failed", &s->failed) &&
	       get_uint(o, "bytes_up", &s->bytes_up) && get_uint(o, "bytes_down", &s->bytes_down) &&
	       get_uint(o, "questions", &s->questions);
}

bool stats_parse(const char *line, size_t n, struct stats *out)
{
	json_t *o = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
	struct stats s = { .pid = 0 };
	bool ok = json_is_object(o) && get_all(o, &s);

	json_decref(o);
	if (ok)
		*out = s;
	return ok;
}
