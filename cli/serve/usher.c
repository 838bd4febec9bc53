/*
 * Theory of operation
 *
 * The usher is forked before the server confines itself, and forks a process for each client whose
 * listeners are due:
 *
 *	server --- a pair's end, the client's socket ---> usher --- fork ---> process
 *	   ^                                                                   |  ^
 *	   +------------- messages, with listeners and nothing else -----------+  +--- client
 *
 * The pair's end has the highest number of the process's descriptors, and those are closed in their
 * order when a process ends: so the server sees the end of the pair when nothing else is left, and
 * until then counts the process for the client's peer. It is under the server's filter of system calls.
 * One that waits in close(2) forever is a session less for whoever has sent the descriptor.
 */
#include "cli/serve/usher.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/forked.h"
#include "base/xalloc.h"
#include "launcher/seccomp_supervisor.h"

#define MESSAGE_MAX 4096 /* bytes at a time, more than a frame of netns/bridge.h */
#define LAST_NUMBER 128	 /* more than are open there: one message's, and a few */

struct usher {
	int sock;
	pid_t pid;
};

static bool option_is(int fd, int name, int want)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, name, &value, &len) == 0 && value == want;
}

/* No call that a file would answer: what is no socket says ENOTSOCK without a look at the rest. */
static bool is_listener(int fd)
{
	if (!option_is(fd, SO_DOMAIN, AF_INET) && !option_is(fd, SO_DOMAIN, AF_INET6))
		return false;
	if (option_is(fd, SO_PROTOCOL, IPPROTO_TCP))
		return option_is(fd, SO_ACCEPTCONN, 1);
	return option_is(fd, SO_PROTOCOL, IPPROTO_UDP);
}

/* Return: false at the end. */
static bool pass_on(int client, int server)
{
	char buf[MESSAGE_MAX];
	int fds[FD_BATCH_MAX];
	size_t nfds = 0;
	ssize_t n = fd_recv(client, buf, sizeof(buf), fds, FD_BATCH_MAX, &nfds);
	bool good = n > 0;

	if (n < 0)
		return errno == EAGAIN;
	for (size_t i = 0; good && i < nfds; i++)
		good = is_listener(fds[i]);
	good = good && fd_send(server, buf, (size_t)n, fds, nfds) == 0;
	for (size_t i = 0; i < nfds; i++)
		fd_close_foreign(fds[i]);
	return good;
}

static void receive(int client, int server)
{
	struct pollfd p[] = { { .fd = server, .events = POLLIN },
			      { .fd = client, .events = POLLIN } };

	while (p[0].revents == 0) {
		if (poll(p, ARRAY_SIZE(p), -1) < 0) {
			if (errno != EINTR)
				return;
			continue;
		}
		if (p[0].revents == 0 && p[1].revents != 0 && !pass_on(client, server))
			return;
	}
}

static void usher(int sock) __attribute__((noreturn));

/* Should: fork for the server's clients. Mustn't: receive for one itself, nor die of a typed key. */
static void usher(int sock)
{
	static const int ignored[] = {
		SIGINT, SIGQUIT, SIGTSTP, SIGHUP, SIGTERM, SIGPIPE, SIGCHLD
	};
	struct error err;
	int fds[2];
	size_t nfds;
	char byte;

	if (forked_helper(&sock, 1, ignored, ARRAY_SIZE(ignored), NULL))
		_exit(1);
	for (;;) {
		ssize_t n = fd_recv(sock, &byte, sizeof(byte), fds, ARRAY_SIZE(fds), &nfds);
		int server;

		if (n == 0 || (n < 0 && errno != EMSGSIZE))
			_exit(0);
		if (nfds == ARRAY_SIZE(fds) && fork() == 0) {
			(void)close(sock);
			server = fcntl(fds[1], F_DUPFD_CLOEXEC, LAST_NUMBER);
			if (server >= 0 &&
			    seccomp_supervisor_install(&(struct seccomp_peers){ 0 }, &err) == 0) {
				(void)close(fds[1]);
				receive(fds[0], server);
			}
			_exit(0);
		}
		for (size_t i = 0; i < nfds; i++)
			(void)close(fds[i]);
	}
}

/* ---- the server's side */

struct usher *usher_start(struct error *err)
{
	struct usher *u;
	int sock;
	pid_t pid = forked_with_socket(&sock, err);

	if (pid == 0)
		usher(sock);
	if (pid < 0)
		return NULL;
	(void)fd_set_nonblock(sock);
	u = xcalloc(1, sizeof(*u));
	*u = (struct usher){ .sock = sock, .pid = pid };
	return u;
}

void usher_free(struct usher *u)
{
	if (!u)
		return;
	(void)close(u->sock);
	while (waitpid(u->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(u);
}

int usher_fd(const struct usher *u)
{
	return u->sock;
}

int usher_receive(struct usher *u, int client, struct error *err)
{
	CLEANUP_CLOSE int server = -1;
	int pair[2], fds[2];
	int rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set(err, errno, "cannot make a socket pair");
	server = pair[0];
	fds[0] = client;
	fds[1] = pair[1];
	rc = fd_send(u->sock, "c", 1, fds, ARRAY_SIZE(fds));
	(void)close(pair[1]);
	if (rc < 0 && (errno == EPIPE || errno == ECONNRESET))
		return error_set(err, errno, USHER_GONE);
	if (rc < 0 || fd_set_nonblock(server) < 0)
		return error_set(err, errno, "cannot have the listeners received");
	return take_fd(&server);
}
