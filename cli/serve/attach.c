/*
 * Theory of operation
 *
 * A client of control.sock is one of our own user's processes, which may well be a confined one:
 * a bridge runs inside the sandbox, and what it can open, the command next to it can open too. So
 * a session gets at most what serve itself allows: its own list narrows, it never adds. Nothing a
 * client does blocks: lines and listeners are taken as they come, within ATTACH_TIMEOUT_S, one line
 * at each turn of the loop. Who may have how much is peer.h's to say; where every place is taken, the
 * oldest client that has not said anything, of the peer with most of them, makes room.
 *
 * The policy is read once for all sessions (rules_share()). Reloads that are asked for while one is
 * due are that one, and between two of them there is a pause in proportion to what they cost. A
 * session that is to begin when a file has changed waits for the reload. Names of what others do, and
 * reload, are for clients outside of the sandboxes: those in our own network namespace.
 *
 * Whoever has sent a listener may keep a copy and make it block again (O_NONBLOCK belongs to the
 * open file), and then accept() on it waits until somebody comes. While there are clients, an alarm
 * each second ends such a wait, and with it the listeners of that session: it can slow the others
 * for a moment, never stop them.
 *
 * A descriptor that is sent may be a connection whose close(2) waits for its peer (SO_LINGER), or a file
 * whose close(2) waits for ever. So a session's listeners come by way of a process that takes them
 * (usher.h), and only while they are due may any be sent: what nobody takes the kernel closes for us.
 * Before Linux 6.16 it takes them at all times; then the alarm, on from the start, ends the wait of a
 * connection, and a file's it does not make us wait for. A client is remembered, and its session's place
 * taken, until that process is gone.
 *
 *	LINE --- attach ---> LISTENERS --- the end mark ---> ATTACHED
 *	 ^  \                     |                              |
 *	 |   reload, stats:       v out of time                  v any byte, or the end
 *	 |   one answer each    closed, and with it the session, <+
 *	 +----+                 perhaps LEAVING until the usher's process is gone
 *
 * A bridge whose command has ended says so (ATTACH_BYE). What the command had sent may still be on its way
 * then: nobody is accepted any more, and the session ends when that has been passed on (drain.h). One that
 * ends without a word, which is killed, ends its session at once.
 */
#include "cli/serve/attach.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/jsonout.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/serve/attach_message.h"
#include "cli/serve/budget.h"
#include "cli/serve/peer.h"
#include "cli/serve/usher.h"
#include "cli/ask/whose.h"
#include "cli/drain.h"
#include "cli/gate.h"
#include "cli/privsock.h"
#include "cli/reload.h"
#include "cli/stats.h"
#include "netns/bridge.h"
#include "policy/refusal.h"
#include "proxy/limits.h"
#include "proxy/proxy.h"

#define ATTACH_TIMEOUT_S 10
#define DRAIN_MAX_MS	 (60 * 1000) /* other processes of a sandbox may send on */
#define STATS_MAX	 512
#define BACKOFF_MS	 100
#define RELOAD_PAUSE_MS	 250 /* between two reloads, and RELOAD_PART times what the last one took */
#define RELOAD_PAUSE_MAX 5000 /* less than ATTACH_TIMEOUT_S, in ms */
#define RELOAD_PART	 4

enum state { LINE, LISTENERS, ATTACHED, LEAVING };

/**
 * struct client - one control connection
 * @options: serve's options with the session's bounds; its grown arrays are owned
 * @request: what those point into
 * @again: it has more to say, at the next turn of the loop
 * @waiting: for the next reload, with @request
 * @from: where its listeners come from, until that process is gone; or -1
 * @placed: a session's place is taken
 * @peer: whose it is, with @listeners of a session, and what is counted with them
 * @plan: what the session was asked for
 * @rx: while the listeners come
 * @gate: the session, once its listeners are due
 * @drain: when its command has ended
 * @number: of the session
 * @pid: of who attached it, or 0
 */
struct client {
	TAILQ_ENTRY(client) entry;
	struct attach *a;
	struct peer *peer;
	size_t listeners;
	bool waiting, placed;
	int fd, from;
	enum state state;
	struct event ev, timer, again, came;
	struct netns_plan plan;
	struct attach_request request;
	struct run_options options;
	struct bridge_rx *rx;
	struct gate *gate;
	struct whose *whose; /* of its sandbox, or NULL */
	struct drain drain;
	unsigned number;
	pid_t pid;
};

TAILQ_HEAD(client_list, client);

/** struct door - a listening socket */
struct door {
	struct event ev, again;
};

/**
 * struct attach
 * @clients: the oldest first
 * @reload: when it is due
 * @reloaded_ms, @took_ms: when the last one ended, and how long it took
 * @said: what the log last heard of it
 * @broken: why the last one failed: a session that is to begin tries again. Else an empty message
 */
struct attach {
	struct attach_config cfg;
	struct client_list clients;
	struct budget budget;
	struct peers peers;
	struct event reload;
	uint64_t reloaded_ms, took_ms;
	struct error broken, said;
	struct reload *files;
	struct door *doors[4];
	size_t ndoors, nclients, nattached;
	unsigned last;
	uint64_t netns;
	bool draining;
	bool always_watch; /* the kernel takes descriptors that nobody wants */
	char line[ATTACH_LINE_MAX];
};

static void alarm_cb(int sig)
{
	(void)sig;
}

/* Without SA_RESTART: a call that waits returns with EINTR. */
static void watchdog(bool on)
{
	const struct sigaction sa = { .sa_handler = alarm_cb };
	const struct itimerval every = { .it_interval.tv_sec = on, .it_value.tv_sec = on };

	(void)sigaction(SIGALRM, &sa, NULL);
	(void)setitimer(ITIMER_REAL, &every, NULL);
}

/* ---- the end of a client */

static void session_end(struct client *c)
{
	if (c->state == ATTACHED) {
		c->a->nattached--;
		log_info("session=%u event=end", c->number);
	}
	c->state = LEAVING;
	c->waiting = false;
	(void)drain_stop(&c->drain);
	gate_free(c->gate);
	c->gate = NULL;
	whose_free(c->whose);
	c->whose = NULL;
	if (c->rx)
		bridge_rx_clear(c->rx);
	free(c->rx);
	c->rx = NULL;
	free(c->options.rules.v);
	free(c->options.within.v);
	free(c->options.forwards);
	attach_request_clear(&c->request);
}

/* Nothing of it is left. */
static void client_forget(struct client *c)
{
	if (c->from >= 0) {
		(void)event_del(&c->came);
		(void)close(c->from);
	}
	if (c->placed)
		peer_give_session(&c->a->peers, c->peer, c->listeners);
	TAILQ_REMOVE(&c->a->clients, c, entry);
	peer_leave(&c->a->peers, c->peer);
	if (--c->a->nclients == 0 && !c->a->always_watch)
		watchdog(false);
	free(c);
}

static void client_free(struct client *c)
{
	session_end(c);
	(void)event_del(&c->ev);
	(void)event_del(&c->timer);
	(void)event_del(&c->again);
	(void)close(c->fd);
	if (c->from < 0)
		client_forget(c);
	else
		(void)shutdown(c->from, SHUT_WR);
}

static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	client_free(arg);
}

/* ---- answers */

/* Return: false if the client does not take it, which is its end. */
static bool answer(const struct client *c, const char *line)
{
	size_t n = strlen(line);

	return send(c->fd, line, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n;
}

static bool answer_reply(const struct client *c, const struct attach_reply *r)
{
	CLEANUP_FREE char *line = attach_reply_format(r);

	return answer(c, line);
}

static bool answer_error(const struct client *c, const struct error *err)
{
	struct attach_reply *r = xcalloc(1, sizeof(*r));
	bool sent;

	static_assert(sizeof(r->error) == sizeof(err->msg), "an error fits");
	memcpy(r->error, err->msg, sizeof(r->error));
	sent = answer_reply(c, r);
	free(r);
	return sent;
}

static bool answer_ok(const struct client *c)
{
	return answer(c, "{\"ok\":true}\n");
}

static bool answer_stats(const struct client *c)
{
	const struct attach *a = c->a;
	char line[STATS_MAX];
	struct jsonout j;

	jsonout_begin(&j, line, sizeof(line) - 1);
	jsonout_bool(&j, "ok", true);
	jsonout_str(&j, "version", SBX_VERSION);
	jsonout_uint(&j, "sessions", a->nattached);
	jsonout_uint(&j, "sessions_ever", a->last);
	jsonout_uint(&j, "connections", attach_connections(a));
	jsonout_bool(&j, "draining", a->draining);
	line[jsonout_end(&j)] = '\0';
	return answer(c, line);
}

/* What it runs is what it says of itself, so that it is not to be taken for a run of ours. */
static void put_session(const struct client *c, FILE *out)
{
	char line[STATS_LINE_MAX], shown[STATS_COMMAND_MAX - 16];
	const char *command = c->request.command;
	struct stats s;
	struct jsonout j;

	gate_stats(c->gate, &s);
	s.pid = (uint64_t)c->pid;
	(void)snprintf(s.session, sizeof(s.session), "%u", c->number);
	if (command)
		(void)snprintf(s.command, sizeof(s.command), "bridge: %s",
			       log_escape_once(shown, sizeof(shown), command, strlen(command)));
	jsonout_begin(&j, line, sizeof(line));
	stats_put(&j, &s);
	(void)fwrite(line, 1, jsonout_end(&j), out);
}

/* Not in a sandbox that has joined: those have network namespaces of their own. */
static bool is_outside(const struct client *c)
{
	return c->a->netns != 0 && c->peer->netns == c->a->netns;
}

/*
 * A line for each session, and one that ends them; what a client does not take is its end. A sandbox
 * hears how many there are, and nothing of what they do.
 */
static bool answer_sessions(const struct client *c)
{
	CLEANUP_FREE char *text = NULL;
	const struct client *other;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return false;
	TAILQ_FOREACH (other, &c->a->clients, entry) {
		if (other->state == ATTACHED && is_outside(c))
			put_session(other, out);
	}
	(void)fprintf(out, "{\"ok\":true,\"sessions\":%zu}\n", c->a->nattached);
	return fclose(out) == 0 && answer(c, text);
}

/* ---- attaching */

/* Serve's options without its rules, which are shared, and what this session asked for. */
static int build_options(struct client *c, struct error *err)
{
	const struct run_options *from = c->a->cfg.options;
	struct run_options *o = &c->options;

	*o = *from;
	o->within = (struct option_strings){ 0 };
	o->forwards = NULL;
	o->nforwards = 0;
	o->rules = (struct option_values){ 0 };
	for (size_t i = 0; i < c->request.deny.n; i++)
		options_add_rule(o, OPT_DENY, c->request.deny.v[i]);
	for (size_t i = 0; i < c->request.only.n; i++)
		options_add_within(o, c->request.only.v[i]);
	for (size_t i = 0; i < c->request.forward.n; i++)
		if (options_add_forward(o, c->request.forward.v[i], err) < 0)
			return error_wrap(err, "--forward");
	return 0;
}

static int copy_ports(uint16_t *out, size_t max, const uint16_t *v, size_t n, struct error *err)
{
	if (n > max)
		return error_set(err, 0, "too many ports for one session");
	for (size_t i = 0; i < n; i++)
		out[i] = v[i];
	return 0;
}

/*
 * The bridge that has attached is above whatever runs in its sandbox. Of one that we cannot see, in a
 * PID namespace beside ours, nothing is known.
 */
static void look_inside(struct client *c)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.pid <= 0)
		return;
	c->pid = peer.pid;
	if (!c->a->cfg.whose)
		return;
	c->whose = whose_join(c->a->cfg.whose, peer.pid, c->peer->netns);
	gate_set_whose(c->gate, c->whose);
}

static int take_place(struct client *c, struct error *err)
{
	const char *why;

	gate_plan(c->gate, &c->plan);
	c->plan.capture = c->plan.capture && c->request.capture;
	c->listeners = netns_most(&c->plan) + (c->plan.capture ? DNS_CONNECTIONS : 0);
	why = peer_take_session(&c->a->peers, c->peer, c->listeners);
	if (why)
		return error_set(err, 0, "%s", why);
	c->placed = true;
	return 0;
}

static int open_session(struct client *c, struct attach_reply *r, struct error *err)
{
	struct attach *a = c->a;
	const struct netns_plan *plan = &c->plan;

	if (a->draining)
		return error_set(err, 0, "the server is about to end");
	if (a->broken.msg[0]) {
		*err = a->broken;
		return error_wrap(err, "none can attach until its settings are mended");
	}
	if (build_options(c, err) < 0)
		return -1;
	c->gate = gate_new(&c->options, a->cfg.cwd, a->cfg.base, err);
	if (!c->gate || take_place(c, err) < 0)
		return -1;
	gate_set_peer(c->gate, c->peer->netns, DNS_CONNECTIONS, PEER_SESSIONS_MAX);
	if (gate_open(c->gate, a->cfg.outside, a->last + 1, err) < 0)
		return -1;
	c->number = ++a->last;
	look_inside(c);
	*r = (struct attach_reply){ .ok = true,
				    .session = c->number,
				    .netns = a->netns,
				    .capture = plan->capture,
				    .nports = plan->nports,
				    .nforwards = plan->nforwards };
	if (copy_ports(r->ports, ATTACH_PORTS_MAX, plan->ports, plan->nports, err) < 0)
		return -1;
	return copy_ports(r->forwards, FORWARDS_MAX, plan->forwards, plan->nforwards, err);
}

static void came_cb(evutil_socket_t fd, short what, void *arg);

/* They come when we have answered. */
static int usher_begin(struct client *c, struct error *err)
{
	(void)fd_pass_rights(c->fd, true);
	c->from = usher_receive(c->a->cfg.usher, c->fd, err);
	if (c->from < 0)
		return -1;
	(void)event_assign(&c->came, c->a->cfg.outside->base, c->from, EV_READ | EV_PERSIST,
			   came_cb, c);
	if (event_add(&c->came, NULL) < 0) {
		(void)close(c->from); /* nobody would hear of the process's end */
		c->from = -1;
		return error_set(err, 0, "cannot watch for the listeners");
	}
	c->state = LISTENERS;
	c->rx = xcalloc(1, sizeof(*c->rx));
	bridge_rx_init(c->rx, netns_most(&c->plan));
	return 0;
}

/* Return: false when the client is to be closed. */
static bool attach(struct client *c)
{
	struct attach_reply *r = xcalloc(1, sizeof(*r));
	struct error err = { 0 };
	bool ok = open_session(c, r, &err) == 0;

	ok = ok && usher_begin(c, &err) == 0;
	if (ok)
		ok = answer_reply(c, r);
	else
		(void)answer_error(c, &err);
	free(r);
	return ok;
}

/* What was refused, for the bridge's standard error. A bridge that reads nothing misses it. */
static void tell_refusal(void *arg, const char *text)
{
	const struct client *c = arg;
	char line[STATS_MAX + 6 * REFUSAL_MAX];
	struct jsonout j;
	size_t n;

	jsonout_begin(&j, line, sizeof(line));
	jsonout_str(&j, "event", "refused"); /* or cut: a line for a person in any case */
	jsonout_str(&j, "text", text);
	n = jsonout_end(&j);
	if (n > 0)
		(void)send(c->fd, line, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Return: false when the client is to be closed. */
static bool take_listeners(struct client *c)
{
	struct error err = { 0 };
	size_t unsent;
	int rc = bridge_rx_turn(c->rx, c->from, &err);

	if (rc == 0)
		return true;
	if (rc < 0 || netns_check(&c->plan, c->rx->v, c->rx->n, &err) < 0 ||
	    gate_serve(c->gate, c->rx->v, c->rx->n, &err) < 0) {
		(void)answer_error(c, &err);
		return false;
	}
	unsent = netns_most(&c->plan) - c->rx->n;
	peer_give_listeners(&c->a->peers, c->peer, unsent);
	c->listeners -= unsent;
	bridge_rx_clear(c->rx);
	free(c->rx);
	c->rx = NULL;
	c->state = ATTACHED;
	c->a->nattached++;
	(void)fd_pass_rights(c->fd, false);
	(void)shutdown(c->from, SHUT_WR);
	(void)event_del(&c->timer);
	log_info("session=%u event=attached", c->number);
	if (!answer_ok(c))
		return false;
	gate_tell_refusals(c->gate, tell_refusal, c);
	return true;
}

/* ---- lines */

/* Whether the policy is about to be read again. */
static bool is_due(const struct attach *a)
{
	return (a->files && reload_is_due(a->files)) || a->broken.msg[0] ||
	       event_pending(&a->reload, EV_TIMEOUT, NULL);
}

/* Return: false when the client is to be closed. */
static bool obey(struct client *c, const char *line, size_t n)
{
	struct error err;

	attach_request_clear(&c->request);
	if (attach_request_parse(line, n, &c->request, &err) < 0) {
		(void)answer_error(c, &err);
		return false;
	}
	switch (c->request.op) {
	case ATTACH_OP_ATTACH:
		c->waiting = is_due(c->a);
		if (c->a->broken.msg[0])
			attach_reload(c->a);
		return c->waiting || attach(c);
	case ATTACH_OP_RELOAD:
		if (!is_outside(c)) {
			(void)error_set(&err, 0, "reload is for clients outside of the sandboxes");
			return answer_error(c, &err);
		}
		c->waiting = true;
		attach_reload(c->a);
		return true;
	case ATTACH_OP_STATS:
		return answer_stats(c);
	case ATTACH_OP_SESSIONS:
		return answer_sessions(c);
	}
	return false;
}

/* What a turn at a client's socket found. */
enum turn { TURN_CLOSE, TURN_WAIT, TURN_AGAIN };

/*
 * A line is looked at before it is taken, so that nothing behind it is: there may be descriptors.
 * The event is edge-triggered, for half a line stays where it is.
 */
static enum turn take_line(struct client *c)
{
	char *line = c->a->line;
	ssize_t n = recv(c->fd, line, ATTACH_LINE_MAX, MSG_PEEK | MSG_DONTWAIT);
	const char *end;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? TURN_WAIT : TURN_CLOSE;
	end = n > 0 ? memchr(line, '\n', (size_t)n) : NULL;
	if (!end)
		return n > 0 && n < ATTACH_LINE_MAX ? TURN_WAIT : TURN_CLOSE;
	n = recv(c->fd, line, (size_t)(end - line) + 1, MSG_DONTWAIT);
	return n > 0 && obey(c, line, (size_t)n) ? TURN_AGAIN : TURN_CLOSE;
}

/* Or has ended. */
static bool has_spoken(const struct client *c)
{
	char first;

	return recv(c->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) != -1 || errno != EAGAIN;
}

/* After whatever else has happened, and the next look at the clock. */
static void client_soon(struct client *c)
{
	const struct timeval now = { .tv_usec = 0 };

	(void)event_add(&c->again, &now);
}

static void drained_cb(void *arg, size_t cut)
{
	struct client *c = arg;
	char text[DRAIN_TEXT_MAX];

	if (cut)
		tell_refusal(c, drain_text(cut, text));
	client_free(c);
}

/*
 * What there was before has been taken as its listeners. Nothing of this is: it need not be. Return: what
 * is to be done.
 */
static enum turn take_end(struct client *c)
{
	char word[sizeof(ATTACH_BYE)];
	ssize_t n = recv(c->fd, word, sizeof(word), MSG_PEEK | MSG_DONTWAIT);
	struct pollfd pfd = { .fd = c->fd, .events = POLLRDHUP };

	if (n < 0 && errno == EAGAIN)
		return TURN_WAIT;
	if (n != sizeof(ATTACH_BYE) - 1 || memcmp(word, ATTACH_BYE, (size_t)n) != 0 ||
	    poll(&pfd, 1, 0) != 0)
		return TURN_CLOSE;
	if (drain_is_on(&c->drain)) {
		session_close_listeners(gate_session(c->gate));
		return TURN_WAIT;
	}
	drain_start(&c->drain, c->a->cfg.outside->base, gate_session(c->gate), DRAIN_MAX_MS,
		    drained_cb, c);
	return TURN_AGAIN; /* who has connected by now is accepted first */
}

static void client_cb(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;
	enum turn turn = TURN_CLOSE;

	(void)fd;
	(void)what;
	if (c->waiting || c->state == LISTENERS)
		return; /* the end of that looks again */
	if (c->state == LINE)
		turn = take_line(c);
	else if (c->state == ATTACHED)
		turn = take_end(c);
	if (turn == TURN_CLOSE)
		client_free(c);
	else if (turn == TURN_AGAIN)
		client_soon(c);
}

/* The process that receives has something, or is gone. */
static void came_cb(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;
	ssize_t n;
	char byte;

	(void)what;
	if (c->state == LISTENERS) {
		if (!take_listeners(c))
			client_free(c);
		else if (c->state == ATTACHED)
			client_soon(c); /* its end may have come meanwhile */
		return;
	}
	n = recv(fd, &byte, sizeof(byte), MSG_DONTWAIT);
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	(void)event_del(&c->came);
	(void)close(c->from);
	c->from = -1;
	if (c->state == LEAVING)
		client_forget(c);
}

/* ---- reload */

/* The sessions follow the base, which has been read: for them it is a matter of their bounds. */
static int read_again(struct attach *a, bool retry, struct error *err)
{
	struct error one;
	struct client *c;
	int rc = gate_read_again(a->cfg.base, retry, err);

	a->broken = rc ? *err : (struct error){ 0 };
	if (rc < 0)
		return -1;
	TAILQ_FOREACH (c, &a->clients, entry) {
		if (!c->gate || gate_read_again(c->gate, retry, &one) == 0)
			continue;
		if (rc >= 0)
			*err = one;
		rc = -1;
	}
	return rc;
}

/* Return: false when the client is to be closed. */
static bool end_wait(struct client *c, int rc, const struct error *err)
{
	c->waiting = false;
	if (c->request.op == ATTACH_OP_ATTACH)
		return attach(c);
	return rc ? answer_error(c, err) : answer_ok(c);
}

static void due_cb(evutil_socket_t fd, short what, void *arg)
{
	struct attach *a = arg;
	uint64_t began = clock_ms();
	struct error err = { 0 };
	struct client *c, *next;
	bool retry = a->files && reload_is_retry(a->files);
	int rc = read_again(a, retry, &err);

	(void)fd, (void)what;
	a->reloaded_ms = clock_ms();
	a->took_ms = a->reloaded_ms - began;
	if (a->files)
		reload_tell(a->files, rc, &err,
			    a->broken.msg[0] ? "no sandbox can attach until that is mended" : "",
			    &a->said);
	if (a->files)
		reload_later(a->files, gate_rest_ms(a->cfg.base));
	for (c = TAILQ_FIRST(&a->clients); c; c = next) {
		next = TAILQ_NEXT(c, entry);
		if (!c->waiting)
			continue;
		if (end_wait(c, rc, &err))
			client_soon(c);
		else
			client_free(c);
	}
}

void attach_reload(struct attach *a)
{
	uint64_t pause = a->took_ms * RELOAD_PART, now = clock_ms(), wait = 0;
	struct timeval tv;

	if (pause < RELOAD_PAUSE_MS)
		pause = RELOAD_PAUSE_MS;
	if (pause > RELOAD_PAUSE_MAX)
		pause = RELOAD_PAUSE_MAX;
	if (a->reloaded_ms != 0 && a->reloaded_ms + pause > now)
		wait = a->reloaded_ms + pause - now;
	tv = (struct timeval){ .tv_sec = (time_t)(wait / 1000),
			       .tv_usec = (suseconds_t)(wait % 1000 * 1000) };
	if (!event_pending(&a->reload, EV_TIMEOUT, NULL))
		(void)event_add(&a->reload, &tv);
}

void attach_set_files(struct attach *a, struct reload *files)
{
	a->files = files;
}

/* ---- doors */

static void client_new(struct attach *a, int fd)
{
	const struct timeval timeout = { .tv_sec = ATTACH_TIMEOUT_S };
	struct client *c = xcalloc(1, sizeof(*c));
	struct event_base *base = a->cfg.outside->base;

	c->a = a;
	c->fd = fd;
	c->from = -1;
	c->peer = peer_join(&a->peers, fd);
	TAILQ_INSERT_TAIL(&a->clients, c, entry);
	if (a->nclients++ == 0)
		watchdog(true);
	(void)event_assign(&c->again, base, -1, 0, client_cb, c);
	(void)event_assign(&c->ev, base, fd, EV_READ | EV_PERSIST | EV_ET, client_cb, c);
	(void)event_assign(&c->timer, base, -1, 0, timer_cb, c);
	(void)event_add(&c->timer, &timeout);
	if (event_add(&c->ev, NULL) < 0)
		client_free(c);
}

/* Every place is taken: the oldest that has said nothing, or else the oldest, of those without a session. */
static void make_room(struct attach *a)
{
	const struct peer *peer = peer_busiest(&a->peers);
	struct client *c, *oldest = NULL;

	TAILQ_FOREACH (c, &a->clients, entry) {
		if (c->state != LINE || c->peer != peer)
			continue;
		if (!oldest)
			oldest = c;
		if (!c->waiting && !has_spoken(c)) {
			oldest = c;
			break;
		}
	}
	if (oldest)
		client_free(oldest);
}

static void door_pause(struct door *d)
{
	const struct timeval again = { .tv_usec = BACKOFF_MS * 1000 };

	(void)event_del(&d->ev);
	(void)event_add(&d->again, &again);
}

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
	struct door *d = arg;

	(void)fd, (void)what;
	if (event_add(&d->ev, NULL) < 0)
		door_pause(d); /* later, or nobody would ever be heard again */
}

static void door_cb(evutil_socket_t sock, short what, void *arg)
{
	struct attach *a = arg;
	struct door *d = NULL;
	int fd = -1;

	(void)what;
	for (size_t i = 0; i < a->ndoors; i++)
		if (event_get_fd(&a->doors[i]->ev) == sock)
			d = a->doors[i];
	if (a->nclients >= a->budget.clients)
		make_room(a);
	if (a->nclients < a->budget.clients)
		fd = privsock_accept(sock);
	if (fd >= 0)
		client_new(a, fd);
	else if (d && (a->nclients >= a->budget.clients ||
		       (errno != EAGAIN && errno != EINTR && errno != EPERM)))
		door_pause(d);
}

/* The limit that outside_open() has raised is what there is. */
static struct budget divide(struct proxy *proxy)
{
	struct limits l = limits_default();
	struct rlimit files = { .rlim_cur = 0 };
	struct budget b;

	(void)getrlimit(RLIMIT_NOFILE, &files);
	b = budget_of((size_t)files.rlim_cur);
	if (files.rlim_cur < DESCRIPTORS_LEAST)
		log_warn("%ju open files are allowed: too few to keep sandboxes from taking them "
			 "from each other; raise the hard limit (ulimit -Hn) to %d at least",
			 (uintmax_t)files.rlim_cur, DESCRIPTORS_LEAST);
	l.descriptors = b.connections;
	l.pipes = b.pipes;
	proxy_set_limits(proxy, &l);
	return b;
}

struct attach *attach_new(const struct attach_config *cfg)
{
	struct attach *a = xcalloc(1, sizeof(*a));

	a->cfg = *cfg;
	a->netns = attach_netns();
	a->budget = divide(cfg->outside->proxy);
	peers_init(&a->peers, &a->budget);
	TAILQ_INIT(&a->clients);
	(void)event_assign(&a->reload, cfg->outside->base, -1, 0, due_cb, a);
	return a;
}

int attach_listen(struct attach *a, int fd, struct error *err)
{
	struct event_base *base = a->cfg.outside->base;
	struct door *d;

	if (a->ndoors == ARRAY_SIZE(a->doors))
		return error_set(err, 0, "too many control sockets");
	if (fd_pass_rights(fd, false) < 0 && !a->always_watch) {
		a->always_watch = true;
		watchdog(true);
	}
	d = xcalloc(1, sizeof(*d));
	a->doors[a->ndoors++] = d;
	(void)event_assign(&d->ev, base, fd, EV_READ | EV_PERSIST, door_cb, a);
	(void)event_assign(&d->again, base, -1, 0, again_cb, d);
	if (event_add(&d->ev, NULL) < 0)
		return error_set(err, 0, "cannot watch the control socket");
	return 0;
}

static void doors_close(struct attach *a)
{
	while (a->ndoors > 0) {
		struct door *d = a->doors[--a->ndoors];

		(void)event_del(&d->ev);
		(void)event_del(&d->again);
		free(d);
	}
}

void attach_drain(struct attach *a)
{
	struct client *c;

	a->draining = true;
	doors_close(a);
	session_close_listeners(gate_session(a->cfg.base));
	TAILQ_FOREACH (c, &a->clients, entry) {
		if (c->gate)
			session_close_listeners(gate_session(c->gate));
	}
}

size_t attach_connections(const struct attach *a)
{
	size_t n = session_connections(gate_session(a->cfg.base));
	const struct client *c;

	TAILQ_FOREACH (c, &a->clients, entry) {
		if (c->gate)
			n += session_connections(gate_session(c->gate));
	}
	return n;
}

void attach_free(struct attach *a)
{
	struct client *c, *next;

	if (!a)
		return;
	doors_close(a);
	(void)event_del(&a->reload);
	for (c = TAILQ_FIRST(&a->clients); c; c = next) {
		next = TAILQ_NEXT(c, entry);
		if (c->state != LEAVING)
			client_free(c);
	}
	while (!TAILQ_EMPTY(&a->clients))
		client_forget(TAILQ_FIRST(&a->clients));
	free(a);
}
