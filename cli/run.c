/*
 * run.c - `sbx-net run`: one command, confined, with the proxy in this process
 *
 * Theory of operation: everything that can fail without the command is done first (policy,
 * environment, working directory), then the namespaces are made and hand out their listeners, then
 * the proxy accepts on them, and only then the command is let go. Any failure ends with 125 before
 * the command runs.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/forked.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/shellword.h"
#include "base/xalloc.h"
#include "cli/allowfrom.h"
#include "cli/ask/asking.h"
#include "cli/ask/whose.h"
#include "cli/commands.h"
#include "cli/confine.h"
#include "cli/filehint.h"
#include "cli/gate.h"
#include "cli/layers/layers.h"
#include "cli/report/learn.h"
#include "cli/lockdown.h"
#include "cli/options.h"
#include "cli/outside.h"
#include "cli/publish.h"
#include "cli/rules.h"
#include "cli/report/refusals.h"
#include "cli/report/report.h"
#include "cli/selfpath.h"
#include "cli/startline.h"
#include "cli/stdio.h"
#include "cli/supervisor.h"
#include "cli/report/tally.h"
#include "cli/terminal.h"
#include "cli/untouched.h"
#include "launcher/childenv.h"
#include "launcher/files/homes.h"
#include "launcher/inpipe.h"
#include "launcher/launcher.h"
#include "launcher/pty.h"
#include "netns/netns.h"
#include "proxy/limits.h"
#include "proxy/proxy.h"

#define EXIT_ON_DENY  77
#define LAST_WORDS_MS (10 * 1000) /* that who reads stderr may take for what is told at the end */

/* One run. Everything is released by run_clear(), whatever had been made. */
struct run {
	struct run_options options;
	char *cwd;
	struct gate *gate;
	struct asking *asking;
	char **env;
	const char **values[5];
	size_t nvalues;
	struct confine confine;
	struct launcher *launcher;
	struct inpipe input;
	struct publish *publish;
	struct netns_listener listeners[NETNS_LISTENERS_MAX];
	size_t nlisteners;
	struct outside outside;
	struct allowfrom *allowfrom;
	struct untouched *untouched;
	struct tally *tally;
	struct whose *whose;
	struct learn *learn;
	struct reports *reports;
	struct startline startline;
	char *git;	 /* what to say if git has failed */
	bool git_inside; /* its directory is in the workspace */
};

/* What git outside would have followed or run. */
static void tell_left(const struct launcher *l)
{
	size_t n;
	const char *const *lines = launcher_left(l, &n);

	for (size_t i = 0; i < n; i++)
		log_warn("%s", lines[i]);
}

/* Nothing of the command is left; what it wrote has been shown, and the terminal is ours again. */
static void end_launcher(struct run *r)
{
	publish_free(r->publish);
	r->publish = NULL;
	if (r->launcher) {
		launcher_kill(r->launcher);
		(void)launcher_wait(r->launcher);
	}
	inpipe_finish(&r->input);
	terminal_finish();
	stdio_put_back();
	log_set_patience(LAST_WORDS_MS);
	if (r->launcher)
		tell_left(r->launcher);
	launcher_free(r->launcher);
	r->launcher = NULL;
}

static void run_clear(struct run *r)
{
	end_launcher(r);
	for (size_t i = 0; i < r->nlisteners; i++)
		cleanup_close(&r->listeners[i].fd);
	gate_free(r->gate);
	asking_free(r->asking);
	untouched_free(r->untouched);
	outside_close(&r->outside);
	whose_free(r->whose);
	tally_free(r->tally);
	learn_free(r->learn);
	reports_free(r->reports);
	childenv_free(r->env);
	for (size_t i = 0; i < r->nvalues; i++)
		free(r->values[i]);
	confine_clear(&r->confine);
	free(r->cwd);
	free(r->git);
	run_options_clear(&r->options);
	allowfrom_free(r->allowfrom);
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
static struct path_list values(struct run *r, const struct option_strings *s,
			       enum settings_list_id id)
{
	size_t n;
	const char *const *from = layers_list(gate_layers(r->gate), id, &n);
	const char **v = xcalloc(s->n + n + 1, sizeof(*v));

	for (size_t i = 0; i < s->n; i++)
		v[i] = s->v[i];
	for (size_t i = 0; i < n; i++)
		v[s->n + i] = from[i];
	r->values[r->nvalues++] = v;
	return (struct path_list){ .v = v, .n = s->n + n };
}

/* Without file rules /tmp is everybody's, and TMPDIR what it was. */
static const char *tmpdir(const struct run *r)
{
	return confine_mode(&r->options, gate_layers(r->gate)) == FS_OFF ? getenv("TMPDIR")
									 : LAUNCHER_TMPDIR;
}

static bool has_repository(const char *dir)
{
	CLEANUP_FREE char *path = xasprintf("%s/.git", dir);
	struct stat st;

	return lstat(path, &st) == 0;
}

static int build_env(struct run *r, struct error *err)
{
	const struct path_list wanted = values(r, &r->options.env, SETTINGS_ENV_PASS);
	const struct path_list drop = values(r, &(struct option_strings){ 0 }, SETTINGS_ENV_DROP);
	const struct path_list write = values(r, &r->options.write, SETTINGS_ALLOW_WRITE);
	const char **writable = xcalloc(write.n + 2, sizeof(*writable));
	CLEANUP_FREE char *self = selfpath(), *left_out = NULL;
	struct childenv_plan plan = {
		.parent = environ,
		.wanted = wanted.v,
		.nwanted = wanted.n,
		.drop = drop.v,
		.ndrop = drop.n,
		.self = self,
		.tmpdir = tmpdir(r),
		.proxy_port = NETNS_PROXY_PORT,
		.capture = gate_captures(r->gate),
	};

	r->values[r->nvalues++] = writable;
	for (size_t i = 0; i < write.n; i++)
		writable[plan.nwritable++] = write.v[i];
	writable[plan.nwritable++] = LAUNCHER_TMPDIR;
	if (confine_mode(&r->options, gate_layers(r->gate)) != FS_STRICT)
		writable[plan.nwritable++] = r->cwd;
	if (confine_mode(&r->options, gate_layers(r->gate)) != FS_OFF) {
		plan.writable = writable;
		plan.git_locked = has_repository(r->cwd);
	}
	r->env = childenv_build(&plan, err);
	if (!r->env)
		return -1;
	if (r->options.verbose)
		left_out = childenv_left_out(environ, r->env);
	if (left_out)
		log_info("variables that are not passed on: %s; --env NAME passes one", left_out);
	return 0;
}

/* Where the command may write, policy files are read again only while they are locked. */
static void guard_files(struct run *r, const struct launcher_plan *plan)
{
	CLEANUP_FREE const char **roots = xcalloc(plan->write.n + 1, sizeof(*roots));
	size_t n = 0;

	for (; n < plan->write.n; n++)
		roots[n] = plan->write.v[n];
	if (plan->fs == FS_OFF)
		roots[n++] = "/";
	else if (plan->fs == FS_WORKSPACE)
		roots[n++] = plan->cwd;
	gate_guard(r->gate, roots, n);
}

static void look_at_files(struct run *r, const struct launcher_plan *plan)
{
	CLEANUP_FREE char *owner = r->options.quiet ? NULL : filehint_owner(plan);

	if (owner)
		log_warn("%s", owner);
	if (!r->options.quiet)
		r->git = filehint_git(plan, &r->git_inside);
}

/* An interactive command gets a terminal of its own, once nothing more can fail cheaply. */
static int start_launcher(struct run *r, struct error *err)
{
	const struct run_options *o = &r->options;
	struct launcher_plan plan = {
		.argv = o->command,
		.envp = r->env,
		.cwd = r->cwd,
		.publish = o->npublishes > 0,
		.accept_weaker = o->accept_weaker,
		.pinned = o->pinned,
		.limits = o->limits,
		.nlimits = o->nlimits,
	};
	size_t n;
	const char *const *files = gate_files(r->gate, &n);

	forked_limits_are_errors(); /* from here on we write what must not be left half done */
	plan.private_paths.v = asking_paths(r->asking, &plan.private_paths.n);
	for (size_t i = 0; i < sizeof(plan.pin); i++)
		plan.pin[i] = o->pin[i];
	gate_plan(r->gate, &plan.net);
	if (gate_prove(r->gate, &plan.net, &plan.proof, err) < 0)
		return -1;
	if (confine_plan(&r->confine, o, gate_layers(r->gate), files, n, &plan, err) < 0 ||
	    stdio_restrict(pty_wanted(), err) < 0 || inpipe_start(&r->input, err) < 0 ||
	    terminal_start(&plan.pty, err) < 0)
		return -1;
	plan.terminal_held = terminal_shared();
	plan.terminal_of_others = !plan.pty && stdio_terminal_of_others();
	guard_files(r, &plan);
	look_at_files(r, &plan);
	r->startline.fs = plan.fs;
	r->startline.capture = plan.net.capture;
	r->startline.unix_sockets = plan.allow_unix_sockets;
	r->startline.ptrace = plan.allow_ptrace;
	r->launcher = launcher_start(&plan, r->listeners, &r->nlisteners, err);
	terminal_started();
	inpipe_started(&r->input);
	if (!r->launcher)
		return -1;
	return terminal_keep(launcher_pidfd(r->launcher), !plan.terminal_of_others, err);
}

/* The last step before the command is let go. */
static int lock(struct run *r, struct error *err)
{
	struct lockdown_plan plan = { 0 };

	plan.files = gate_files(r->gate, &plan.nfiles);
	plan.tidy = launcher_tidy_dirs(r->launcher, &plan.ntidy);
	plan.sockets = asking_sockets(r->asking);
	plan.save = r->learn ? learn_dir(r->learn) : NULL;
	plan.peers.relay = terminal_relay();
	plan.peers.pidfd = launcher_pidfd(r->launcher);
	return lockdown_enter(&plan, err);
}

static int open_audit(struct run *r, struct error *err)
{
	if (!r->options.audit)
		return 0;
	if (startline_digest(*gate_policy(r->gate), r->startline.policy, err) < 0)
		return -1;
	return outside_audit(&r->outside, r->options.audit, r->options.audit_chain, err);
}

/* What the command cannot read, since it would take too long to grant. In others' places nobody misses it. */
static void tell_crowd(const struct launcher_crowd *c)
{
	if (c->path[0])
		log_line(access(c->path, W_OK) == 0 ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
			 "%s: so much is in this directory, in which or beneath which credentials "
			 "lie, "
			 "that the command cannot read %s; --read PATH grants what it needs",
			 c->path,
			 c->all ? "what is right in it" : "the files that are right in it");
}

static void tell_second(const char *path)
{
	char word[SHELLWORD_MAX(PATH_MAX)];

	if (path[0])
		log_warn("%s has another name (a hard link), by which the command can read it "
			 "where you "
			 "can; find / -xdev -samefile %s finds it",
			 path, shellword(word, sizeof(word), path));
}

/* The sandbox has been tried from inside; what we have seen of that has to agree. */
static int proven(void *arg, struct error *err)
{
	const struct run *r = arg;
	const struct launcher_proof *proof = launcher_proof(r->launcher);

	if (gate_proven(r->gate, proof->seen, err) < 0)
		return -1;
	if (r->outside.audit)
		startline_write(r->outside.audit, &r->startline, proof);
	tell_crowd(&proof->crowd);
	if (r->startline.fs == FS_WORKSPACE)
		tell_second(proof->second);
	return 0;
}

static void suspend_terminal(void *arg)
{
	(void)arg;
	terminal_pause();
}

/* A program that fills the screen draws it anew when it thinks that the window has changed. */
static void resume_terminal(void *arg)
{
	const struct run *r = arg;

	terminal_resume();
	if (r->launcher)
		launcher_signal(r->launcher, SIGWINCH);
}

static void interrupt_terminal(void *arg)
{
	(void)arg;
	terminal_interrupt();
}

static int open_asking(struct run *r, struct error *err)
{
	const struct asker_terminal shared = { .suspend = suspend_terminal,
					       .resume = resume_terminal,
					       .interrupt = interrupt_terminal,
					       .arg = r };
	const struct asking_host host = {
		.terminal = terminal_active() ? shared : (struct asker_terminal){ 0 },
		.base = r->outside.base,
		.init = launcher_pid(r->launcher),
		.audit = r->outside.audit,
		.policy = gate_policy(r->gate),
		.gate = r->gate,
	};

	return asking_open(r->asking, &host, err);
}

/* Where it is written down which programs connect. */
static int open_whose(struct run *r, struct error *err)
{
	r->whose = whose_new(launcher_pid(r->launcher), err);
	if (!r->whose)
		return -1;
	gate_set_whose(r->gate, r->whose);
	return 0;
}

/* What is told at the end; files are opened while they may be. */
static int prepare_end(struct run *r, struct error *err)
{
	const struct run_options *o = &r->options;
	const struct layers *l = gate_layers(r->gate);

	if (o->learn && (layers_managed_only(l) || layers_managed_unknown(l)))
		return error_set(err, 0, "--learn: the managed settings file rules unknown hosts");
	if (o->learn) {
		r->learn = learn_new(o->learn, err);
		if (!r->learn)
			return -1;
	}
	r->reports = reports_open(o->reports.v, o->reports.n, err);
	if (!r->reports)
		return -1;
	if (r->learn || o->reports.n > 0) {
		r->tally = tally_new();
		gate_set_tally(r->gate, r->tally);
	}
	return 0;
}

/* The only session of its process: there is nobody whose share of descriptors must be left. */
static void widen_limits(struct proxy *p)
{
	struct limits l = limits_default();

	l.session_connections = LONE_CONNECTIONS_MAX;
	proxy_set_limits(p, &l);
}

/* Where commands may write, now or in earlier runs, no link leads files of ours elsewhere. */
static void distrust(struct run *r)
{
	const struct path_list write = values(r, &r->options.write, SETTINGS_ALLOW_WRITE);

	guard_distrust(r->cwd);
	for (size_t i = 0; i < write.n; i++)
		guard_distrust(write.v[i]);
}

static int prepare(struct run *r, struct error *err)
{
	const char *const *servers;

	if (homes_check(err) < 0 || resolve_cwd(r, err) < 0)
		return -1;
	r->allowfrom = allowfrom_new(&r->options, r->cwd, err);
	if (!r->allowfrom)
		return -1;
	r->gate = gate_new(&r->options, r->cwd, NULL, err);
	if (!r->gate || build_env(r, err) < 0)
		return -1;
	distrust(r);
	if (r->options.ask == ASK_EXEC)
		r->untouched = untouched_new(&r->options, gate_layers(r->gate), r->cwd, err);
	if (r->options.ask == ASK_EXEC && !r->untouched)
		return -1;
	r->asking = asking_new(&r->options, r->cwd, r->untouched, err);
	if (!r->asking)
		return -1;
	gate_set_asking(r->gate, r->asking);
	if (prepare_end(r, err) < 0)
		return -1;
	r->publish = publish_new(r->options.publishes, r->options.npublishes, err);
	if (!r->publish || start_launcher(r, err) < 0)
		return -1;
	if (gate_resolvers(r->gate, &servers, err) < 0 ||
	    outside_open(&r->outside, servers, err) < 0)
		return -1;
	widen_limits(r->outside.proxy);
	if (open_audit(r, err) < 0)
		return -1;
	if ((r->options.audit || r->tally) && open_whose(r, err) < 0)
		return -1;
	if (open_asking(r, err) < 0 || gate_open(r->gate, &r->outside, 0, err) < 0)
		return -1;
	gate_watch(r->gate, &r->outside);
	if (gate_serve(r->gate, r->listeners, r->nlisteners, err) < 0)
		return -1;
	if (r->options.npublishes > 0 &&
	    publish_start(r->publish, r->outside.base, r->launcher, gate_session(r->gate), err) < 0)
		return -1;
	return lock(r, err);
}

/* A status that is not the command's own has its reason behind it, in the last line. */
static int exit_on_deny(const struct run *r, const struct refusals *refusals)
{
	const char *file = rules_kept_to(&r->options);
	uint64_t n = refusals_total(refusals);

	if (r->options.quiet)
		return EXIT_ON_DENY;
	if (file)
		(void)fprintf(stderr, "sbx-net: exit status %d: --locked keeps to %s, and",
			      EXIT_ON_DENY, file);
	else
		(void)fprintf(stderr,
			      "sbx-net: exit status %d: the command succeeded, but --exit-on-deny:",
			      EXIT_ON_DENY);
	if (n > 1)
		(void)fprintf(stderr, " %llu refusals, the first:", (unsigned long long)n);
	(void)fprintf(stderr, " %s\n", refusals_first(refusals));
	return EXIT_ON_DENY;
}

/* Where a host was refused, that has been said, and is why git failed. */
static void tell_of_git(const struct run *r, int status)
{
	const struct refusals *refusals = r->gate ? gate_refusals(r->gate) : NULL;

	if (!r->git || !filehint_is_git(r->options.command[0], status, r->git_inside) ||
	    (r->git_inside && refusals && refusals_total(refusals) > 0))
		return;
	log_fresh_line();
	(void)fprintf(stderr, "sbx-net: %s\n", r->git);
}

/* What the run leaves on stderr, and the status it ends with. */
static int finish(const struct run *r, int status)
{
	const struct refusals *refusals = r->gate ? gate_refusals(r->gate) : NULL;

	if (!refusals)
		return status;
	if (refusals_total(refusals) > 0)
		log_fresh_line();
	refusals_summary(refusals, stderr);
	if (r->options.violations)
		refusals_block(refusals, stderr);
	if (refusals_total(refusals) == 0)
		return status;
	if ((r->options.locked && status != LAUNCHER_EXIT_SETUP) ||
	    (r->options.exit_on_deny && status == 0))
		return exit_on_deny(r, refusals);
	return status;
}

/* Reports and what was learnt: -1 if any of it could not be written. */
static int tell(const struct run *r)
{
	struct error err;
	int rc = 0;

	if (r->tally)
		log_fresh_line();
	if (r->learn && learn_save(r->learn, r->tally, &err) < 0)
		rc = fprintf(stderr, "sbx-net: %s\n", err.msg);
	if (r->tally && reports_write(r->reports, r->tally, asking_command(r->asking),
				      layers_in_use(gate_layers(r->gate)), &err) < 0)
		rc = fprintf(stderr, "sbx-net: %s\n", err.msg);
	return rc ? -1 : 0;
}

/*
 * Where the kernel or a filter knows no such call, or refuses it, or a helper of ours has ended for
 * that, the host may be to blame.
 */
static void say_failure(const struct error *err, int status)
{
	bool host = err->code == ENOSYS || err->code == EPERM || err->code == EOPNOTSUPP ||
		    err->code == EPIPE || err->code == ECONNRESET;

	const char *inside = getenv("SBX_NET");

	(void)fprintf(stderr, "sbx-net: %s\n", err->msg);
	if (status == LAUNCHER_EXIT_SETUP && inside && strcmp(inside, "1") == 0)
		(void)fputs(
			"sbx-net: this runs inside of another sbx-net (SBX_NET=1), which refuses "
			"what a sandbox is made with\n",
			stderr);
	else if (status == LAUNCHER_EXIT_SETUP && host && !strstr(err->msg, "sbx-net doctor"))
		(void)fputs("sbx-net: 'sbx-net doctor' tries what a run needs on this host, and "
			    "names the remedy\n",
			    stderr);
}

static int run(struct run *r)
{
	int status = LAUNCHER_EXIT_SETUP;
	struct error err = { 0 };
	bool ran = prepare(r, &err) == 0;

	if (ran) {
		const struct supervisor_config cfg = {
			.base = r->outside.base,
			.launcher = r->launcher,
			.session = gate_session(r->gate),
			.asking = r->asking,
			.proven = proven,
			.arg = r,
			.timeout = r->options.timeout,
			.quiet = r->options.quiet,
		};

		err.msg[0] = '\0'; /* what a step that succeeded had tried first */
		status = supervisor_run(&cfg, &err);
	}
	end_launcher(r);
	if (r->gate)
		gate_end(r->gate);
	if (ran && err.msg[0])
		log_fresh_line();
	if (err.msg[0])
		say_failure(&err, status);
	if (ran)
		tell_of_git(r, status);
	status = finish(r, status);
	return ran && tell(r) < 0 ? LAUNCHER_EXIT_SETUP : status;
}

int run_main(int argc, char **argv)
{
	struct run *r = xcalloc(1, sizeof(*r));
	int status;

	r->input.caller = -1;
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
