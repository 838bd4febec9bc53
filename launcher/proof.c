/*
 * Theory of operation
 *
 * Each stage of the launcher checks what the kernel told it. That is not enough: an outer filter
 * can answer "done" to a call that it never let through, a namespace can be joined to something, a
 * kernel can have a hole. So the process that will become the command, with everything in force
 * that will be in force then (namespaces, mounts, no capabilities, Landlock, seccomp), tries to get
 * out before it lets the command have its place. It runs no code of the command's, and the command
 * cannot have touched it.
 *
 * The bait lies outside: sockets of the supervisor on the host's own loopback, which anybody on the
 * host can reach. A connection to an address of the internet proves little by failing, since the
 * host may be offline; one to the bait fails only because the sandbox is another world. With
 * capture a direct connection succeeds, by ending at our own listener; there both sides count, and
 * the supervisor compares (launcher_proof()).
 *
 * Every probe has the errno with which it must fail. Another one is a surprise too: then it was
 * not our wall that stopped it.
 *
 * What waits for the supervisor is started first and collected last, so that the two work at the
 * same time. On the loopback everything is synchronous; the timeouts are for a failed proof.
 */
#include "launcher/proof.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "launcher/files/landlock_abi.h"
#include "launcher/launcher.h"
#include "netns/netns.h"

/* The ICMP error comes before send() returns, unless a busy machine leaves it to a thread. */
#define DATAGRAM_MS 1000
#define DATAGRAMS   5
#define ATTEMPTS    8 /* for a port that means nothing inside */

static const struct addr loopback4 = { .family = AF_INET, .bytes = { 127, 0, 0, 1 } };

/*
 * Where the probes of the host come from. From the bait's own address they would now and then get the
 * bait's number as a port of their own, and reach themselves: one start in 28,000 for UDP, and for TCP
 * (RFC 9293 3.5, simultaneous open).
 */
static const struct addr source4 = { .family = AF_INET, .bytes = { 127, 0, 0, 2 } };

static socklen_t fill(struct sockaddr_storage *ss, const struct addr *a, uint16_t port)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;

	memset(ss, 0, sizeof(*ss));
	ss->ss_family = a->family;
	if (a->family == AF_INET) {
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, a->bytes, sizeof(in->sin_addr));
		return sizeof(*in);
	}
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, a->bytes, sizeof(in6->sin6_addr));
	return sizeof(*in6);
}

/* ---- the bait */

/* Whether something inside may listen on the port, by the plan. */
static bool means_something(const struct netns_plan *net, uint16_t port)
{
	bool found = port == NETNS_PROXY_PORT || port == NETNS_CAPTURE_PORT;

	for (size_t i = 0; i < net->nforwards; i++)
		found |= net->forwards[i] == port;
	for (size_t i = 0; i < net->nports; i++)
		found |= net->ports[i] == port;
	return found;
}

/* A socket on the host's loopback; -1 with errno. */
static int lay(int type, uint16_t *port)
{
	CLEANUP_CLOSE int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage ss;
	socklen_t len = fill(&ss, &loopback4, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&ss, len) < 0)
		return -1;
	if (type == SOCK_STREAM && listen(fd, 1) < 0)
		return -1;
	if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0)
		return -1;
	*port = ntohs(((struct sockaddr_in *)&ss)->sin_port);
	return take_fd(&fd);
}

/* A host without a loopback address has nothing there that could be reached. */
static int lay_on_loopback(const struct netns_plan *net, int type, int *fd, uint16_t *port,
			   struct error *err)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		*fd = lay(type, port);
		if (*fd < 0 && errno == EADDRNOTAVAIL)
			return *port = 0;
		if (*fd < 0)
			return error_set(err, errno, "cannot listen on the host's loopback");
		if (!means_something(net, *port))
			return 0;
		cleanup_close(fd);
		*fd = -1;
	}
	return error_set(err, 0, "cannot find a free port on the host's loopback");
}

/* The kernel chooses a name when none is given (unix(7), autobind). */
static int lay_abstract(struct proof *p, struct error *err)
{
	const struct sockaddr_un none = { .sun_family = AF_UNIX };

	p->abstract = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	p->name_len = sizeof(p->name);
	if (p->abstract < 0 ||
	    bind(p->abstract, (const struct sockaddr *)&none, sizeof(none.sun_family)) < 0 ||
	    listen(p->abstract, 1) < 0 ||
	    getsockname(p->abstract, (struct sockaddr *)&p->name, &p->name_len) < 0)
		return error_set(err, errno, "cannot make an abstract socket");
	return 0;
}

int proof_open(struct proof *p, const struct launcher_plan *plan, struct error *err)
{
	struct landlock_rights rights;

	*p = (struct proof){ .plan = plan->proof,
			     .tcp = -1,
			     .udp = -1,
			     .abstract = -1,
			     .capture = plan->net.capture,
			     .allow_unix = plan->allow_unix_sockets,
			     .allow_ptrace = plan->allow_ptrace };
	if (!p->plan)
		return 0;
	if (landlock_abi_query(&rights, err) < 0)
		return -1;
	p->scoped = rights.scoped != 0;
	if (lay_on_loopback(&plan->net, SOCK_STREAM, &p->tcp, &p->tcp_port, err) < 0 ||
	    lay_on_loopback(&plan->net, SOCK_DGRAM, &p->udp, &p->udp_port, err) < 0)
		return -1;
	return p->allow_unix ? lay_abstract(p, err) : 0;
}

void proof_close(struct proof *p)
{
	cleanup_close(&p->tcp);
	cleanup_close(&p->udp);
	cleanup_close(&p->abstract);
	p->tcp = p->udp = p->abstract = -1;
}

/* ---- the probes */

/* Everything that was not as it must be, in one sentence. */
struct surprises {
	size_t len;
	char text[ERROR_MSG_MAX - 256];
};

static void add(struct surprises *s, const char *what, const char *how)
{
	int n = snprintf(s->text + s->len, sizeof(s->text) - s->len, "%s%s: %s", s->len ? "; " : "",
			 what, how);

	if (n > 0 && (size_t)n < sizeof(s->text) - s->len)
		s->len += (size_t)n;
	else
		s->text[s->len] = '\0'; /* whole words only */
}

/* What was tried must have failed with @wanted; @rc and errno tell how it ended. */
static void must_fail(struct surprises *s, const char *what, long rc, int wanted)
{
	if (rc >= 0)
		add(s, what, "possible");
	else if (errno != wanted)
		add(s, what, strerror(errno));
}

static void try_calls(const struct proof *p, struct surprises *s)
{
	must_fail(s, "raw sockets", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), EPERM);
	must_fail(s, "packet sockets", socket(AF_PACKET, SOCK_RAW, 0), EPERM);
	must_fail(s, "io_uring", syscall(SYS_io_uring_setup, 1, NULL), ENOSYS);
	if (p->allow_ptrace) /* but not of what is outside of its domain */
		must_fail(s, "ptrace of pid 1", ptrace(PTRACE_SEIZE, 1, NULL, NULL), EPERM);
	else
		must_fail(s, "ptrace", ptrace(PTRACE_TRACEME, 0, NULL, NULL), EPERM);
	if (p->scoped)
		must_fail(s, "signals to processes outside its domain", kill(1, 0), EPERM);
}

/* One socket() stands for every name, be it a path or abstract: without one there is no connect. */
static void try_unix(const struct proof *p, struct surprises *s)
{
	CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int pair[2];

	if (!p->allow_unix) {
		must_fail(s, "unix sockets", fd, EPERM);
		must_fail(s, "unix datagram pairs",
			  socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair), EPERM);
		return;
	}
	if (fd < 0)
		add(s, "unix sockets, which are allowed", strerror(errno));
	else if (connect(fd, (const struct sockaddr *)&p->name, p->name_len) == 0)
		add(s, "the host's abstract sockets", "possible");
	else if (errno != EPERM && errno != ECONNREFUSED)
		add(s, "the host's abstract sockets", strerror(errno));
}

static int wait_for(int fd, short events, int ms)
{
	struct pollfd p = { .fd = fd, .events = events };
	int rc;

	do
		rc = poll(&p, 1, ms);
	while (rc < 0 && errno == EINTR);
	return rc;
}

static int pending_error(int fd)
{
	socklen_t len = sizeof(int);
	int code = 0;

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0 ? errno : code;
}

/* A socket for a probe, which comes from @from if that is given; -1 with errno. */
static int probe_socket(int family, int type, const struct addr *from)
{
	CLEANUP_CLOSE int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage ss;

	if (fd < 0 || (from && bind(fd, (struct sockaddr *)&ss, fill(&ss, from, 0)) < 0))
		return -1;
	return take_fd(&fd);
}

/* A connection, non-blocking from then on; -1 with errno. */
static int dial(const struct addr *from, const struct addr *to, uint16_t port)
{
	CLEANUP_CLOSE int fd = probe_socket(to->family, SOCK_STREAM, from);
	struct sockaddr_storage ss;
	socklen_t len = fill(&ss, to, port);

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&ss, len) < 0) {
		if (errno != EINPROGRESS)
			return -1;
		errno = wait_for(fd, POLLOUT, PROOF_TIMEOUT_MS) == 1 ? pending_error(fd)
								     : ETIMEDOUT;
		if (errno && errno != ECONNRESET) /* that was one, and has ended */
			return -1;
	}
	return take_fd(&fd);
}

/* A datagram must come back as an error; nobody refuses what nobody gets. */
static void try_datagram(const struct addr *from, const struct addr *to, uint16_t port,
			 const char *what, int wanted, struct surprises *s)
{
	CLEANUP_CLOSE int fd = probe_socket(AF_INET, SOCK_DGRAM, from);
	struct sockaddr_storage ss;
	socklen_t len = fill(&ss, to, port);
	long rc = fd < 0 ? -1 : connect(fd, (struct sockaddr *)&ss, len);

	for (int i = 0; rc == 0 && i < DATAGRAMS; i++) {
		rc = send(fd, "", 1, MSG_NOSIGNAL);
		if (rc == 1) {
			errno = wait_for(fd, POLLIN, DATAGRAM_MS) == 1 ? pending_error(fd) : 0;
			rc = errno ? -1 : 0;
		}
	}
	must_fail(s, what, rc, wanted);
}

static void try_datagrams(const struct proof *p, struct surprises *s)
{
	const struct proof_plan *plan = p->plan;

	if (p->udp_port)
		try_datagram(&source4, &loopback4, p->udp_port, "UDP to the host", ECONNREFUSED, s);
	try_datagram(NULL, &plan->direct4, plan->port, "direct UDP",
		     p->capture ? ECONNREFUSED : ENETUNREACH, s);
}

static void try_host(const struct proof *p, struct surprises *s)
{
	CLEANUP_CLOSE int fd = p->tcp_port ? dial(&source4, &loopback4, p->tcp_port) : -1;

	if (p->tcp_port)
		must_fail(s, "TCP to the host", fd, ECONNREFUSED);
}

/* A kernel without IPv6, or with IPv6 switched off, has these answers; then nobody captures. */
static bool lacks_family(const struct addr *to)
{
	return to->family == AF_INET6 &&
	       (errno == EAFNOSUPPORT || errno == ENETUNREACH || errno == EADDRNOTAVAIL);
}

/* Return: a connection that we have captured, or think so; -1 if there is none. */
static int start_direct(const struct proof *p, const struct addr *to, const char *what,
			struct surprises *s)
{
	int fd = dial(NULL, to, p->plan->port);

	if (fd < 0 && (lacks_family(to) || (!p->capture && errno == ENETUNREACH)))
		return -1;
	if (fd < 0 || !p->capture)
		add(s, what, fd < 0 ? strerror(errno) : "possible");
	return fd;
}

/* What is captured, we reset without a byte. */
static void finish_direct(int fd, const char *what, unsigned bit, unsigned *seen,
			  struct surprises *s)
{
	char byte;
	ssize_t n;

	if (fd < 0)
		return;
	if (wait_for(fd, POLLIN, PROOF_TIMEOUT_MS) != 1) {
		add(s, what, "nobody ended it");
		return;
	}
	n = recv(fd, &byte, 1, 0);
	if (n > 0)
		add(s, what, "answered");
	else if (n < 0 && errno != ECONNRESET)
		add(s, what, strerror(errno));
	else
		*seen |= bit;
}

static int start_request(const char *target, struct surprises *s)
{
	CLEANUP_CLOSE int fd = dial(NULL, &loopback4, NETNS_PROXY_PORT);
	char head[2 * TARGET_TEXT_MAX + 64];
	int n = snprintf(head, sizeof(head), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target,
			 target);

	if (fd < 0 || send(fd, head, (size_t)n, MSG_NOSIGNAL) != n) {
		add(s, "the proxy", strerror(errno));
		return -1;
	}
	return take_fd(&fd);
}

/* The status line; "" when none came. */
static void read_status(int fd, char *line, size_t size)
{
	size_t len = 0;
	ssize_t n = 0;

	do {
		if (wait_for(fd, POLLIN, PROOF_TIMEOUT_MS) != 1)
			break;
		n = recv(fd, line + len, size - 1 - len, 0);
		len += n > 0 ? (size_t)n : 0;
		line[len] = '\0';
	} while (n > 0 && len < size - 1 && !strchr(line, '\n'));
	line[strcspn(line, "\r\n")] = '\0';
}

static void finish_request(int fd, const char *what, const char *status, unsigned bit,
			   unsigned *seen, struct surprises *s)
{
	char line[64] = "";

	if (fd < 0)
		return;
	read_status(fd, line, sizeof(line));
	if (strncmp(line, status, strlen(status)) != 0)
		add(s, what, *line ? line : "no answer");
	else
		*seen |= bit;
}

int proof_run(const struct proof *p, unsigned *seen, struct error *err)
{
	const struct proof_plan *plan = p->plan;
	CLEANUP_CLOSE int refused = -1, canary = -1, direct4 = -1, direct6 = -1;
	struct surprises s = { 0 };

	*seen = 0;
	refused = start_request(plan->refused, &s);
	canary = start_request(plan->canary, &s);
	direct4 = start_direct(p, &plan->direct4, "direct TCP over IPv4", &s);
	direct6 = start_direct(p, &plan->direct6, "direct TCP over IPv6", &s);
	try_calls(p, &s);
	try_unix(p, &s);
	try_host(p, &s);
	try_datagrams(p, &s);
	if (s.len == 0) { /* else the answers change nothing, and may not come */
		finish_request(refused, "a refused name through the proxy", "HTTP/1.1 403 ",
			       PROOF_REFUSED, seen, &s);
		finish_request(canary, "the proxy's own name", "HTTP/1.1 200 ", PROOF_CANARY, seen,
			       &s);
		finish_direct(direct4, "direct TCP over IPv4", PROOF_DIRECT4, seen, &s);
		finish_direct(direct6, "direct TCP over IPv6", PROOF_DIRECT6, seen, &s);
	}
	if (s.len == 0)
		return 0;
	return error_set(err, 0,
			 "the sandbox does not hold: %s (another sandbox or container around this "
			 "one may answer in the kernel's place: try without it, and see "
			 "'sbx-net doctor')",
			 s.text);
}
