/*
 * join.c - `sbx-net bridge`: inside somebody else's empty network namespace, join it to a proxy
 *
 * Theory of operation: the namespace is looked at first; if it leads anywhere, nothing runs. Where
 * the proxy is ours, the listeners are made here and handed over on control.sock, and the proxy
 * accepts on them from outside: this process then only holds the connection that keeps the session
 * alive. Where it is a foreign one, this process relays by copying.
 *
 * With CAP_NET_ADMIN over the namespace (unshare -rn, a container that is given it) everything is
 * served: any address and port, and names. Without (bubblewrap, a service manager) it is the proxy
 * variables and forwarded ports only.
 *
 * Whatever the command does to this process leaves it with an empty namespace: killing it ends the
 * session, and what it holds is a connection on which nothing more can be asked for.
 */
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/closefds.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/shellword.h"
#include "base/xalloc.h"
#include "cli/serve/attach_message.h"
#include "cli/stats.h"
#include "cli/commands.h"
#include "cli/drain.h"
#include "cli/options.h"
#include "cli/privsock.h"
#include "cli/selfpath.h"
#include "cli/stdio.h"
#include "launcher/childenv.h"
#include "launcher/launcher.h"
#include "launcher/program.h"
#include "netns/bridge.h"
#include "netns/emptyns.h"
#include "netns/netns.h"
#include "netns/relay.h"

#define FIRST_FREE_PORT 1024 /* below it a listener needs a capability, usually */
#define REPLY_TIMEOUT_S 20
#define LEAVE_MS	(65 * 1000) /* longer than serve takes (attach.c) */
#define RELAY_STEP_MS	5
#define PROBE_TIMEOUT_S 5 /* to find out whose socket it is */

/**
 * struct join - one bridge; everything is released by join_clear()
 * @control: path of the control socket, or NULL when the proxy is a foreign one
 * @full: CAP_NET_ADMIN over the namespace
 * @capture: programs that know no proxy are served
 * @session: the connection that keeps the session alive, or -1
 * @map: for each listener of kind forward that is made here, its index over there
 */
struct join {
	struct run_options options;
	char *control;
	bool full, capture;
	int session;
	char heard[ATTACH_LINE_MAX];
	size_t nheard;
	struct relay *relay;
	struct attach_reply reply;
	struct netns_listener v[NETNS_LISTENERS_MAX];
	size_t n;
	uint16_t forwards[FORWARDS_MAX], map[FORWARDS_MAX];
	size_t nforwards;
	char **env;
	char *path;
};

static void join_clear(struct join *j)
{
	while (j->n > 0)
		cleanup_close(&j->v[--j->n].fd);
	relay_free(j->relay);
	cleanup_close(&j->session);
	childenv_free(j->env);
	free(j->path);
	free(j->control);
	run_options_clear(&j->options);
}

/* ---- the namespace */

static bool have_net_admin(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return syscall(SYS_capget, &head, data) == 0 &&
	       (data[0].effective & (1U << CAP_NET_ADMIN)) != 0;
}

/* Whether this process or what it runs may raise an interface: by a capability it has, or may gain. */
static bool may_get_net_admin(void)
{
	return have_net_admin() || (prctl(PR_CAPBSET_READ, CAP_NET_ADMIN) != 0 &&
				    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1);
}

/* What was opened outside of the namespace leads out of it, and only 0, 1 and 2 are meant to. */
static int look_around(struct join *j, struct error *err)
{
	bool lo_up = false;

	if (closefds_except(NULL, 0, err) < 0 || stdio_check(err) < 0)
		return -1;
	if (emptyns_check(may_get_net_admin(), &lo_up, err) < 0)
		return -1;
	j->full = have_net_admin();
	if (j->full || lo_up)
		return 0;
	return error_set(err, 0,
			 "the loopback of this network namespace is down, and only CAP_NET_ADMIN "
			 "may raise it");
}

/* Without capabilities, ports below 1024 are left out. */
static void choose_forwards(struct join *j)
{
	for (size_t i = 0; i < j->reply.nforwards; i++) {
		if (!j->full && j->reply.forwards[i] < FIRST_FREE_PORT) {
			log_warn("port %u is not forwarded: it needs CAP_NET_BIND_SERVICE",
				 j->reply.forwards[i]);
			continue;
		}
		j->map[j->nforwards] = (uint16_t)i;
		j->forwards[j->nforwards++] = j->reply.forwards[i];
	}
}

static int make_listeners(struct join *j, struct error *err)
{
	const struct netns_plan plan = {
		.bare = !j->full,
		.capture = j->capture,
		.ports = j->reply.ports,
		.nports = j->reply.nports,
		.forwards = j->forwards,
		.nforwards = j->nforwards,
	};

	if (netns_setup(&plan, j->v, &j->n, err) < 0)
		return -1;
	for (size_t i = 0; i < j->n; i++)
		if (j->v[i].kind == NETNS_FORWARD)
			j->v[i].index = j->map[j->v[i].index];
	return 0;
}

/* ---- a proxy of ours */

static bool is_socket(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/*
 * Whether what listens there speaks as serve does on its control socket: a mount or a link may give
 * it any name. Another proxy sees a client that sends no request and has ended.
 */
static bool speaks_ours(const char *path)
{
	static const char question[] = "{\"op\":\"stats\"}\n";
	const struct timeval patience = { .tv_sec = PROBE_TIMEOUT_S };
	struct error ignored;
	CLEANUP_CLOSE int fd = privsock_connect_any(path, &ignored);
	char answer = '\0';

	if (fd < 0)
		return false;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd_write_all(fd, question, strlen(question)) == 0 && shutdown(fd, SHUT_WR) == 0 &&
	       recv(fd, &answer, 1, 0) == 1 && answer == '{';
}

static int no_socket(const char *path, struct error *err)
{
	return error_set(err, 0,
			 "there is no socket '%s'; start the proxy first, outside of the sandbox: "
			 "sbx-net serve [--dir DIR] (it listens at DIR/control.sock)",
			 path);
}

/* Fills @j->control: the control socket that belongs to --socket; NULL where the proxy is foreign. */
static int find_control(struct join *j, struct error *err)
{
	const char *path = j->options.socket, *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	CLEANUP_FREE char *beside = NULL;
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		beside = xasprintf("%s/control.sock", path);
	else if (strcmp(name, "proxy.sock") == 0)
		beside = xasprintf("%.*scontrol.sock", (int)(name - path), path);
	if (beside && is_socket(beside))
		j->control = take_ptr(beside);
	else if (!is_socket(path))
		return no_socket(beside ? beside : path, err);
	else if (strcmp(name, "control.sock") == 0 || (!beside && speaks_ours(path)))
		j->control = xstrdup(path);
	return 0;
}

/* One line; what is behind it stays. */
static int read_reply(int fd, struct attach_reply *out, struct error *err)
{
	CLEANUP_FREE char *line = xmalloc(ATTACH_LINE_MAX);
	size_t n = 0;

	while (n < ATTACH_LINE_MAX && (n == 0 || line[n - 1] != '\n')) {
		ssize_t r = read(fd, line + n, 1);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return error_set(err, r < 0 ? errno : 0, "the server gave no answer");
		n++;
	}
	return attach_reply_parse(line, n, out, err);
}

static int request_session(struct join *j, struct error *err)
{
	const struct run_options *o = &j->options;
	struct attach_request r = { .op = ATTACH_OP_ATTACH, .capture = j->capture };
	CLEANUP_FREE char *line = NULL;
	char command[STATS_COMMAND_MAX];

	for (size_t i = 0; i < o->rules.n; i++)
		attach_list_add(o->rules.v[i].id == OPT_ONLY ? &r.only : &r.deny,
				o->rules.v[i].value);
	for (size_t i = 0; i < o->nforwards; i++)
		attach_list_add(&r.forward, o->forwards[i].text);
	r.command = xstrdup(options_command_text(o, command, sizeof(command)));
	line = attach_request_format(&r);
	attach_request_clear(&r);
	if (fd_write_all(j->session, line, strlen(line)) < 0)
		return error_set(err, errno, "cannot ask for a session");
	return read_reply(j->session, &j->reply, err);
}

static int attach_ours(struct join *j, struct error *err)
{
	const struct timeval patience = { .tv_sec = REPLY_TIMEOUT_S };
	struct attach_reply done;

	j->session = privsock_connect(j->control, err);
	if (j->session < 0)
		return -1;
	(void)setsockopt(j->session, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (request_session(j, err) < 0)
		return -1;
	if (j->reply.netns != 0 && j->reply.netns == attach_netns())
		return error_set(err, 0, "this is the network namespace of the proxy itself");
	j->capture = j->reply.capture;
	choose_forwards(j);
	if (make_listeners(j, err) < 0 || bridge_send(j->session, j->v, j->n, err) < 0)
		return -1;
	return read_reply(j->session, &done, err);
}

/* ---- a foreign proxy */

static int attach_foreign(struct join *j, struct error *err)
{
	const char *path = j->options.socket;
	CLEANUP_CLOSE int probe = -1;

	if (j->options.rules.n || j->options.nforwards)
		return error_set(
			err, 0,
			"'%s' is not the control.sock of sbx-net serve: another proxy takes no "
			"--only, --deny or --forward",
			path);
	j->relay = relay_new(path, err);
	if (!j->relay)
		return -1;
	probe = privsock_connect_any(path, err);
	if (probe < 0)
		return -1;
	j->capture = false;
	if (make_listeners(j, err) < 0)
		return -1;
	for (size_t i = 0; i < j->n; i++)
		if (relay_listen(j->relay, take_fd(&j->v[i].fd), err) < 0)
			return -1;
	return 0;
}

/* ---- the command */

static int build_env(struct join *j, struct error *err)
{
	CLEANUP_FREE char *self = selfpath();
	const struct childenv_plan plan = {
		.parent = environ,
		.keep = true,
		.proxy_port = NETNS_PROXY_PORT,
		.capture = j->capture,
		.self = self,
	};

	j->env = childenv_build(&plan, err);
	return j->env ? 0 : -1;
}

/*
 * From a process: passed on. From the terminal: the command got it, too, and it is the command's
 * status that counts.
 */
static const int passed_on[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

static int block_signals(sigset_t *old, struct error *err)
{
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
		(void)sigaddset(&set, passed_on[i]);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0 || sigprocmask(SIG_BLOCK, &set, old) < 0)
		return error_set(err, errno, "cannot watch for signals");
	return fd;
}

static void run_command(const struct join *j, const sigset_t *mask) __attribute__((noreturn));

static void run_command(const struct join *j, const sigset_t *mask)
{
	int code;

	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)execvpe(j->path, j->options.command, j->env);
	code = errno;
	(void)fprintf(stderr, "sbx-net: cannot run %s: %s\n", j->options.command[0],
		      strerror(code));
	_exit(program_exit_code(code));
}

/* Return: the command's status as a shell gives it, or -1 while it runs. */
static int hear_signals(int fd, pid_t command)
{
	struct signalfd_siginfo info;
	int status;

	while (read(fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGCHLD && info.ssi_code != SI_KERNEL)
			(void)kill(command, (int)info.ssi_signo);
	}
	if (waitpid(command, &status, WNOHANG) != command)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Whose options a hint names: --only may be our own, which bounds this session. */
static const char *whose_options(const struct join *j, const char *text)
{
	const char *hint = strstr(text, "allow with: ");

	if (!hint)
		return "";
	for (size_t i = 0; i < j->options.rules.n; i++)
		if (j->options.rules.v[i].id == OPT_ONLY && strstr(hint, "--only "))
			return strstr(hint, "--allow ")
				       ? " (--allow of sbx-net serve, --only of this bridge)"
				       : " (of this bridge)";
	return " (of sbx-net serve)";
}

/* A line from the server: what was refused. */
static void hear_line(const struct join *j, const char *line, size_t n)
{
	char text[ATTACH_TEXT_MAX], shown[2 * ATTACH_TEXT_MAX];
	CLEANUP_FREE char *said = NULL;

	if (j->options.quiet || !attach_refused_parse(line, n, text))
		return;
	said = xasprintf("sbx-net: %s%s\n", log_escape(shown, sizeof(shown), text, strlen(text)),
			 whose_options(j, text));
	log_raw(said, strlen(said));
}

static void hear_lines(struct join *j)
{
	const char *end;

	while ((end = memchr(j->heard, '\n', j->nheard))) {
		size_t n = (size_t)(end - j->heard) + 1;

		hear_line(j, j->heard, n);
		j->nheard -= n;
		memmove(j->heard, j->heard + n, j->nheard);
	}
}

/* Return: false when the server has ended. */
static bool hear_server(struct join *j)
{
	ssize_t n =
		recv(j->session, j->heard + j->nheard, sizeof(j->heard) - j->nheard, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	j->nheard += (size_t)n;
	hear_lines(j);
	return j->nheard < sizeof(j->heard);
}

static void session_lost(struct join *j)
{
	static const char text[] =
		"sbx-net: the proxy has ended; there is no network from here on, "
		"not with a new proxy either: start the command again\n";

	log_raw(text, sizeof(text) - 1);
	cleanup_close(&j->session);
	j->session = -1;
}

/*
 * The command has ended, and what it had sent is delivered over there. Whoever sends us a signal does not
 * want to wait for that.
 */
static void leave(struct join *j, int signals)
{
	const uint64_t end = clock_ms() + LEAVE_MS;
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) == sizeof(info))
		; /* they were meant for the command */
	if (send(j->session, ATTACH_BYE, strlen(ATTACH_BYE), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
	for (;;) {
		struct pollfd p[] = {
			{ .fd = signals, .events = POLLIN },
			{ .fd = j->session, .events = POLLIN },
		};
		uint64_t now = clock_ms();

		if (now >= end || (poll(p, ARRAY_SIZE(p), (int)(end - now)) < 0 && errno != EINTR))
			return;
		if (p[1].revents && !hear_server(j))
			return;
		while (read(signals, &info, sizeof(info)) == sizeof(info))
			if (info.ssi_signo != SIGCHLD)
				return;
	}
}

static bool is_signalled(int signals)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			return true;
	return false;
}

/* The same where we ourselves carry it: as long as some of it moves. */
static void leave_relay(struct join *j, int signals)
{
	struct pollfd p = { .fd = relay_fd(j->relay), .events = POLLIN };
	uint64_t stalled = clock_ms(), moved, before = 0;
	char text[DRAIN_TEXT_MAX];
	unsigned quiet = 0;
	size_t left;

	while (quiet < 2 && clock_ms() - stalled < DRAIN_STALL_MS && !is_signalled(signals)) {
		(void)poll(&p, 1, RELAY_STEP_MS);
		relay_turn(j->relay);
		left = relay_undelivered(j->relay, &moved);
		quiet = left || moved != before ? 0 : quiet + 1;
		if (moved != before)
			stalled = clock_ms();
		before = moved;
	}
	left = relay_undelivered(j->relay, &moved);
	if (left && !j->options.quiet)
		(void)fprintf(stderr, "sbx-net: %s\n", drain_text(left, text));
}

static int wait_for(struct join *j, int signals, pid_t command)
{
	for (;;) {
		struct pollfd p[] = {
			{ .fd = signals, .events = POLLIN },
			{ .fd = j->session, .events = POLLIN },
			{ .fd = j->relay ? relay_fd(j->relay) : -1, .events = POLLIN },
		};
		int status;

		if (poll(p, ARRAY_SIZE(p), -1) < 0 && errno != EINTR)
			return LAUNCHER_EXIT_SETUP;
		if (p[2].revents)
			relay_turn(j->relay);
		if (p[1].revents && !hear_server(j))
			session_lost(j);
		status = p[0].revents ? hear_signals(signals, command) : -1;
		if (status >= 0 && j->session >= 0)
			leave(j, signals);
		if (status >= 0 && j->relay)
			leave_relay(j, signals);
		if (status >= 0)
			return status;
	}
}

static int run(struct join *j, struct error *err)
{
	CLEANUP_CLOSE int signals = -1;
	sigset_t old;
	pid_t command;

	(void)signal(SIGPIPE, SIG_IGN);
	signals = block_signals(&old, err);
	if (signals < 0)
		return LAUNCHER_EXIT_SETUP;
	command = fork();
	if (command < 0) {
		(void)error_set(err, errno, "cannot fork");
		return LAUNCHER_EXIT_SETUP;
	}
	if (command == 0)
		run_command(j, &old);
	/* The session's connection is not the command's to take (ptrace, /proc/PID/fd). */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return wait_for(j, signals, command);
}

static int join(struct join *j, struct error *err)
{
	int status;

	if (look_around(j, err) < 0)
		return LAUNCHER_EXIT_SETUP;
	j->capture = j->full && !j->options.no_capture;
	if (find_control(j, err) < 0 ||
	    (j->control ? attach_ours(j, err) : attach_foreign(j, err)) < 0)
		return LAUNCHER_EXIT_SETUP;
	while (j->n > 0)
		cleanup_close(&j->v[--j->n].fd);
	if (build_env(j, err) < 0)
		return LAUNCHER_EXIT_SETUP;
	status = program_find(j->options.command[0], j->env, &j->path, err);
	if (status)
		return status;
	err->msg[0] = '\0'; /* what a step that succeeded had tried first */
	return run(j, err);
}

/* With where serve listens if it is not told otherwise. */
static int usage(const char *what)
{
	struct error ignored;
	CLEANUP_FREE char *dir = privsock_dir(&ignored);

	CLEANUP_FREE char *path = xasprintf("%s/control.sock", dir ? dir : "");
	char word[SHELLWORD_MAX(PATH_MAX)];

	(void)fprintf(stderr, "sbx-net: bridge: %s; try: sbx-net bridge --socket %s -- COMMAND\n",
		      what, dir ? shellword(word, sizeof(word), path) : "PATH");
	return OPTIONS_EXIT_USAGE;
}

int bridge_main(int argc, char **argv)
{
	struct join *j = xcalloc(1, sizeof(*j));
	struct error err = { 0 };
	int status;

	j->session = -1;
	run_options_init(&j->options);
	status = command_options(&j->options, "bridge", argc, argv);
	if (status < 0 && !j->options.socket)
		status = usage("--socket is missing");
	if (status < 0 && j->options.ncommand == 0)
		status = usage("no command");
	if (status < 0) {
		if (j->options.verbose)
			log_set_level(j->options.verbose > 1 ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
		status = join(j, &err);
	}
	if (err.msg[0])
		(void)fprintf(stderr, "sbx-net: %s\n", err.msg);
	join_clear(j);
	free(j);
	return status;
}
