#include "cli/ask/outcome.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/jsonout.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/ask/memory.h"
#include "policy/policy.h"
#include "proxy/audit.h"

/* "example.com:443", or what it was widened to. */
static const char *answered_target(const struct question *q, const struct prompt_answer *answer)
{
	return answer->widen ? q->wide : q->target;
}

static const char *lasting(const struct prompt_answer *answer, char out[64])
{
	switch (answer->scope) {
	case PROMPT_ONCE:
		return "once";
	case PROMPT_RUN:
		return "for this run";
	case PROMPT_PROJECT:
		return "for this project";
	case PROMPT_FOREVER:
		return "for every run";
	case PROMPT_DURATION:
		(void)snprintf(out, 64, "for %u %s in this project",
			       answer->seconds % 60 ? answer->seconds : answer->seconds / 60,
			       answer->seconds % 60 ? "seconds" : "minutes");
		return out;
	case PROMPT_NUM_SCOPES:
		break;
	}
	return "";
}

void outcome_text(const struct question *q, enum prompt_end end, const struct prompt_answer *answer,
		  char out[QUESTION_TEXT_MAX])
{
	char scope[64];

	switch (end) {
	case PROMPT_ANSWERED:
		(void)snprintf(out, QUESTION_TEXT_MAX, "%s %s %s (%s)",
			       answer->allow ? "allowed" : "denied", answered_target(q, answer),
			       lasting(answer, scope), answer->by);
		return;
	case PROMPT_TIMED_OUT:
		(void)snprintf(out, QUESTION_TEXT_MAX, "denied %s once: nobody answered in time",
			       q->target);
		return;
	case PROMPT_WITHDRAWN:
		(void)snprintf(out, QUESTION_TEXT_MAX, "%s is not wanted any more", q->target);
		return;
	case PROMPT_LOST:
		(void)snprintf(out, QUESTION_TEXT_MAX, "denied %s once: no answer", q->target);
		return;
	}
}

/* Return: for how long it holds now: @scope, or less. */
static enum prompt_scope keep(struct grants *grants, const struct grant *g, enum prompt_scope scope)
{
	bool held = grants_add(grants, g);
	struct error err;

	if (!held)
		log_warn("the answer is not remembered: there are too many");
	if (g->scope != GRANT_RUN && memory_save(g, &err) == 0)
		return scope;
	if (!held)
		return PROMPT_ONCE;
	if (g->scope != GRANT_RUN)
		log_warn("the answer holds for this run only: %s", err.msg);
	return scope == PROMPT_DURATION ? scope : PROMPT_RUN;
}

enum prompt_scope outcome_remember(struct grants *grants, const char *cwd, const struct question *q,
				   const struct prompt_answer *answer)
{
	enum prompt_scope scope = answer->scope;
	struct grant *g;

	if (scope == PROMPT_ONCE)
		return scope;
	g = xcalloc(1, sizeof(*g));
	(void)snprintf(g->pattern, sizeof(g->pattern), "%s", answered_target(q, answer));
	(void)snprintf(g->by, sizeof(g->by), "%s", answer->by);
	g->allow = answer->allow;
	g->when = memory_now();
	g->scope = GRANT_RUN;
	if (scope == PROMPT_FOREVER)
		g->scope = GRANT_FOREVER;
	else if (scope != PROMPT_RUN)
		g->scope = GRANT_PROJECT;
	if (scope == PROMPT_DURATION)
		g->until = g->when + answer->seconds;
	if (g->scope == GRANT_PROJECT)
		(void)snprintf(g->project, sizeof(g->project), "%s", cwd);
	scope = keep(grants, g, scope);
	free(g);
	return scope;
}

static const char *code_of(enum prompt_end end, const struct prompt_answer *answer)
{
	if (end == PROMPT_TIMED_OUT)
		return policy_code_name(CODE_ASK_TIMEOUT);
	if (end == PROMPT_LOST)
		return policy_code_name(CODE_NOT_LISTED);
	return policy_code_name(answer->allow ? CODE_OK : CODE_ASKED_NO);
}

void outcome_record(struct audit *audit, const struct target *t, const struct question *q,
		    enum prompt_end end, const struct prompt_answer *answer)
{
	char line[AUDIT_LINE_MAX];
	struct timespec now;
	struct jsonout j;

	if (!audit || !answer)
		return;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	jsonout_begin(&j, line, sizeof(line));
	jsonout_str(&j, "event", "answer");
	jsonout_str(&j, "verdict", answer->allow ? "allow" : "deny");
	jsonout_str(&j, "code", code_of(end, answer));
	jsonout_strn(&j, "host", t->host.s, t->host.len);
	jsonout_uint(&j, "port", t->port);
	jsonout_str(&j, "via", q->via);
	jsonout_str(&j, "pattern", answered_target(q, answer));
	jsonout_str(&j, "scope", prompt_scope_name(answer->scope));
	jsonout_uint(&j, "seconds", answer->seconds);
	jsonout_str(&j, "by", answer->by);
	jsonout_str(&j, "program", q->program);
	jsonout_uint(&j, "pid", q->pid);
	jsonout_uint(&j, "waiting", q->waiting);
	audit_put_time(&j, &now);
	audit_write(audit, line, jsonout_end(&j));
}
