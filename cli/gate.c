#include "cli/gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/fdreserve.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/ask/asking.h"
#include "cli/ask/whose.h"
#include "cli/capture.h"
#include "cli/filemark.h"
#include "cli/forwards.h"
#include "cli/hostaddrs.h"
#include "cli/layers/layers.h"
#include "cli/prove.h"
#include "cli/report/hint.h"
#include "cli/report/refusals.h"
#include "cli/reload.h"
#include "cli/rules.h"
#include "cli/stats.h"
#include "cli/report/tally.h"
#include "cli/wayout.h"
#include "policy/namebudget.h"
#include "proxy/audit.h"
#include "proxy/proxy.h"
#include "proxy/tls.h"
#include "proxy/upstream.h"

struct gate {
	const struct run_options *options;
	const struct gate *base; /* whose policy is shared, or NULL */
	char *cwd;
	struct rules rules;
	const struct policy *policy; /* of @rules; the proxy and the name server look here */
	struct forwards forwards;
	struct rule *doors; /* what refuses the ports that are published, in the options' order */
	uint16_t ports[CAPTURE_PORTS_MAX];
	struct asking *asking; /* of the run, or NULL */
	struct refusals *refusals;
	struct namebudget *names;
	struct upstreams *upstreams;
	struct tls_trust *trust; /* for those of them that speak TLS, now or later */
	struct audit *audit;	 /* of @outside */
	struct tally *tally;	 /* of the run, or NULL */
	struct whose *whose;	 /* likewise */
	struct stats stats;
	uint64_t opened_ms;
	unsigned number;
	uint64_t peer;
	size_t dns_connections; /* 0: as many as a lone session */
	unsigned dns_part;
	struct capture *capture;
	struct session *session;
	struct prove prove; /* of the run's sandbox, before its command starts */
	struct reload *reload;
	struct error broken; /* of the last reload that failed */
	bool told;	     /* that there is no terminal to ask at */
	char **files;
	size_t nfiles, nwatched; /* those that a reload reads come first */
	struct filemark *marks;
	struct timespec since; /* before the files were read */
};

static void add_file(struct gate *g, const char *path, bool watched)
{
	char *first;

	g->files = xreallocarray(g->files, g->nfiles + 1, sizeof(*g->files));
	g->files[g->nfiles++] = xstrdup(path);
	if (!watched)
		return;
	first = g->files[g->nwatched];
	g->files[g->nwatched++] = g->files[g->nfiles - 1];
	g->files[g->nfiles - 1] = first;
}

/* The settings files, and the list files of the command line. */
static void collect_files(struct gate *g)
{
	size_t n;
	const char *const *files = layers_files(g->rules.layers, &n);
	const struct option_values *rules = &g->options->rules;

	for (size_t i = 0; i < n; i++)
		add_file(g, files[i], layers_reads_again(g->rules.layers, files[i]));
	for (size_t i = 0; i < rules->n; i++) {
		if (rules->v[i].id == OPT_ALLOW_LIST || rules->v[i].id == OPT_DENY_LIST)
			add_file(g, rules->v[i].value, true);
	}
}

static struct rule *doors_new(const struct run_options *o)
{
	struct rule *doors = xcalloc(o->npublishes + 1, sizeof(*doors));

	for (size_t i = 0; i < o->npublishes; i++)
		doors[i] = (struct rule){ .text = o->publishes[i].text,
					  .file = "--publish",
					  .reason = "it leads back into this sandbox" };
	return doors;
}

/* While the command runs: 1 with @err where not all could be read; see rules_reread(). */
static int load(const struct gate *g, struct rules *out, struct error *err)
{
	if (g->base)
		return rules_share(out, &g->base->rules, g->options, err);
	if (!g->rules.policy)
		return rules_load(out, g->options, g->cwd, err);
	return rules_reread(out, g->options, g->cwd, &g->rules, g->marks, err);
}

static bool hint_cb(void *arg, const struct target *t, const struct decision *d, char *out)
{
	struct gate *g = arg;
	const struct hint_context c = {
		.options = g->options,
		.layers = g->rules.layers,
		.nobody = g->asking ? asking_nobody(g->asking) : NOBODY_SAID,
		.told = &g->told,
	};

	return hint_of(&c, t, d, out);
}

struct gate *gate_new(const struct run_options *o, const char *cwd, const struct gate *base,
		      struct error *err)
{
	struct gate *g = xcalloc(1, sizeof(*g));

	g->options = o;
	g->cwd = xstrdup(cwd);
	g->since = reload_now();
	g->refusals = refusals_new(o->quiet);
	refusals_set_hint(g->refusals, hint_cb, g);
	if (base)
		refusals_set_common(g->refusals, base->refusals);
	g->names = namebudget_new();
	g->doors = doors_new(o);
	g->trust = base ? tls_trust_ref(base->trust) : NULL;
	g->base = base;
	if (load(g, &g->rules, err) < 0 ||
	    forwards_build(&g->forwards, o, g->rules.policy, base == NULL, err) < 0 ||
	    wayout_upstream(o, g->rules.layers, &g->trust, base != NULL, &g->upstreams, err) < 0) {
		gate_free(g);
		return NULL;
	}
	g->policy = g->rules.policy;
	if (!base)
		collect_files(g);
	return g;
}

void gate_set_asking(struct gate *g, struct asking *a)
{
	g->asking = a;
	asking_apply(a, g->rules.policy, g->rules.layers);
	if (asking_file(a))
		add_file(g, asking_file(a), true);
}

void gate_set_tally(struct gate *g, struct tally *t)
{
	g->tally = t;
}

void gate_set_whose(struct gate *g, struct whose *w)
{
	g->whose = w;
}

void gate_set_peer(struct gate *g, uint64_t netns, size_t connections, unsigned part)
{
	g->peer = netns;
	g->dns_connections = connections;
	g->dns_part = part;
}

const struct policy *const *gate_policy(const struct gate *g)
{
	return &g->policy;
}

void gate_end(struct gate *g)
{
	if (g->session)
		session_free(g->session);
	g->session = NULL;
}

void gate_free(struct gate *g)
{
	if (!g)
		return;
	gate_end(g);
	reload_free(g->reload);
	capture_free(g->capture);
	refusals_free(g->refusals);
	namebudget_free(g->names);
	upstreams_free(g->upstreams);
	tls_trust_free(g->trust);
	filemark_free(g->marks);
	free(g->doors);
	rules_clear(&g->rules);
	for (size_t i = 0; i < g->nfiles; i++)
		free(g->files[i]);
	free(g->files);
	free(g->cwd);
	free(g);
}

struct layers *gate_layers(struct gate *g)
{
	return g->rules.layers;
}

int gate_resolvers(struct gate *g, const char *const **out, struct error *err)
{
	return wayout_resolvers(g->options, g->rules.layers, out, err);
}

bool gate_captures(const struct gate *g)
{
	return !g->options->no_capture &&
	       layers_flag(g->rules.layers, SETTINGS_CAPTURE) != SETTINGS_NO;
}

struct session *gate_session(const struct gate *g)
{
	return g->session;
}

const struct refusals *gate_refusals(struct gate *g)
{
	if (g->capture)
		capture_settle(g->capture);
	return g->refusals;
}

void gate_stats(const struct gate *g, struct stats *out)
{
	uint64_t up = 0, down = 0;

	*out = g->stats;
	out->pid = (uint64_t)getpid();
	out->seconds = (clock_ms() - g->opened_ms) / 1000;
	if (!g->session)
		return;
	out->connections = session_connections(g->session);
	session_bytes(g->session, &up, &down);
	out->bytes_up += up;
	out->bytes_down += down;
}

void gate_tell_refusals(struct gate *g, void (*tell)(void *arg, const char *text), void *arg)
{
	refusals_set_tell(g->refusals, tell, arg);
}

void gate_plan(struct gate *g, struct netns_plan *out)
{
	*out = (struct netns_plan){
		.capture = gate_captures(g),
		.ports = g->ports,
		.nports = capture_ports(g->policy, g->ports),
		.forwards = g->forwards.port,
		.nforwards = g->forwards.n,
	};
}

static void log_event(const struct proxy_event *ev)
{
	char name[TARGET_TEXT_MAX];

	(void)target_format(ev->target, name);
	if (ev->kind == PROXY_EVENT_CLOSE)
		log_info("conn=%llx event=close target=%s up=%llu down=%llu reason=%s",
			 (unsigned long long)ev->conn, name, (unsigned long long)ev->bytes_up,
			 (unsigned long long)ev->bytes_down, ev->reason ? ev->reason : "-");
	else
		log_info("conn=%llx event=%s target=%s via=%s code=%s rule=%s",
			 (unsigned long long)ev->conn,
			 ev->decision.verdict == VERDICT_ALLOW ? "allow" : "deny", name,
			 target_via_name(ev->target->via), policy_code_name(ev->decision.code),
			 ev->decision.rule ? ev->decision.rule->text : "-");
}

static void add_up(struct tally *t, const struct proxy_event *ev)
{
	if (ev->kind == PROXY_EVENT_DECISION)
		tally_decision(t, ev->target, &ev->decision,
			       &(struct tally_words){ .program = ev->program }, time(NULL));
	else
		tally_close(t, ev->target, &ev->addr, ev->bytes_up, ev->bytes_down, time(NULL));
}

/* Who connected, and what is to be said of a refusal; the latter is said to a person here. */
static void find_out(struct gate *g, struct proxy_event *ev)
{
	const struct who *who = g->whose ? whose_look(g->whose, ev) : NULL;

	if (who) {
		ev->program = who->chain;
		ev->pid = (uint64_t)who->pid;
	}
	/* What a client has given up by itself is written down, and nobody has to be told. */
	if (ev->decision.code == CODE_OK || ev->decision.error == ECANCELED)
		return;
	refusals_note(g->refusals, ev->target, &ev->decision);
	ev->hint = refusals_hint_of(g->refusals, ev->target, &ev->decision);
}

/* The proxy and the name server tell of a decision or a close. */
static void event_cb(void *arg, const struct proxy_event *happened)
{
	struct proxy_event more UNINITIALIZED;
	const struct proxy_event *ev = happened;
	struct gate *g = arg;

	if (g->prove.active) {
		prove_event(&g->prove, ev);
		return;
	}
	if (ev->kind == PROXY_EVENT_DECISION) {
		more = *happened;
		find_out(g, &more);
		ev = &more;
	}
	stats_note(&g->stats, ev);
	if (g->audit)
		audit_event(g->audit, ev, g->number);
	if (g->tally)
		add_up(g->tally, ev);
	if (log_enabled(LOG_LEVEL_INFO))
		log_event(ev);
}

static const char *said_hint_cb(void *arg, const struct target *t, const struct decision *d)
{
	const struct gate *g = arg;

	return refusals_hint_of(g->refusals, t, d);
}

/* A wildcard admits a bounded number of names: each look-up tells its zone something. */
static bool admit_cb(void *arg, const struct target *t, const struct decision *d)
{
	struct gate *g = arg;

	return namebudget_take(g->names, d->rule, &t->host);
}

/* Where a proxy of ours is in front, names are its to look up. */
static bool may_forward_cb(void *arg, const struct target *t, const struct decision *d)
{
	const struct gate *g = arg;

	return !upstreams_for(g->upstreams, t) && admit_cb(arg, t, d);
}

static const struct rule *door_cb(void *arg, uint16_t port)
{
	const struct gate *g = arg;

	for (size_t i = 0; i < g->options->npublishes; i++) {
		if (g->options->publishes[i].host_port == port)
			return &g->doors[i];
	}
	return NULL;
}

static bool canary_cb(void *arg, const struct target *t)
{
	struct gate *g = arg;

	return prove_is_canary(&g->prove, t);
}

static bool name_cb(void *arg, const struct addr *dialled, uint16_t port, struct hostname *out)
{
	const struct gate *g = arg;

	/* what the sandbox is tried with must not be renamed */
	return !g->prove.active && capture_name(g->capture, dialled, port, out);
}

static bool same_cb(void *arg, const struct target *t, const struct hostname *asked)
{
	const struct gate *g = arg;

	return capture_same(g->capture, t, asked);
}

static void *ask_cb(void *arg, const struct proxy_question *q, proxy_ask_cb *cb, void *cb_arg)
{
	const struct gate *g = arg;

	return asking_ask(g->asking, q, cb, cb_arg);
}

static void ask_cancel_cb(void *arg, void *question)
{
	const struct gate *g = arg;

	asking_cancel(g->asking, question);
}

/* As load(), with descriptors kept back for it. */
static int load_again(const struct gate *g, struct rules *out, bool retry, struct error *err)
{
	enum log_level was = log_set_level(LOG_LEVEL_ERROR);
	int rc;

	if (!retry)
		(void)log_set_level(was);
	fdreserve_lend();
	rc = load(g, out, err);
	fdreserve_back();
	(void)log_set_level(was);
	return rc;
}

int gate_read_again(struct gate *g, bool retry, struct error *err)
{
	struct rules next, old = g->rules;
	struct upstreams *way;
	struct error why;
	int rc = load_again(g, &next, retry, err);

	if (rc < 0)
		return -1;
	if (wayout_upstream(g->options, next.layers, &g->trust, true, &way, &why) < 0) {
		*err = why;
		rules_clear(&next);
		return -1;
	}
	if (g->asking)
		asking_apply(g->asking, next.policy, next.layers);
	g->rules = next;
	g->policy = next.policy;
	session_set_upstream(g->session, way);
	upstreams_free(g->upstreams);
	g->upstreams = way;
	if (g->asking)
		asking_reload(g->asking);
	if (g->options->cut_revoked)
		session_recheck(g->session);
	rules_clear(&old);
	if (!g->base && rc == 0)
		log_info("reload: %zu allowed, %zu denied", policy_count(g->policy, LIST_ALLOW),
			 policy_count(g->policy, LIST_DENY));
	return rc;
}

unsigned gate_rest_ms(const struct gate *g)
{
	return g->rules.rest_ms;
}

/* A settings file has changed. What is broken changes nothing. */
static void reload_policy(void *arg)
{
	struct gate *g = arg;
	struct error err = { 0 };
	bool retry = reload_is_retry(g->reload);
	int rc = gate_read_again(g, retry, &err);

	reload_tell(g->reload, rc, &err, "", &g->broken);
	reload_later(g->reload, gate_rest_ms(g));
}

void gate_guard(struct gate *g, const char *const *roots, size_t n)
{
	CLEANUP_FREE const char **files = xcalloc(g->nwatched + 1, sizeof(*files));
	const char *answers = g->asking ? asking_file(g->asking) : NULL;
	size_t nfiles = 0;

	/* The saved answers are replaced by us, and are out of the command's reach in any case. */
	for (size_t i = 0; i < g->nwatched; i++)
		if (!answers || strcmp(g->files[i], answers) != 0)
			files[nfiles++] = g->files[i];
	filemark_free(g->marks);
	g->marks = filemark_new(files, nfiles, roots, n);
}

const char *const *gate_files(const struct gate *g, size_t *n)
{
	*n = g->nfiles;
	return (const char *const *)g->files;
}

const char *const *gate_watched(const struct gate *g, size_t *n)
{
	*n = g->nwatched;
	return (const char *const *)g->files;
}

int gate_open(struct gate *g, const struct outside *outside, unsigned number, struct error *err)
{
	struct session_config cfg = {
		.policy = &g->policy,
		.own = hostaddrs_set(outside->own),
		.event = event_cb,
		.hint = said_hint_cb,
		.admit = admit_cb,
		.name = name_cb,
		.same = same_cb,
		.door = door_cb,
		.canary = canary_cb,
		.upstream = g->upstreams,
		.peer = g->peer,
		.arg = g,
	};

	if (g->asking) {
		cfg.ask = ask_cb;
		cfg.ask_cancel = ask_cancel_cb;
	}
	if (g->options->audit && !outside->audit)
		return error_set(err, 0, "no audit log"); /* our bug: fail closed */
	g->audit = outside->audit;
	g->number = number;
	g->opened_ms = clock_ms();
	g->capture = capture_new(outside->base, &g->policy, event_cb, g);
	if (g->dns_connections)
		capture_bound(g->capture, g->dns_connections, g->dns_part);
	capture_forward(g->capture, outside->resolver, may_forward_cb);
	cfg.self = capture_self(g->capture);
	g->session = proxy_session(outside->proxy, &cfg);
	return 0;
}

void gate_watch(struct gate *g, const struct outside *outside)
{
	CLEANUP_FREE int *fds = xcalloc(g->nwatched + 1, sizeof(*fds));

	for (size_t i = 0; i < g->nwatched; i++)
		fds[i] = filemark_fd(g->marks, g->files[i]);
	g->reload = reload_new(outside->base, (const char *const *)g->files, fds, g->nwatched,
			       &g->since, reload_policy, g);
}

int gate_prove(struct gate *g, const struct netns_plan *net, const struct proof_plan **out,
	       struct error *err)
{
	if (prove_start(&g->prove, g->policy, net, err) < 0)
		return -1;
	*out = &g->prove.plan;
	return 0;
}

int gate_proven(struct gate *g, unsigned seen, struct error *err)
{
	return prove_finish(&g->prove, seen, err);
}

/* Gives one listener of the namespace to the part that serves it. */
static int serve_listener(struct gate *g, struct netns_listener *l, struct error *err)
{
	int fd = take_fd(&l->fd);

	prove_listener(&g->prove, l);
	switch ((enum netns_kind)l->kind) {
	case NETNS_PROXY:
		return session_listen(g->session, fd, LISTENER_PROXY, NULL, err);
	case NETNS_CAPTURE:
		return session_listen(g->session, fd, LISTENER_CAPTURE, NULL, err);
	case NETNS_DNS_UDP:
	case NETNS_DNS_TCP:
		return capture_listen(g->capture, (enum netns_kind)l->kind, fd, err);
	case NETNS_FORWARD:
		if (l->index >= g->forwards.n)
			break;
		return session_listen(g->session, fd, LISTENER_FORWARD,
				      &g->forwards.target[l->index], err);
	case NETNS_PUBLISH:
		break;
	}
	fd_close_foreign(fd);
	return error_set(err, 0, "the sandbox sent a descriptor that nobody asked for");
}

int gate_serve(struct gate *g, struct netns_listener *v, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (serve_listener(g, &v[i], err) < 0)
			return -1;
	}
	return 0;
}
