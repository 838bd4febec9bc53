#include "cli/ask/control.h"

#include <dirent.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/jsonout.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/ask/asking.h"
#include "cli/gate.h"
#include "cli/statedir.h"
#include "cli/stats.h"
#include "policy/refusal.h"
#include "proxy/proxy.h"

#define CLIENTS_MAX 16
#define LINE_MAX_   4096	  /* of a request */
#define BACKLOG_MAX (1024 * 1024) /* a client that reads nothing is dropped beyond that */
#define SESSION_MAX 16

/* One who is connected. */
struct client {
	LIST_ENTRY(client) link;
	struct control *control;
	struct bufferevent *bev;
	bool subscribed, doomed;
};

/**
 * struct control
 * @owner: the process that made the socket and removes it
 * @warned: of peers that are in another network namespace
 */
struct control {
	struct asking *asking;
	bool alone, warned;
	int dir, fd;
	pid_t owner;
	char session[SESSION_MAX];
	char name[SESSION_MAX + sizeof(CONTROL_SUFFIX)];
	struct event accept;
	LIST_HEAD(, client) clients;
	size_t nclients, nsubscribed;
};

/* ---- the directory */

char *control_path(struct error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	CLEANUP_FREE char *state = NULL;

	if (runtime && runtime[0] == '/' && access(runtime, W_OK | X_OK) == 0)
		return xasprintf("%s/sbx-net-runs", runtime);
	state = statedir_path(err);
	return state ? xasprintf("%s/run", state) : NULL;
}

int control_dir(bool make, struct error *err)
{
	CLEANUP_FREE char *path = control_path(err);
	CLEANUP_CLOSE int dir = -1;
	struct stat st;

	if (!path)
		return -1;
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_set(err, errno, "cannot make '%s'", path);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		return error_set(err, errno, "cannot open '%s'", path);
	if (fstat(dir, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077)) {
		errno = EPERM;
		return error_set(err, 0, "'%s' is not ours alone", path);
	}
	return take_fd(&dir);
}

/* By way of the directory's descriptor: the path may be longer than an address can be. */
static socklen_t address(int dir, const char *name, struct sockaddr_un *out)
{
	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	(void)snprintf(out->sun_path, sizeof(out->sun_path), "/proc/self/fd/%d/%s", dir, name);
	return sizeof(*out);
}

int control_connect(int dir, const char *name)
{
	CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un sa;
	socklen_t len = address(dir, name, &sa);

	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, len) < 0)
		return -1;
	return take_fd(&fd);
}

static bool is_socket_name(const char *name)
{
	size_t n = strlen(name), m = strlen(CONTROL_SUFFIX);

	return name[0] != '.' && n > m && strcmp(name + n - m, CONTROL_SUFFIX) == 0;
}

/* Sockets of runs that were killed: nobody listens on them. */
static void remove_stale(int dir)
{
	DIR *d = fd_opendir(dir);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		int fd;

		if (!is_socket_name(e->d_name))
			continue;
		fd = control_connect(dir, e->d_name);
		if (fd < 0 && errno == ECONNREFUSED)
			(void)unlinkat(dir, e->d_name, 0);
		cleanup_close(&fd);
	}
	if (d)
		(void)closedir(d);
}

/* ---- what clients are told */

static void drop(struct client *c)
{
	struct control *control = c->control;

	LIST_REMOVE(c, link);
	control->nclients--;
	control->nsubscribed -= c->subscribed;
	bufferevent_free(c->bev);
	free(c);
}

/* The last one who was asked has gone without an answer. */
static void give_up(struct control *control)
{
	const struct question *q;

	if (!control->alone || control->nsubscribed)
		return;
	while ((q = asking_first(control->asking, NULL)))
		asking_lost(control->asking, q->id);
}

static void leave(struct client *c)
{
	struct control *control = c->control;
	bool subscribed = c->subscribed;

	drop(c);
	if (subscribed)
		give_up(control);
}

static void tell(struct client *c, const char *line, size_t n)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);

	if (c->doomed || n == 0)
		return;
	if (evbuffer_get_length(out) > BACKLOG_MAX)
		c->doomed = true; /* its own next event drops it */
	else
		(void)bufferevent_write(c->bev, line, n);
}

static void tell_all(struct control *control, const char *line, size_t n)
{
	struct client *c, *next;

	for (c = LIST_FIRST(&control->clients); c; c = next) {
		next = LIST_NEXT(c, link);
		if (c->subscribed)
			tell(c, line, n);
	}
}

static void tell_question(struct client *c, const struct question *q)
{
	char line[QUESTION_LINE_MAX];

	tell(c, line, question_format(q, clock_ms(), line));
}

static void hello(struct client *c)
{
	char line[QUESTION_LINE_MAX];
	struct jsonout j;

	jsonout_begin(&j, line, sizeof(line));
	jsonout_str(&j, "event", "hello");
	jsonout_uint(&j, "version", 1);
	jsonout_str(&j, "session", c->control->session);
	jsonout_uint(&j, "pid", (uint64_t)getpid());
	jsonout_str(&j, "command", asking_command(c->control->asking));
	jsonout_str(&j, "project", asking_project(c->control->asking));
	tell(c, line, jsonout_end(&j));
}

static void reply(struct client *c, const char *to, uint64_t id, const char *error)
{
	char line[1024];
	struct jsonout j;

	jsonout_begin(&j, line, sizeof(line));
	jsonout_str(&j, "reply", to);
	if (id)
		jsonout_uint(&j, "id", id);
	jsonout_bool(&j, "ok", !error);
	if (error)
		jsonout_str(&j, "error", error);
	tell(c, line, jsonout_end(&j));
}

/* ---- what they ask for */

static void do_list(struct client *c)
{
	const struct question *q = asking_first(c->control->asking, NULL);

	for (; q; q = asking_next(c->control->asking, q))
		tell_question(c, q);
}

static void do_subscribe(struct client *c)
{
	if (!c->subscribed)
		c->control->nsubscribed++;
	c->subscribed = true;
	reply(c, "subscribe", 0, NULL);
	do_list(c);
}

static void do_answer(struct client *c, const struct question_request *r)
{
	struct prompt_answer answer = r->answer;
	char by[GRANT_BY_MAX];

	(void)snprintf(by, sizeof(by), "control%s%s", r->by[0] ? ":" : "", r->by);
	answer.by = by;
	if (!r->valid) {
		answer = (struct prompt_answer){ .scope = PROMPT_ONCE, .by = by };
		(void)asking_answer(c->control->asking, r->id, &answer);
		reply(c, "answer", r->id, "no valid answer, which is a no");
		return;
	}
	if (asking_answer(c->control->asking, r->id, &answer))
		reply(c, "answer", r->id, NULL);
	else
		reply(c, "answer", r->id, "no such open question, or it cannot be widened");
}

static void do_explain(struct client *c, const struct question_request *r)
{
	static const char *const verdicts[] = {
		[VERDICT_DENY] = "deny",
		[VERDICT_ALLOW] = "allow",
		[VERDICT_ASK] = "ask",
	};
	struct target t = { .via = VIA_CONNECT };
	char line[QUESTION_LINE_MAX], text[REFUSAL_MAX];
	struct decision d;
	struct jsonout j;

	if (target_parse_authority(r->target, strlen(r->target), 0, &t) != TARGET_OK) {
		reply(c, "explain", 0, "no host:port");
		return;
	}
	session_explain(gate_session(asking_gate(c->control->asking)), &t, &d);
	jsonout_begin(&j, line, sizeof(line));
	jsonout_str(&j, "reply", "explain");
	jsonout_bool(&j, "ok", true);
	jsonout_str(&j, "target", r->target);
	jsonout_str(&j, "verdict", verdicts[d.verdict]);
	jsonout_str(&j, "code", policy_code_name(d.code));
	jsonout_str(&j, "rule", d.rule ? d.rule->text : NULL);
	jsonout_str(&j, "origin", d.rule ? d.rule->file : NULL);
	jsonout_uint(&j, "line", d.rule ? d.rule->line : 0);
	jsonout_str(&j, "by", d.by);
	jsonout_str(&j, "text", d.verdict == VERDICT_DENY ? refusal_format(&t, &d, text) : NULL);
	tell(c, line, jsonout_end(&j));
}

static void do_stats(struct client *c)
{
	const struct asking *a = c->control->asking;
	char line[STATS_LINE_MAX];
	struct stats s;
	struct jsonout j;

	gate_stats(asking_gate(a), &s);
	(void)snprintf(s.session, sizeof(s.session), "%s", c->control->session);
	(void)snprintf(s.command, sizeof(s.command), "%s", asking_command(a));
	s.questions = asking_open_count(a);
	jsonout_begin(&j, line, sizeof(line));
	jsonout_str(&j, "reply", "stats");
	jsonout_bool(&j, "ok", true);
	stats_put(&j, &s);
	tell(c, line, jsonout_end(&j));
}

static void serve(struct client *c, const char *line, size_t n)
{
	struct question_request r;

	question_parse_request(line, n, &r);
	switch (r.op) {
	case QUESTION_SUBSCRIBE:
		do_subscribe(c);
		return;
	case QUESTION_LIST:
		do_list(c);
		reply(c, "list", 0, NULL);
		return;
	case QUESTION_ANSWER:
		do_answer(c, &r);
		return;
	case QUESTION_EXPLAIN:
		do_explain(c, &r);
		return;
	case QUESTION_STATS:
		do_stats(c);
		return;
	case QUESTION_BAD:
		reply(c, "error", 0, "no request: see control.md");
		return;
	}
}

static void read_cb(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	struct client *c = arg;
	size_t n;
	char *line;

	while (!c->doomed && (line = evbuffer_readln(in, &n, EVBUFFER_EOL_LF))) {
		serve(c, line, n);
		free(line);
	}
	if (c->doomed || evbuffer_get_length(in) >= LINE_MAX_)
		leave(c);
}

static void event_cb(struct bufferevent *bev, short what, void *arg)
{
	(void)bev, (void)what;
	leave(arg);
}

/* ---- coming and going */

static bool is_our_user(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

/*
 * The command of another run may have been given unix sockets, and our directory may not be hidden from it:
 * that run's variables named another one. But it is in a network namespace of its own, where it makes its
 * sockets; and what accept(2) returns is of the namespace in which the peer's was made (unix_stream_connect()).
 * Unlike a look at the peer's process this holds for one that has ended, too.
 */
static bool is_of_our_network(int listener, int fd)
{
	uint64_t ours = fd_netns(listener);

	return ours && fd_netns(fd) == ours;
}

static bool is_let_in(struct control *control, int peer)
{
	if (!is_our_user(peer))
		return false;
	if (is_of_our_network(control->fd, peer))
		return control->nclients < CLIENTS_MAX;
	if (!control->warned)
		log_warn("a program in another network namespace, such as the command of another "
			 "run, "
			 "connected to our control socket and was refused; sbx-net approvals "
			 "answers "
			 "in the namespace in which the run was started");
	control->warned = true;
	return false;
}

static void accept_cb(evutil_socket_t fd, short what, void *arg)
{
	struct control *control = arg;
	int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *c;

	(void)what;
	if (peer < 0)
		return;
	if (!is_let_in(control, peer)) {
		(void)close(peer);
		return;
	}
	c = xcalloc(1, sizeof(*c));
	c->control = control;
	c->bev = bufferevent_socket_new(event_get_base(&control->accept), peer,
					BEV_OPT_CLOSE_ON_FREE);
	if (!c->bev) {
		(void)close(peer);
		free(c);
		return;
	}
	LIST_INSERT_HEAD(&control->clients, c, link);
	control->nclients++;
	bufferevent_setcb(c->bev, read_cb, NULL, event_cb, c);
	bufferevent_setwatermark(c->bev, EV_READ, 0, LINE_MAX_);
	(void)bufferevent_enable(c->bev, EV_READ | EV_WRITE);
	hello(c);
}

static void control_open(void *self, const struct question *q)
{
	struct control *control = self;
	char line[QUESTION_LINE_MAX];

	if (control->alone && control->nsubscribed == 0) {
		CLEANUP_FREE char *text = xasprintf(
			"sbx-net: %s waits for an answer; answer with: sbx-net approvals\n",
			q->target);

		log_raw(text, strlen(text));
	}
	tell_all(control, line, question_format(q, clock_ms(), line));
}

static void control_change(void *self, const struct question *q)
{
	struct control *control = self;
	char line[QUESTION_LINE_MAX];
	struct jsonout j;

	jsonout_begin(&j, line, sizeof(line));
	jsonout_str(&j, "event", "changed");
	jsonout_uint(&j, "id", q->id);
	jsonout_str(&j, "program", q->program);
	jsonout_str(&j, "argv", q->argv);
	jsonout_uint(&j, "pid", q->pid);
	jsonout_uint(&j, "waiting", q->waiting);
	jsonout_uint(&j, "seconds_left", question_seconds(q, clock_ms()));
	tell_all(control, line, jsonout_end(&j));
}

static void control_close(void *self, const struct question *q, const char *text)
{
	struct control *control = self;
	char line[4 * QUESTION_TEXT_MAX];
	struct jsonout j;

	jsonout_begin(&j, line, sizeof(line));
	jsonout_str(&j, "event", "closed");
	jsonout_uint(&j, "id", q->id);
	jsonout_str(&j, "target", q->target);
	jsonout_str(&j, "text", text);
	tell_all(control, line, jsonout_end(&j));
}

static void control_free(void *self)
{
	struct control *control = self;
	struct client *c;

	while ((c = LIST_FIRST(&control->clients)))
		drop(c);
	(void)event_del(&control->accept);
	(void)close(control->fd);
	if (control->owner == getpid())
		(void)unlinkat(control->dir, control->name, 0);
	(void)close(control->dir);
	free(control);
}

static const struct asker_ops control_ops = {
	.open = control_open,
	.change = control_change,
	.close = control_close,
	.free = control_free,
};

/* The name appears when the socket is ready for whoever finds it. */
static int listen_in(int dir, const char *name, struct error *err)
{
	CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CLEANUP_FREE char *temp = xasprintf(".%s", name);
	struct sockaddr_un sa;
	socklen_t len = address(dir, temp, &sa);

	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) < 0)
		return error_set(err, errno, "cannot make the control socket");
	if (fchmodat(dir, temp, 0600, 0) < 0 || listen(fd, CLIENTS_MAX) < 0 ||
	    renameat(dir, temp, dir, name) < 0) {
		(void)error_set(err, errno, "cannot listen on the control socket");
		(void)unlinkat(dir, temp, 0);
		return -1;
	}
	return take_fd(&fd);
}

int control_new(struct asker *out, struct asking *asking, struct event_base *base, bool alone,
		struct error *err)
{
	CLEANUP_CLOSE int dir = control_dir(true, err);
	struct control *control;
	uint32_t number;
	int fd;

	if (dir < 0)
		return -1;
	remove_stale(dir);
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return error_set(err, errno, "no random number");
	control = xcalloc(1, sizeof(*control));
	(void)snprintf(control->session, sizeof(control->session), "%08x", number);
	(void)snprintf(control->name, sizeof(control->name), "%08x%s", number, CONTROL_SUFFIX);
	fd = listen_in(dir, control->name, err);
	if (fd < 0) {
		free(control);
		return -1;
	}
	control->asking = asking;
	control->alone = alone;
	control->fd = fd;
	control->dir = take_fd(&dir);
	control->owner = getpid();
	LIST_INIT(&control->clients);
	(void)event_assign(&control->accept, base, fd, EV_READ | EV_PERSIST, accept_cb, control);
	if (event_add(&control->accept, NULL) < 0) {
		(void)error_set(err, errno, "cannot watch the control socket");
		control_free(control);
		return -1;
	}
	*out = (struct asker){ .ops = &control_ops, .self = control };
	return 0;
}
