/*
 * run.c - `sbx-net run`: one command, confined, with the proxy in this process
 *
 * Theory of operation: everything that can fail without the command is done first (policy,
 * environment, working directory), then the namespaces are made and hand out their listeners, then
 * the proxy accepts on them, and only then the command is let go. Any failure ends with 125 before
 * the command runs.
 */
#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/capture.h"
#include "cli/commands.h"
#include "cli/forwards.h"
#include "cli/hostaddrs.h"
#include "cli/layers.h"
#include "cli/options.h"
#include "cli/refusals.h"
#include "cli/rules.h"
#include "cli/supervisor.h"
#include "dns/resolver.h"
#include "launcher/childenv.h"
#include "launcher/launcher.h"
#include "netns/netns.h"
#include "policy/policy.h"
#include "proxy/audit.h"
#include "proxy/proxy.h"

#define EXIT_ON_DENY 77

/* One run. Everything is released by run_clear(), whatever had been made. */
struct run {
	struct run_options options;
	struct layers *layers;
	struct forwards forwards;
	const struct policy *policy;
	struct policy *built;
	struct refusals *refusals;
	struct audit *audit;
	char *cwd;
	char **env;
	const char **paths[8];
	size_t npaths;
	struct launcher *launcher;
	struct netns_listener listeners[NETNS_LISTENERS_MAX];
	size_t nlisteners;
	struct event_base *base;
	struct resolver *resolver;
	struct hostaddrs *own;
	struct capture *capture;
	struct proxy *proxy;
	struct session *session;
};

static void run_clear(struct run *r)
{
	launcher_free(r->launcher);
	for (size_t i = 0; i < r->nlisteners; i++) {
		if (r->listeners[i].fd >= 0)
			(void)close(r->listeners[i].fd);
	}
	if (r->session)
		session_free(r->session);
	if (r->proxy)
		proxy_free(r->proxy);
	capture_free(r->capture);
	audit_close(r->audit);
	hostaddrs_free(r->own);
	resolver_free(r->resolver);
	if (r->base)
		event_base_free(r->base);
	childenv_free(r->env);
	for (size_t i = 0; i < r->npaths; i++)
		free(r->paths[i]);
	free(r->cwd);
	refusals_free(r->refusals);
	policy_free(r->built);
	layers_free(r->layers);
	run_options_clear(&r->options);
}

/* The proxy tells of a decision or a close. */
static void event_cb(void *arg, const struct proxy_event *ev)
{
	struct run *r = arg;
	char name[TARGET_TEXT_MAX];

	if (r->audit)
		audit_event(r->audit, ev);
	if (ev->kind == PROXY_EVENT_CLOSE) {
		log_info("conn=%llx event=close target=%s up=%llu down=%llu reason=%s",
			 (unsigned long long)ev->conn, target_format(ev->target, name),
			 (unsigned long long)ev->bytes_up, (unsigned long long)ev->bytes_down,
			 ev->reason ? ev->reason : "-");
		return;
	}
	log_info("conn=%llx event=%s target=%s via=%s code=%s rule=%s",
		 (unsigned long long)ev->conn,
		 ev->decision.verdict == VERDICT_ALLOW ? "allow" : "deny",
		 target_format(ev->target, name), target_via_name(ev->target->via),
		 policy_code_name(ev->decision.code),
		 ev->decision.rule ? ev->decision.rule->text : "-");
	if (ev->decision.code != CODE_OK)
		refusals_note(r->refusals, ev->target, &ev->decision);
}

/* Where the command starts: -C, else here; absolute and without symlinks. */
static int resolve_cwd(struct run *r, struct error *err)
{
	const char *dir = r->options.chdir ? r->options.chdir : ".";

	r->cwd = realpath(dir, NULL);
	if (!r->cwd)
		return error_set(err, errno, "cannot start in '%s'", dir);
	return 0;
}

static bool captures(const struct run *r)
{
	return !r->options.no_capture && layers_flag(r->layers, SETTINGS_CAPTURE) != SETTINGS_NO;
}

static int build_env(struct run *r, struct error *err)
{
	const struct childenv_plan plan = {
		.parent = environ,
		.wanted = r->options.env.v,
		.nwanted = r->options.env.n,
		.tmpdir = LAUNCHER_TMPDIR,
		.proxy_port = NETNS_PROXY_PORT,
		.capture = captures(r),
	};

	r->env = childenv_build(&plan, err);
	return r->env ? 0 : -1;
}

/* Paths of the command line and of the settings files, in one array which the run owns. */
static struct path_list paths(struct run *r, const struct option_strings *s,
			      enum settings_list_id id)
{
	size_t n;
	const char *const *from = layers_list(r->layers, id, &n);
	const char **v = xcalloc(s->n + n + 1, sizeof(*v));

	for (size_t i = 0; i < s->n; i++)
		v[i] = s->v[i];
	for (size_t i = 0; i < n; i++)
		v[s->n + i] = from[i];
	r->paths[r->npaths++] = v;
	return (struct path_list){ .v = v, .n = s->n + n };
}

static bool unix_sockets(struct run *r)
{
	size_t n;

	(void)layers_list(r->layers, SETTINGS_UNIX_SOCKETS, &n);
	return r->options.allow_unix_sockets || n > 0 ||
	       layers_flag(r->layers, SETTINGS_ALL_UNIX_SOCKETS) == SETTINGS_YES;
}

static enum fs_mode fs_mode(const struct run *r)
{
	if (layers_flag(r->layers, SETTINGS_FS_DISABLED) == SETTINGS_YES)
		return FS_OFF;
	return r->options.fs;
}

static int start_launcher(struct run *r, struct error *err)
{
	const struct run_options *o = &r->options;
	uint16_t ports[CAPTURE_PORTS_MAX];
	const struct netns_plan net = {
		.capture = captures(r),
		.ports = ports,
		.nports = capture_ports(r->policy, ports),
		.forwards = r->forwards.port,
		.nforwards = r->forwards.n,
	};
	struct launcher_plan plan = {
		.net = net,
		.argv = o->command,
		.envp = r->env,
		.cwd = r->cwd,
		.fs = fs_mode(r),
		.read = paths(r, &o->read, SETTINGS_ALLOW_READ),
		.write = paths(r, &o->write, SETTINGS_ALLOW_WRITE),
		.exec = paths(r, &o->exec, SETTINGS_ALLOW_EXEC),
		.deny_read = paths(r, &o->deny_read, SETTINGS_DENY_READ),
		.deny_write = paths(r, &o->deny_write, SETTINGS_DENY_WRITE),
		.allow_unix_sockets = unix_sockets(r),
		.pinned = o->pinned,
		.limits = o->limits,
		.nlimits = o->nlimits,
	};

	for (size_t i = 0; i < sizeof(plan.pin); i++)
		plan.pin[i] = o->pin[i];
	r->launcher = launcher_start(&plan, r->listeners, &r->nlisteners, err);
	return r->launcher ? 0 : -1;
}

static bool name_cb(void *arg, const struct addr *dialled, struct hostname *out)
{
	const struct run *r = arg;

	return capture_name(r->capture, dialled, out);
}

/* Gives one listener of the namespace to the part that serves it. */
static int serve_listener(struct run *r, struct netns_listener *l, struct error *err)
{
	int fd = take_fd(&l->fd);

	switch ((enum netns_kind)l->kind) {
	case NETNS_PROXY:
		return session_listen(r->session, fd, LISTENER_PROXY, NULL, err);
	case NETNS_CAPTURE:
		return session_listen(r->session, fd, LISTENER_CAPTURE, NULL, err);
	case NETNS_DNS_UDP:
	case NETNS_DNS_TCP:
		return capture_listen(r->capture, (enum netns_kind)l->kind, fd, err);
	case NETNS_FORWARD:
		if (l->index >= r->forwards.n)
			break;
		return session_listen(r->session, fd, LISTENER_FORWARD,
				      &r->forwards.target[l->index], err);
	case NETNS_NOTIFY:
	case NETNS_PUBLISH:
		break;
	}
	(void)close(fd);
	return error_set(err, 0, "the sandbox sent a descriptor that nobody asked for");
}

static int listen_all(struct run *r, struct error *err)
{
	const struct session_config cfg = {
		.policy = &r->policy,
		.own = hostaddrs_set(r->own),
		.event = event_cb,
		.name = name_cb,
		.arg = r,
	};

	r->capture = capture_new(r->base, &r->policy, event_cb, r);
	r->session = proxy_session(r->proxy, &cfg);
	for (size_t i = 0; i < r->nlisteners; i++) {
		if (serve_listener(r, &r->listeners[i], err) < 0)
			return -1;
	}
	return 0;
}

/* Each tunnel costs two descriptors; the command got the limits that we were given. */
static void raise_nofile(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &l);
	}
}

static int start_proxy(struct run *r, struct error *err)
{
	const struct resolver_config dns = { .servers = r->options.resolvers.v };

	raise_nofile();
	(void)signal(SIGPIPE, SIG_IGN);
	r->base = event_base_new();
	if (!r->base)
		return error_set(err, 0, "cannot make an event loop");
	r->resolver = resolver_new(r->base, &dns, err);
	if (!r->resolver)
		return error_wrap(err, "resolver");
	r->own = hostaddrs_new(r->base, err);
	if (!r->own)
		return -1;
	if (r->options.audit) {
		r->audit = audit_open(r->base, r->options.audit, err);
		if (!r->audit)
			return -1;
	}
	r->proxy = proxy_new(r->base, r->resolver, err);
	if (!r->proxy)
		return error_wrap(err, "proxy");
	return listen_all(r, err);
}

static int prepare(struct run *r, struct error *err)
{
	r->refusals = refusals_new(r->options.quiet);
	if (resolve_cwd(r, err) < 0)
		return -1;
	r->layers = layers_load(&r->options, r->cwd, err);
	if (!r->layers)
		return -1;
	r->built = rules_build(&r->options, r->layers, err);
	if (!r->built)
		return -1;
	r->policy = r->built;
	if (forwards_build(&r->forwards, &r->options, r->policy, err) < 0 || build_env(r, err) < 0)
		return -1;
	return start_launcher(r, err);
}

/* What the run leaves on stderr, and the status it ends with. */
static int finish(const struct run *r, int status)
{
	if (r->options.violations)
		refusals_block(r->refusals, stderr);
	if (r->options.exit_on_deny && status == 0 && refusals_total(r->refusals) > 0)
		return EXIT_ON_DENY;
	return status;
}

static int run(struct run *r)
{
	int status = LAUNCHER_EXIT_SETUP;
	struct error err = { 0 };

	if (prepare(r, &err) == 0 && start_proxy(r, &err) == 0) {
		const struct supervisor_config cfg = {
			.base = r->base,
			.launcher = r->launcher,
			.session = r->session,
			.timeout = r->options.timeout,
		};

		status = supervisor_run(&cfg, &err);
	}
	if (err.msg[0])
		(void)fprintf(stderr, "sbx-net: %s\n", err.msg);
	return finish(r, status);
}

int run_main(int argc, char **argv)
{
	struct run *r = calloc(1, sizeof(*r));
	int status;

	if (!r)
		return LAUNCHER_EXIT_SETUP;
	run_options_init(&r->options);
	status = command_options(&r->options, "run", argc, argv);
	if (status < 0) {
		if (r->options.verbose)
			log_set_level(r->options.verbose > 1 ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
		status = run(r);
	}
	run_clear(r);
	free(r);
	return status;
}
