#include "netns/netns.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "netns/netlink.h"
#include "netns/tproxy.h"

#define DNS_PORT 53
#define BACKLOG	 4096 /* net.core.somaxconn of a new namespace */

/* The listeners as they are made; on failure each is closed again. */
struct maker {
	struct netns_listener *v;
	size_t n;
	struct error *err;
};

static socklen_t fill_sockaddr(struct sockaddr_storage *sa, sa_family_t family, bool any,
			       uint16_t port)
{
	memset(sa, 0, sizeof(*sa));
	if (family == AF_INET) {
		struct sockaddr_in *in = (struct sockaddr_in *)sa;

		in->sin_family = AF_INET;
		in->sin_addr.s_addr = htonl(any ? INADDR_ANY : INADDR_LOOPBACK);
		in->sin_port = htons(port);
		return sizeof(*in);
	} else {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)sa;

		in6->sin6_family = AF_INET6;
		in6->sin6_addr = any ? in6addr_any : in6addr_loopback;
		in6->sin6_port = htons(port);
		return sizeof(*in6);
	}
}

/* Transparent: takes packets for any address (CAP_NET_ADMIN over the namespace). */
static int set_transparent(int fd, sa_family_t family)
{
	const int one = 1;

	if (family == AF_INET6)
		return setsockopt(fd, IPPROTO_IPV6, IPV6_TRANSPARENT, &one, sizeof(one));
	return setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &one, sizeof(one));
}

/*
 * IPV6_V6ONLY: the IPv4 twin has its own socket. The UDP socket must know which nameserver's
 * address a query was sent to, so that the answer can come from there.
 */
static int set_options(int fd, sa_family_t family, bool udp)
{
	const int one = 1;

	if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0)
		return -1;
	if (!udp)
		return 0;
	if (family == AF_INET6)
		return setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &one, sizeof(one));
	return setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one));
}

/* A bound (and, for TCP, listening) socket; -1 with errno. */
static int make_socket(sa_family_t family, bool udp, bool any, uint16_t port)
{
	CLEANUP_CLOSE int fd =
		socket(family, (udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage sa;
	socklen_t len = fill_sockaddr(&sa, family, any, port);

	if (fd < 0 || set_options(fd, family, udp) < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&sa, len) < 0)
		return -1;
	if (!udp && listen(fd, BACKLOG) < 0)
		return -1;
	return take_fd(&fd);
}

/* Whether a kind listens on every address rather than on the loopback. */
static bool on_any(enum netns_kind kind)
{
	return kind != NETNS_PROXY && kind != NETNS_FORWARD;
}

static int add(struct maker *m, enum netns_kind kind, sa_family_t family, uint16_t port,
	       uint16_t index)
{
	int fd;

	if (m->n == NETNS_LISTENERS_MAX)
		return error_set(m->err, 0, "too many listeners in the sandbox (at most %d)",
				 NETNS_LISTENERS_MAX);
	fd = make_socket(family, kind == NETNS_DNS_UDP, on_any(kind), port);
	if (fd < 0)
		return error_set(m->err, errno, "cannot listen on port %u in the sandbox (IPv%d)",
				 port, family == AF_INET ? 4 : 6);
	m->v[m->n++] = (struct netns_listener){
		.kind = (uint8_t)kind,
		.family = (uint8_t)family,
		.port = port,
		.index = index,
		.fd = fd,
	};
	return 0;
}

/* DNS, the proxy and forwards have their own sockets; a port is listened on once. */
static bool is_reserved(const struct netns_plan *plan, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (plan->ports[k] == plan->ports[i])
			return true;
	for (size_t k = 0; k < plan->nforwards; k++)
		if (plan->forwards[k] == plan->ports[i])
			return true;
	return plan->ports[i] == 0 || plan->ports[i] == DNS_PORT ||
	       plan->ports[i] == NETNS_PROXY_PORT;
}

/* Listeners for DNS, and in tproxy mode the one that takes every port. */
static int add_capture(struct maker *m, const struct netns_plan *plan, sa_family_t family,
		       bool tproxy)
{
	if (add(m, NETNS_DNS_UDP, family, DNS_PORT, 0) ||
	    add(m, NETNS_DNS_TCP, family, DNS_PORT, 0))
		return -1;
	if (tproxy) {
		if (add(m, NETNS_CAPTURE, family, NETNS_CAPTURE_PORT, 0))
			return -1;
		if (set_transparent(m->v[m->n - 1].fd, family) < 0)
			return error_set(m->err, errno, "cannot make a transparent listener");
		return 0;
	}
	for (size_t i = 0; i < plan->nports; i++)
		if (!is_reserved(plan, i) && add(m, NETNS_CAPTURE, family, plan->ports[i], 0))
			return -1;
	return 0;
}

static int add_family(struct maker *m, const struct netns_plan *plan, sa_family_t family,
		      bool tproxy)
{
	if (add(m, NETNS_PROXY, family, NETNS_PROXY_PORT, 0))
		return -1;
	for (size_t i = 0; i < plan->nforwards; i++)
		if (add(m, NETNS_FORWARD, family, plan->forwards[i], (uint16_t)i))
			return -1;
	return plan->capture ? add_capture(m, plan, family, tproxy) : 0;
}

/* Whether this kernel does IPv6 here: it may be left out, or switched off by sysctl. */
static bool have_ipv6(void)
{
	CLEANUP_CLOSE int fd = make_socket(AF_INET6, false, false, 0);

	return fd >= 0;
}

/* Somebody else brought lo up; whether ::1 is there is theirs to decide as well. */
static int add_bare(struct maker *m, const struct netns_plan *plan)
{
	if (add_family(m, plan, AF_INET, false))
		return -1;
	return have_ipv6() ? add_family(m, plan, AF_INET6, false) : 0;
}

static int set_up(const struct netns_plan *plan, struct maker *m)
{
	CLEANUP_CLOSE int nl = plan->bare ? -1 : netlink_open(0);
	bool ipv6, tproxy;

	if (plan->bare)
		return add_bare(m, plan);
	if (nl < 0)
		return error_set(m->err, errno, "cannot open a netlink socket in the sandbox");
	if (netlink_lo_up(nl) < 0)
		return error_set(m->err, errno, "cannot bring up lo in the sandbox");
	ipv6 = have_ipv6();
	if (plan->capture && netlink_lo_second(nl) < 0)
		return error_set(m->err, errno, "cannot give lo a second address");
	if (plan->capture && netlink_local_any(nl, AF_INET) < 0)
		return error_set(m->err, errno, "cannot make every IPv4 address local");
	if (plan->capture && ipv6 && netlink_local_any(nl, AF_INET6) < 0)
		return error_set(m->err, errno, "cannot make every IPv6 address local");
	tproxy = plan->capture && !plan->no_tproxy && tproxy_install(NETNS_CAPTURE_PORT) == 0;
	if (add_family(m, plan, AF_INET, tproxy))
		return -1;
	return ipv6 ? add_family(m, plan, AF_INET6, tproxy) : 0;
}

/*
 * Should: be called once, in a network namespace that holds nothing but lo.
 * Mustn't: be called in the host's namespace; the local default route would swallow its traffic.
 */
int netns_setup(const struct netns_plan *plan, struct netns_listener *out, size_t *n,
		struct error *err)
{
	struct maker m = { .v = out, .err = err };

	if (set_up(plan, &m)) {
		while (m.n > 0)
			cleanup_close(&out[--m.n].fd);
		return -1;
	}
	*n = m.n;
	return 0;
}

#define NUM_FAMILIES 2

size_t netns_most(const struct netns_plan *plan)
{
	size_t n = 1 + plan->nforwards; /* the proxy */

	if (plan->capture)
		n += 2 + 1 + plan->nports; /* DNS by both ways, and every port or each */
	return NUM_FAMILIES * n;
}

static bool captures(const struct netns_plan *plan, uint16_t port)
{
	bool found = port == NETNS_CAPTURE_PORT;

	for (size_t i = 0; !found && i < plan->nports; i++)
		found = plan->ports[i] == port;
	return found;
}

static bool is_planned(const struct netns_plan *plan, const struct netns_listener *l)
{
	if (l->family != AF_INET && l->family != AF_INET6)
		return false;
	switch ((enum netns_kind)l->kind) {
	case NETNS_PROXY:
		return true;
	case NETNS_CAPTURE:
		return plan->capture && captures(plan, l->port);
	case NETNS_DNS_UDP:
	case NETNS_DNS_TCP:
		return plan->capture;
	case NETNS_FORWARD:
		return l->index < plan->nforwards;
	case NETNS_PUBLISH:
		break;
	}
	return false;
}

/* Whether both are for the same thing. */
static bool is_twin(const struct netns_listener *a, const struct netns_listener *b)
{
	if (a->kind != b->kind || a->family != b->family)
		return false;
	return (a->kind != NETNS_CAPTURE || a->port == b->port) &&
	       (a->kind != NETNS_FORWARD || a->index == b->index);
}

int netns_check(const struct netns_plan *plan, const struct netns_listener *v, size_t n,
		struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (!is_planned(plan, &v[i]))
			return error_set(err, 0,
					 "the sandbox sent a listener that nobody asked for");
		for (size_t k = 0; k < i; k++)
			if (is_twin(&v[i], &v[k]))
				return error_set(err, 0, "the sandbox sent a listener twice");
	}
	return 0;
}
