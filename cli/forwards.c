#include "cli/forwards.h"

#include <string.h>

#include "base/log.h"
#include "base/shellword.h"
#include "netns/netns.h"
#include "policy/lint.h"
#include "policy/pattern.h"
#include "policy/refusal.h"

#define DNS_PORT 53

static bool has_port(const struct forwards *f, uint16_t port)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->port[i] == port)
			return true;
	}
	return false;
}

static int add(struct forwards *f, uint16_t port, const struct target *t, struct error *err)
{
	if (f->n == FORWARDS_MAX)
		return error_set(err, 0,
				 "more than %d forwarded ports: each port of this machine's "
				 "loopback that is allowed is one, and so is each --forward",
				 FORWARDS_MAX);
	f->port[f->n] = port;
	f->target[f->n] = *t;
	f->target[f->n++].via = VIA_FORWARD;
	return 0;
}

/* The walk over the list that allows; @err is set once something did not fit. */
struct walk {
	struct forwards *f;
	struct error *err;
	bool failed, tell;
};

static bool is_reserved(uint16_t port)
{
	return port == DNS_PORT || port == NETNS_PROXY_PORT || port == NETNS_CAPTURE_PORT;
}

static const char *holder(uint16_t port)
{
	switch (port) {
	case DNS_PORT:
		return "our name server";
	case NETNS_PROXY_PORT:
		return "our proxy";
	case NETNS_CAPTURE_PORT:
		return "our capturing listener";
	default:
		return "another forwarded port";
	}
}

/* The target that a loopback entry opens; false for any other entry. */
static bool local_target(const struct pattern *p, uint16_t port, struct target *out)
{
	if (p->kind == PATTERN_ADDR && addr_classify(&p->cidr.addr) == ADDR_LOOPBACK) {
		target_from_addr(&p->cidr.addr, port, out);
		return true;
	}
	return p->kind == PATTERN_HOST && hostname_is_local(&p->host) &&
	       target_from_host(p->host.s, p->host.len, port, out) == TARGET_OK;
}

/* An entry for a service of the host that is not to be had at its own port; with --forward it is. */
static void warn_taken(const struct forwards *f, const struct rule *rule, const struct target *t)
{
	char name[TARGET_TEXT_MAX], word[SHELLWORD_MAX(TARGET_TEXT_MAX)];

	for (size_t i = 0; i < f->n; i++) {
		if (target_equal(&f->target[i], t))
			return;
	}
	log_warn("%s: opens nothing inside, where port %u is taken by %s; take another port: "
		 "--forward PORT=%s",
		 rule->text, t->port, holder(t->port),
		 shellword(word, sizeof(word), target_format(t, name)));
}

static bool visit(void *ctx, const struct pattern *p, const struct rule *rule)
{
	struct walk *w = ctx;
	struct target t = { .via = VIA_FORWARD };

	/* Of what lies in files, `check` tells: it would be said at every start. */
	if (w->tell && lint_opens_no_port(p) && strcmp(rule->file, "--allow") == 0)
		log_warn("--allow %s: " LINT_OPENS_NO_PORT, rule->text);
	for (size_t r = 0; r < p->nports; r++) {
		for (unsigned port = p->ports[r].lo; port <= p->ports[r].hi; port++) {
			if (!local_target(p, (uint16_t)port, &t))
				continue;
			if (is_reserved((uint16_t)port)) {
				warn_taken(w->f, rule, &t);
				continue;
			}
			if (has_port(w->f, (uint16_t)port))
				continue;
			if (add(w->f, (uint16_t)port, &t, w->err) < 0) {
				w->failed = true;
				return false;
			}
		}
	}
	return true;
}

/* Each connection will be judged; one that has no chance is better known now. */
static void warn_refused(const struct forwards *f, const struct run_options *o,
			 const struct policy *p)
{
	char text[REFUSAL_MAX];
	struct decision d;

	for (size_t i = 0; i < o->nforwards; i++) {
		policy_decide(p, &f->target[i], &d);
		if (d.verdict == VERDICT_DENY)
			log_warn("--forward %s: will be %s", o->forwards[i].text,
				 refusal_format(&f->target[i], &d, text));
	}
}

static int taken(const char *option, const char *text, uint16_t port, struct error *err)
{
	return error_set(err, 0, "%s %s: port %u of the sandbox is taken by %s; take another one",
			 option, text, port, holder(port));
}

/* It would lead the host to a listener of ours, and that perhaps out again. */
static int check_published(const struct forwards *f, const struct run_options *o, struct error *err)
{
	for (size_t i = 0; i < o->npublishes; i++) {
		const struct option_publish *p = &o->publishes[i];

		if (is_reserved(p->port) || has_port(f, p->port))
			return taken("--publish", p->text, p->port, err);
		for (size_t k = 0; k < i; k++) {
			if (o->publishes[k].host_port == p->host_port)
				return error_set(err, 0,
						 "--publish %s: port %u of the host is taken by "
						 "--publish %s; take another one",
						 p->text, p->host_port, o->publishes[k].text);
		}
	}
	return 0;
}

int forwards_build(struct forwards *f, const struct run_options *o, const struct policy *p,
		   bool tell, struct error *err)
{
	struct walk w = { .f = f, .err = err, .tell = tell };

	f->n = 0;
	for (size_t i = 0; i < o->nforwards; i++) {
		uint16_t port = o->forwards[i].port;

		if (is_reserved(port) || has_port(f, port))
			return taken("--forward", o->forwards[i].text, port, err);
		if (add(f, port, &o->forwards[i].target, err) < 0)
			return -1;
	}
	if (tell)
		warn_refused(f, o, p);
	policy_each(p, policy_count(p, LIST_ONLY) ? LIST_ONLY : LIST_ALLOW, visit, &w);
	return w.failed ? -1 : check_published(f, o, err);
}
