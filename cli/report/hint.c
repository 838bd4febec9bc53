#include "cli/report/hint.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/shellword.h"
#include "policy/grant.h"

#define WORD_SHOWN 200

/* Whether one entry, that nobody reads otherwise, would have allowed it. What is no pattern allows nothing. */
static bool would_allow(const char *pattern, const struct target *t)
{
	struct policy *p = policy_new();
	struct decision d = { .verdict = VERDICT_DENY };

	if (policy_add(p, LIST_ALLOW, pattern, NULL, 0, NULL, NULL) == 0)
		policy_decide(p, t, &d);
	policy_free(p);
	return d.verdict == VERDICT_ALLOW;
}

/* The pattern of an --allow that starts at @word; NULL if none does. */
static const char *typed_allow(char *const *word)
{
	static const char name[] = "--allow=";

	if (strcmp(word[0], "-a") == 0 || strcmp(word[0], "--allow") == 0)
		return word[1];
	return strncmp(word[0], name, strlen(name)) == 0 ? word[0] + strlen(name) : NULL;
}

static bool is_behind_command(const struct hint_context *c, const struct target *t,
			      char out[REFUSAL_HINT_MAX])
{
	char *const *word = c->options->command;

	for (size_t i = 1; i < c->options->ncommand; i++) {
		const char *pattern = typed_allow(word + i);
		char shown[WORD_SHOWN];

		if (!pattern || !would_allow(pattern, t))
			continue;
		(void)snprintf(out, REFUSAL_HINT_MAX,
			       "the --allow %s behind the command is the command's: options of "
			       "'run' stand before it",
			       shellword(shown, sizeof(shown), pattern));
		return true;
	}
	return false;
}

static bool is_dropped(const struct hint_context *c, const struct target *t,
		       char out[REFUSAL_HINT_MAX])
{
	char shown[WORD_SHOWN];
	size_t n;
	const char *file;
	const struct settings_entry *v = layers_dropped(c->layers, &file, &n);

	for (size_t i = 0; i < n; i++) {
		if (!would_allow(v[i].text, t))
			continue;
		(void)snprintf(out, REFUSAL_HINT_MAX,
			       "%s:%u allows it, and --no-config drops what that file allows",
			       log_escape(shown, sizeof(shown), file, strlen(file)), v[i].line);
		return true;
	}
	return false;
}

/* An answer that outlives the run: the next one will refuse it again, and ask nobody. */
static bool is_remembered(const struct decision *d, char out[REFUSAL_HINT_MAX])
{
	char shown[REFUSAL_HINT_MAX - 64];

	if (d->code != CODE_ASKED_NO || !d->rule || !grant_is_saved(d->rule))
		return false;
	(void)snprintf(out, REFUSAL_HINT_MAX,
		       "that is remembered: sbx-net grants revoke %s takes it back",
		       shellword(shown, sizeof(shown), d->rule->text));
	return true;
}

/* Whoever has answered questions before may wonder. */
static bool is_nobody_asked(const struct hint_context *c, char out[REFUSAL_HINT_MAX])
{
	static const char *const why[] = {
		[NOBODY_REDIRECTED] = "input or output is redirected; --ask tty asks",
		[NOBODY_BACKGROUND] = "the run was started in the background; start it in the "
				      "foreground, or with --ask control, and answer by 'sbx-net "
				      "approvals'",
		[NOBODY_NO_TERMINAL] = "there is no terminal; with --ask control 'sbx-net "
				       "approvals' answers",
	};

	if (c->nobody == NOBODY_SAID || (c->nobody == NOBODY_NO_TERMINAL && *c->told))
		return false;
	*c->told |= c->nobody == NOBODY_NO_TERMINAL;
	(void)snprintf(out, REFUSAL_HINT_MAX, "not asked: %s", why[c->nobody]);
	return true;
}

bool hint_of(const struct hint_context *c, const struct target *t, const struct decision *d,
	     char out[REFUSAL_HINT_MAX])
{
	if (is_remembered(d, out))
		return true;
	if ((d->code != CODE_NOT_LISTED && d->code != CODE_STRICT) || !t->host.len ||
	    d->addr.family != AF_UNSPEC)
		return false;
	if (is_behind_command(c, t, out) || is_dropped(c, t, out))
		return true;
	return d->code == CODE_NOT_LISTED && is_nobody_asked(c, out);
}
