/*
 * run.c - `sbx-net run`: one command, confined, with the proxy in this process
 *
 * Theory of operation: everything that can fail without the command is done first (policy,
 * environment, working directory), then the namespaces are made and hand out their listeners, then
 * the proxy accepts on them, and only then the command is let go. Any failure ends with 125 before
 * the command runs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/asking.h"
#include "cli/commands.h"
#include "cli/gate.h"
#include "cli/layers.h"
#include "cli/lockdown.h"
#include "cli/options.h"
#include "cli/outside.h"
#include "cli/privsock.h"
#include "cli/publish.h"
#include "cli/refusals.h"
#include "cli/selfpath.h"
#include "cli/supervisor.h"
#include "launcher/childenv.h"
#include "launcher/launcher.h"
#include "netns/netns.h"
#include "proxy/proxy.h"

#define EXIT_ON_DENY 77

/* One run. Everything is released by run_clear(), whatever had been made. */
struct run {
	struct run_options options;
	char *cwd, *serve_dir;
	struct gate *gate;
	struct asking *asking;
	char **env;
	const char **paths[8];
	size_t npaths;
	struct launcher *launcher;
	struct publish *publish;
	struct netns_listener listeners[NETNS_LISTENERS_MAX];
	size_t nlisteners;
	struct outside outside;
};

static void run_clear(struct run *r)
{
	publish_free(r->publish);
	launcher_free(r->launcher);
	for (size_t i = 0; i < r->nlisteners; i++)
		cleanup_close(&r->listeners[i].fd);
	gate_free(r->gate);
	asking_free(r->asking);
	outside_close(&r->outside);
	childenv_free(r->env);
	for (size_t i = 0; i < r->npaths; i++)
		free(r->paths[i]);
	free(r->cwd);
	free(r->serve_dir);
	run_options_clear(&r->options);
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

/* Values of the command line and of the settings files, in one array which the run owns. */
static struct path_list paths(struct run *r, const struct option_strings *s,
			      enum settings_list_id id)
{
	size_t n;
	const char *const *from = layers_list(gate_layers(r->gate), id, &n);
	const char **v = xcalloc(s->n + n + 1, sizeof(*v));

	for (size_t i = 0; i < s->n; i++)
		v[i] = s->v[i];
	for (size_t i = 0; i < n; i++)
		v[s->n + i] = from[i];
	r->paths[r->npaths++] = v;
	return (struct path_list){ .v = v, .n = s->n + n };
}

static int build_env(struct run *r, struct error *err)
{
	const struct path_list wanted = paths(r, &r->options.env, SETTINGS_ENV_PASS);
	const struct path_list drop = paths(r, &(struct option_strings){ 0 }, SETTINGS_ENV_DROP);
	CLEANUP_FREE char *self = selfpath();
	const struct childenv_plan plan = {
		.parent = environ,
		.wanted = wanted.v,
		.nwanted = wanted.n,
		.drop = drop.v,
		.ndrop = drop.n,
		.self = self,
		.tmpdir = LAUNCHER_TMPDIR,
		.proxy_port = NETNS_PROXY_PORT,
		.capture = gate_captures(r->gate),
	};

	r->env = childenv_build(&plan, err);
	return r->env ? 0 : -1;
}

static bool unix_sockets(const struct run *r)
{
	struct layers *l = gate_layers(r->gate);
	size_t n;

	(void)layers_list(l, SETTINGS_UNIX_SOCKETS, &n);
	return r->options.allow_unix_sockets || n > 0 ||
	       layers_flag(l, SETTINGS_ALL_UNIX_SOCKETS) == SETTINGS_YES;
}

static enum fs_mode fs_mode(const struct run *r)
{
	if (layers_flag(gate_layers(r->gate), SETTINGS_FS_DISABLED) == SETTINGS_YES)
		return FS_OFF;
	return r->options.fs;
}

/*
 * Places of ours that no grant may reach: saved answers and sockets. Those of serve too, which would
 * give what serve allows; without a runtime directory they lie where the answers are.
 */
static struct path_list private_paths(struct run *r)
{
	struct error err;
	size_t n;
	const char *const *from = asking_paths(r->asking, &n);
	const char **v = xcalloc(n + 2, sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = from[i];
	if (getenv("XDG_RUNTIME_DIR"))
		r->serve_dir = privsock_dir(&err);
	if (r->serve_dir)
		v[n++] = r->serve_dir;
	r->paths[r->npaths++] = v;
	return (struct path_list){ .v = v, .n = n };
}

static int start_launcher(struct run *r, struct error *err)
{
	const struct run_options *o = &r->options;
	struct launcher_plan plan = {
		.argv = o->command,
		.envp = r->env,
		.cwd = r->cwd,
		.fs = fs_mode(r),
		.read = paths(r, &o->read, SETTINGS_ALLOW_READ),
		.write = paths(r, &o->write, SETTINGS_ALLOW_WRITE),
		.exec = paths(r, &o->exec, SETTINGS_ALLOW_EXEC),
		.deny_read = paths(r, &o->deny_read, SETTINGS_DENY_READ),
		.deny_write = paths(r, &o->deny_write, SETTINGS_DENY_WRITE),
		.publish = o->npublishes > 0,
		.allow_unix_sockets = unix_sockets(r),
		.pinned = o->pinned,
		.limits = o->limits,
		.nlimits = o->nlimits,
	};

	plan.private_paths = private_paths(r);
	for (size_t i = 0; i < sizeof(plan.pin); i++)
		plan.pin[i] = o->pin[i];
	gate_plan(r->gate, &plan.net);
	r->launcher = launcher_start(&plan, r->listeners, &r->nlisteners, err);
	return r->launcher ? 0 : -1;
}

/* The last step before the command is let go. */
static int lock(struct run *r, struct error *err)
{
	size_t n;
	const char *const *files = gate_files(r->gate, &n);

	return lockdown_enter(files, n, asking_sockets(r->asking), err);
}

static int open_asking(struct run *r, struct error *err)
{
	const struct asking_host host = {
		.base = r->outside.base,
		.init = launcher_pid(r->launcher),
		.audit = r->outside.audit,
		.policy = gate_policy(r->gate),
	};

	return asking_open(r->asking, &host, err);
}

static int prepare(struct run *r, struct error *err)
{
	const char *const *servers;

	if (resolve_cwd(r, err) < 0)
		return -1;
	r->gate = gate_new(&r->options, r->cwd, err);
	if (!r->gate || build_env(r, err) < 0)
		return -1;
	r->asking = asking_new(&r->options, r->cwd, err);
	if (!r->asking)
		return -1;
	gate_set_asking(r->gate, r->asking);
	r->publish = publish_new(r->options.publishes, r->options.npublishes, err);
	if (!r->publish || start_launcher(r, err) < 0)
		return -1;
	if (gate_resolvers(r->gate, &servers, err) < 0 ||
	    outside_open(&r->outside, servers, err) < 0)
		return -1;
	if (r->options.audit &&
	    outside_audit(&r->outside, r->options.audit, r->options.audit_chain, err) < 0)
		return -1;
	if (open_asking(r, err) < 0 || gate_open(r->gate, &r->outside, 0, err) < 0 ||
	    gate_watch(r->gate, &r->outside, err) < 0)
		return -1;
	if (gate_serve(r->gate, r->listeners, r->nlisteners, err) < 0)
		return -1;
	if (r->options.npublishes > 0 &&
	    publish_start(r->publish, r->outside.base, r->launcher, gate_session(r->gate), err) < 0)
		return -1;
	return lock(r, err);
}

/* What the run leaves on stderr, and the status it ends with. */
static int finish(const struct run *r, int status)
{
	const struct refusals *refusals = r->gate ? gate_refusals(r->gate) : NULL;

	if (!refusals)
		return status;
	refusals_summary(refusals, stderr);
	if (r->options.violations)
		refusals_block(refusals, stderr);
	if (r->options.exit_on_deny && status == 0 && refusals_total(refusals) > 0)
		return EXIT_ON_DENY;
	return status;
}

static int run(struct run *r)
{
	int status = LAUNCHER_EXIT_SETUP;
	struct error err = { 0 };

	if (prepare(r, &err) == 0) {
		const struct supervisor_config cfg = {
			.base = r->outside.base,
			.launcher = r->launcher,
			.session = gate_session(r->gate),
			.reload = gate_reload(r->gate),
			.asking = r->asking,
			.timeout = r->options.timeout,
		};

		err.msg[0] = '\0'; /* what a step that succeeded had tried first */
		status = supervisor_run(&cfg, &err);
	}
	if (err.msg[0])
		(void)fprintf(stderr, "sbx-net: %s\n", err.msg);
	return finish(r, status);
}

int run_main(int argc, char **argv)
{
	struct run *r = xcalloc(1, sizeof(*r));
	int status;

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
