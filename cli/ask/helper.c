/*
 * Theory of operation
 *
 * The two talk over a SEQPACKET pair in messages of fixed layout. What the supervisor can make its
 * helper do, were it taken over: read which process holds a socket (of a run's own sandbox; in serve
 * below any process of the user's, for its sandboxes are others'), and run the program that the user
 * named. The helper ends when the pair does, and takes every program with it.
 */
#include "cli/ask/helper.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/forked.h"
#include "base/xalloc.h"
#include "cli/hired.h"

#define PROGRAMS_MAX 64	  /* at once; as many as questions can be open */
#define LOOK_MAX_MS  2000 /* for a question, which is not held back for it */

/* Until a helper that has nothing else to do gets a processor, besides. */
#define BUSY_MS 150

enum kind { WHO, EXEC, KILL, EXITED };

struct request {
	enum kind kind;
	pid_t init;
	uint64_t id;
	struct who_socket socket;
	unsigned ms;
	char text[HELPER_TEXT_MAX];
};

/* @late: the look was not over in its time */
struct reply {
	enum kind kind;
	bool late;
	int status;
	uint64_t id;
	struct who who;
};

struct helper {
	struct helper_config cfg;
	pid_t pid;
	int sock;
	bool watched; /* by @event */
	struct event event;
	uint64_t last; /* of helper_who_wait() */
};

/* ---- the helper's side */

/* @v: the programs that run; pid 0 is a free place. */
struct worker {
	int sock;
	const struct helper_config *cfg;
	sigset_t mask;
	struct {
		pid_t pid;
		uint64_t id;
	} v[PROGRAMS_MAX];
};

static void on_child(int sig)
{
	(void)sig; /* only to end ppoll(2) */
}

static void send_reply(const struct worker *w, const struct reply *r)
{
	if (send(w->sock, r, sizeof(*r), MSG_NOSIGNAL) < 0)
		return; /* the supervisor has gone; the next poll says so */
}

static void run_program(const struct worker *w, int fd, const char *text) __attribute__((noreturn));

/* A session of its own, so that it can be ended as a whole. */
static void run_program(const struct worker *w, int fd, const char *text)
{
	forked_fresh_signals();
	(void)setsid();
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* should the helper be killed */
	if (dup2(fd, STDIN_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0)
		_exit(126);
	hired_exec(w->cfg->program, (const char *const[]){ text, NULL });
}

static void start_program(struct worker *w, const struct request *r, int fd)
{
	struct reply failed = { .kind = EXITED, .id = r->id, .status = 126 << 8 };
	size_t i = 0;

	while (i < PROGRAMS_MAX && w->v[i].pid)
		i++;
	if (i == PROGRAMS_MAX || !w->cfg->program) {
		send_reply(w, &failed);
		return;
	}
	w->v[i].id = r->id;
	w->v[i].pid = fork();
	if (w->v[i].pid == 0)
		run_program(w, fd, r->text);
	if (w->v[i].pid < 0) {
		w->v[i].pid = 0;
		send_reply(w, &failed);
	}
}

/* The group exists once the child has made its session; until then it is the child alone. */
static void end_program(pid_t pid)
{
	(void)kill(-pid, SIGKILL);
	(void)kill(pid, SIGKILL);
}

static void reap(struct worker *w)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (size_t i = 0; i < PROGRAMS_MAX; i++) {
			const struct reply r = { .kind = EXITED,
						 .id = w->v[i].id,
						 .status = status };

			if (w->v[i].pid != pid)
				continue;
			(void)kill(-pid, SIGKILL); /* what it left behind */
			w->v[i].pid = 0;
			send_reply(w, &r);
		}
	}
}

/* Ended by its own timer, whatever it reads. */
static void look(const struct worker *w, const struct request *r) __attribute__((noreturn));

static void look(const struct worker *w, const struct request *r)
{
	const struct itimerval limit = { .it_value.tv_sec = r->ms / 1000,
					 .it_value.tv_usec = (suseconds_t)(r->ms % 1000) * 1000 };
	struct reply reply = { .kind = WHO, .id = r->id };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (setitimer(ITIMER_REAL, &limit, NULL) < 0)
		_exit(1);
	(void)who_find(w->cfg->init ? w->cfg->init : r->init, &r->socket, &reply.who);
	send_reply(w, &reply);
	_exit(0);
}

/*
 * In a process of its own: there may be very many descriptors to look at, and what a process of somebody else's
 * sandbox calls itself lies in its memory, of which it may let us wait for a page for ever (userfaultfd, FUSE).
 */
static void look_in_time(const struct worker *w, const struct request *r)
{
	struct reply reply = { .kind = WHO, .id = r->id };
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		look(w, r);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	reply.late = pid > 0;
	send_reply(w, &reply);
}

static void serve(struct worker *w, const struct request *r, int fd)
{
	switch (r->kind) {
	case WHO:
		look_in_time(w, r);
		return;
	case EXEC:
		if (fd >= 0)
			start_program(w, r, fd);
		return;
	case KILL:
		for (size_t i = 0; i < PROGRAMS_MAX; i++)
			if (w->v[i].pid && w->v[i].id == r->id)
				end_program(w->v[i].pid);
		return;
	case EXITED:
		return;
	}
}

static void work(struct worker *w)
{
	struct pollfd p = { .fd = w->sock, .events = POLLIN };
	struct request r;
	ssize_t n = 1;

	while (n != 0) {
		int fd = -1;
		size_t nfds = 0;

		reap(w);
		if (ppoll(&p, 1, NULL, &w->mask) < 0)
			continue;
		n = fd_recv(w->sock, &r, sizeof(r), &fd, 1, &nfds);
		r.text[sizeof(r.text) - 1] = '\0';
		if (n == (ssize_t)sizeof(r))
			serve(w, &r, fd);
		cleanup_close(&fd);
	}
	for (size_t i = 0; i < PROGRAMS_MAX; i++)
		if (w->v[i].pid)
			end_program(w->v[i].pid);
}

/* Should: know the pair, the program and /proc. Mustn't: die of a key typed at the terminal. */
static void run_helper(int sock, const struct helper_config *cfg) __attribute__((noreturn));

static void run_helper(int sock, const struct helper_config *cfg)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTSTP, SIGHUP, SIGTERM, SIGPIPE };
	struct worker w = { .sock = sock, .cfg = cfg };
	const struct sigaction child = { .sa_handler = on_child };
	int null;

	if (forked_helper(&sock, 1, ignored, ARRAY_SIZE(ignored), NULL))
		_exit(1);
	(void)sigaction(SIGCHLD, &child, NULL);
	(void)sigemptyset(&w.mask);
	(void)sigaddset(&w.mask, SIGCHLD);
	(void)sigprocmask(SIG_SETMASK, &w.mask, NULL);
	(void)sigemptyset(&w.mask);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		_exit(1);
	work(&w);
	_exit(0);
}

/* ---- the supervisor's side */

static void readable(evutil_socket_t fd, short what, void *arg)
{
	struct helper *h = arg;
	struct reply r;
	ssize_t n = recv(fd, &r, sizeof(r), MSG_DONTWAIT);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)sizeof(r)) {
		(void)event_del(&h->event);
		h->cfg.lost(h->cfg.arg);
		return;
	}
	r.who.chain[WHO_CHAIN_MAX - 1] = r.who.argv[WHO_ARGV_MAX - 1] = '\0';
	if (r.kind == WHO)
		h->cfg.who(h->cfg.arg, r.id, &r.who);
	else if (r.kind == EXITED)
		h->cfg.exited(h->cfg.arg, r.id, r.status);
}

struct helper *helper_start(struct event_base *base, const struct helper_config *cfg,
			    struct error *err)
{
	struct helper *h;
	int sock;
	pid_t pid = forked_with_socket(&sock, err);

	if (pid == 0)
		run_helper(sock, cfg);
	if (pid < 0)
		return NULL;
	(void)fd_set_nonblock(sock); /* a helper that is behind must not hold up the proxy */
	h = xcalloc(1, sizeof(*h));
	*h = (struct helper){ .cfg = *cfg, .pid = pid, .sock = sock, .watched = base };
	if (!base)
		return h;
	(void)event_assign(&h->event, base, h->sock, EV_READ | EV_PERSIST, readable, h);
	if (event_add(&h->event, NULL) < 0) {
		(void)error_set(err, errno, "cannot watch the asking helper");
		helper_free(h);
		return NULL;
	}
	return h;
}

void helper_free(struct helper *h)
{
	if (!h)
		return;
	if (h->watched)
		(void)event_del(&h->event);
	(void)close(h->sock);
	while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(h);
}

static int send_request(const struct helper *h, const struct request *r, const int *fd)
{
	return fd_send(h->sock, r, sizeof(*r), fd, fd ? 1 : 0);
}

int helper_who(struct helper *h, uint64_t id, const struct who_socket *socket)
{
	const struct request r = { .kind = WHO, .id = id, .socket = *socket, .ms = LOOK_MAX_MS };

	return send_request(h, &r, NULL);
}

enum helper_look helper_who_wait(struct helper *h, pid_t init, const struct who_socket *socket,
				 unsigned ms, struct who *out)
{
	const struct request request = {
		.kind = WHO, .id = ++h->last, .init = init, .socket = *socket, .ms = ms
	};
	struct pollfd p = { .fd = h->sock, .events = POLLIN };
	struct reply r = { .id = 0 };

	if (send_request(h, &request, NULL) < 0)
		return HELPER_NOT_LOOKED;
	/* An earlier answer may have come too late for its question. */
	while (r.id != h->last)
		if (poll(&p, 1, (int)ms + BUSY_MS) != 1 ||
		    recv(h->sock, &r, sizeof(r), MSG_DONTWAIT) != (ssize_t)sizeof(r))
			return HELPER_NOT_LOOKED;
	r.who.chain[WHO_CHAIN_MAX - 1] = r.who.argv[WHO_ARGV_MAX - 1] = '\0';
	*out = r.who;
	return r.late ? HELPER_LATE : HELPER_LOOKED;
}

int helper_exec(struct helper *h, uint64_t id, const char *text, struct error *err)
{
	struct request r = { .kind = EXEC, .id = id };
	CLEANUP_CLOSE int ours = -1, theirs = -1;
	int pair[2];

	memcpy(r.text, text, strnlen(text, sizeof(r.text) - 1));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set(err, errno, "cannot make a socket pair");
	ours = pair[0];
	theirs = pair[1];
	if (fd_set_nonblock(ours) < 0 || send_request(h, &r, &theirs) < 0)
		return error_set(err, errno, "cannot reach our helper");
	return take_fd(&ours);
}

void helper_kill(struct helper *h, uint64_t id)
{
	const struct request r = { .kind = KILL, .id = id };

	(void)send_request(h, &r, NULL);
}
