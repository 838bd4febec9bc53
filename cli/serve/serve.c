/*
 * serve.c - `sbx-net serve`: one proxy for many sandboxes that others have made
 *
 * Theory of operation: proxy.sock speaks HTTP and SOCKS under serve's own policy, for bridges that
 * know nothing of us; control.sock takes sessions (attach.c), each with a gate of its own. Both are
 * opened, by us or by a service manager, before the process confines itself. SIGHUP, a change of a
 * settings file and `reload` read every policy again. SIGTERM drains: the sockets close, what is
 * connected goes on for DRAIN_S at most, a second signal ends it at once. So does the end of the usher,
 * without which no sandbox can attach: the status says that it was a failure, and a service manager starts
 * another serve.
 */
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/serve/attach.h"
#include "cli/allowfrom.h"
#include "cli/ask/whose.h"
#include "cli/commands.h"
#include "cli/gate.h"
#include "cli/lockdown.h"
#include "cli/options.h"
#include "cli/outside.h"
#include "cli/privsock.h"
#include "cli/report/refusals.h"
#include "cli/reload.h"
#include "cli/serve/attach.h"
#include "cli/serve/systemd.h"
#include "cli/serve/usher.h"
#include "launcher/launcher.h"
#include "proxy/proxy.h"

#define DRAIN_S	      10
#define DRAIN_STEP_MS 50
#define NAMES_MS      500 /* how often the sockets' names are looked at */

/* Everything is released by serve_clear(), whatever had been made. */
struct serve {
	struct run_options options;
	struct allowfrom *allowfrom;
	char *cwd, *dir;
	struct gate *gate;
	struct outside outside;
	struct attach *attach;
	struct whose *whose;
	struct usher *usher;
	struct reload *reload;
	struct timespec since; /* before the settings were read */
	struct privsock proxy, control;
	struct systemd_socket passed[SYSTEMD_SOCKETS_MAX];
	size_t npassed;
	int notify;
	struct event term, intr, hup, drain, names, usher_gone;
	bool draining, watching, failed;
	unsigned drained_ms;
};

static void serve_clear(struct serve *s)
{
	if (s->watching) {
		(void)event_del(&s->term);
		(void)event_del(&s->intr);
		(void)event_del(&s->hup);
		(void)event_del(&s->drain);
		(void)event_del(&s->names);
		(void)event_del(&s->usher_gone);
	}
	reload_free(s->reload);
	attach_free(s->attach);
	usher_free(s->usher);
	whose_free(s->whose);
	gate_free(s->gate);
	outside_close(&s->outside);
	privsock_close(&s->proxy);
	privsock_close(&s->control);
	for (size_t i = 0; i < s->npassed; i++)
		cleanup_close(&s->passed[i].fd);
	cleanup_close(&s->notify);
	free(s->cwd);
	free(s->dir);
	run_options_clear(&s->options);
	allowfrom_free(s->allowfrom);
}

/* ---- signals */

static void reload_all(void *arg)
{
	struct serve *s = arg;

	attach_reload(s->attach);
}

static void hup_cb(evutil_socket_t sig, short what, void *arg)
{
	struct serve *s = arg;

	(void)sig, (void)what;
	reload_soon(s->reload);
}

static void drain_cb(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval step = { .tv_usec = DRAIN_STEP_MS * 1000 };
	struct serve *s = arg;

	(void)fd, (void)what;
	s->drained_ms += DRAIN_STEP_MS;
	if (attach_connections(s->attach) == 0 || s->drained_ms > DRAIN_S * 1000)
		(void)event_base_loopbreak(s->outside.base);
	else
		(void)event_add(&s->drain, &step);
}

static void drain(struct serve *s)
{
	s->draining = true;
	(void)event_del(&s->usher_gone);
	systemd_notify(s->notify, "STOPPING=1");
	(void)event_del(&s->names);
	attach_drain(s->attach);
	privsock_close(&s->proxy);
	privsock_close(&s->control);
	drain_cb(-1, 0, s);
}

static void term_cb(evutil_socket_t sig, short what, void *arg)
{
	struct serve *s = arg;

	(void)sig, (void)what;
	if (s->draining)
		(void)event_base_loopbreak(s->outside.base);
	else
		drain(s);
}

static void usher_gone_cb(evutil_socket_t fd, short what, void *arg)
{
	struct serve *s = arg;

	(void)fd, (void)what;
	log_error(USHER_GONE "; what is connected has %d s", DRAIN_S);
	s->failed = true;
	drain(s);
}

/*
 * A sandbox that may write the directory can put its own socket in the place of ours, and is then
 * given the listeners of the next one. That cannot be prevented here, but it does not go unsaid.
 */
static void names_cb(evutil_socket_t fd, short what, void *arg)
{
	struct serve *s = arg;
	const struct privsock *v[] = { &s->proxy, &s->control };

	(void)fd, (void)what;
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		if (privsock_is_named(v[i]))
			continue;
		log_warn("%s/%s has been removed or replaced, and leads here no more: whoever did "
			 "it may answer the sandboxes that attach from now on; start serve again, "
			 "and hand its directory to sandboxes read-only (:ro, --ro-bind)",
			 s->dir, v[i]->name);
		(void)event_del(&s->names); /* once */
		return;
	}
}

static int watch_signals(struct serve *s, struct error *err)
{
	struct event_base *base = s->outside.base;

	(void)evsignal_assign(&s->term, base, SIGTERM, term_cb, s);
	(void)evsignal_assign(&s->intr, base, SIGINT, term_cb, s);
	(void)evsignal_assign(&s->hup, base, SIGHUP, hup_cb, s);
	(void)event_assign(&s->drain, base, -1, 0, drain_cb, s);
	(void)event_assign(&s->names, base, -1, EV_PERSIST, names_cb, s);
	(void)event_assign(&s->usher_gone, base, usher_fd(s->usher), EV_READ, usher_gone_cb, s);
	s->watching = true;
	if (event_add(&s->term, NULL) < 0 || event_add(&s->intr, NULL) < 0 ||
	    event_add(&s->hup, NULL) < 0 || event_add(&s->usher_gone, NULL) < 0)
		return error_set(err, errno, "cannot watch for signals");
	return 0;
}

/* ---- setting up */

/* A descriptor of the proxy's is closed by the session; the name stays ours. */
static int serve_proxy(struct serve *s, int fd, struct error *err)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (copy < 0)
		return error_set(err, errno, "cannot duplicate a descriptor");
	(void)fd_pass_rights(copy, false); /* attach.c says what else there is where this fails */
	return session_listen(gate_session(s->gate), copy, LISTENER_PROXY, NULL, err);
}

static int explain_taken(const char *dir, struct error *err)
{
	return error_set(
		err, 0,
		"another process serves in %s; to serve beside it, name another directory: "
		"--dir DIR",
		dir);
}

/* The sockets that a service manager passed in, or else our own. */
static int open_sockets(struct serve *s, struct error *err)
{
	const struct timeval names = { .tv_usec = NAMES_MS * 1000 };

	if (systemd_sockets(s->passed, &s->npassed, err) < 0)
		return -1;
	for (size_t i = 0; i < s->npassed; i++) {
		int fd = s->passed[i].fd;
		int rc = s->passed[i].kind == SYSTEMD_CONTROL ? attach_listen(s->attach, fd, err)
							      : serve_proxy(s, fd, err);

		if (rc < 0)
			return -1;
	}
	if (s->npassed > 0)
		return 0;
	s->dir = s->options.dir ? xstrdup(s->options.dir) : privsock_dir(err);
	if (!s->dir)
		return -1;
	if (privsock_listen(&s->proxy, s->dir, "proxy.sock", err) < 0 ||
	    privsock_listen(&s->control, s->dir, "control.sock", err) < 0)
		return err->code == EADDRINUSE ? explain_taken(s->dir, err) : -1;
	(void)event_add(&s->names, &names);
	if (serve_proxy(s, s->proxy.fd, err) < 0)
		return -1;
	return attach_listen(s->attach, s->control.fd, err);
}

static int open_gate(struct serve *s, struct error *err)
{
	const char *const *servers;

	s->cwd = realpath(".", NULL);
	if (!s->cwd)
		return error_set(err, errno, "cannot tell the current directory");
	s->allowfrom = allowfrom_new(&s->options, s->cwd, err);
	if (!s->allowfrom)
		return -1;
	s->since = reload_now();
	s->gate = gate_new(&s->options, s->cwd, NULL, err);
	if (!s->gate || gate_resolvers(s->gate, &servers, err) < 0 ||
	    outside_open(&s->outside, servers, err) < 0)
		return -1;
	if (s->options.audit &&
	    outside_audit(&s->outside, s->options.audit, s->options.audit_chain, err) < 0)
		return -1;
	return gate_open(s->gate, &s->outside, 0, err);
}

static int prepare(struct serve *s, struct error *err)
{
	const char *const *files, *const *watched;
	size_t n, nwatched;

	if (open_gate(s, err) < 0)
		return -1;
	if (s->options.audit) {
		s->whose = whose_new(0, err);
		if (!s->whose)
			return -1;
	}
	s->usher = usher_start(err);
	if (!s->usher)
		return -1;
	s->attach = attach_new(&(struct attach_config){ .outside = &s->outside,
							.options = &s->options,
							.cwd = s->cwd,
							.usher = s->usher,
							.whose = s->whose,
							.base = s->gate });
	/* Whoever finds the sockets may end us at once; the loop hears of it when it starts. */
	if (watch_signals(s, err) < 0 || open_sockets(s, err) < 0)
		return -1;
	files = gate_files(s->gate, &n);
	watched = gate_watched(s->gate, &nwatched);
	s->reload = reload_new(s->outside.base, watched, NULL, nwatched, &s->since, reload_all, s);
	attach_set_files(s->attach, s->reload);
	s->notify = systemd_notify_open();
	return lockdown_enter(
		&(struct lockdown_plan){ .files = files, .nfiles = n, .sockets = s->dir }, err);
}

static int serve(struct serve *s)
{
	struct error err = { 0 };
	int rc = prepare(s, &err);

	if (rc == 0) {
		systemd_notify(s->notify, "READY=1");
		if (s->dir && !s->options.quiet)
			(void)fprintf(stderr, "sbx-net: serving in %s\n", s->dir);
		if (event_base_dispatch(s->outside.base) < 0)
			rc = error_set(&err, 0, "the event loop failed");
		refusals_summary(gate_refusals(s->gate), stderr);
		if (rc == 0 && s->failed)
			rc = error_set(&err, 0, "ended: " USHER_GONE);
	}
	if (rc == 0)
		return 0;
	(void)fprintf(stderr, "sbx-net: %s\n", err.msg);
	return LAUNCHER_EXIT_SETUP;
}

int serve_main(int argc, char **argv)
{
	struct serve *s = xcalloc(1, sizeof(*s));
	int status;

	s->proxy = s->control = PRIVSOCK_NONE;
	s->notify = -1;
	run_options_init(&s->options);
	status = command_options(&s->options, "serve", argc, argv);
	if (status < 0 && s->options.ncommand > 0) {
		(void)fprintf(stderr, "sbx-net: usage: sbx-net serve [OPTION]...\n");
		status = OPTIONS_EXIT_USAGE;
	}
	if (status < 0) {
		if (s->options.verbose)
			log_set_level(s->options.verbose > 1 ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
		status = serve(s);
	}
	serve_clear(s);
	free(s);
	return status;
}
