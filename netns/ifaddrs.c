#include "netns/ifaddrs.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"
#include "netns/netlink.h"

#define DUMP_ATTEMPTS 8 /* the table may change while it is read */

static void add(struct addr_set *s, const struct addr *a)
{
	if (addr_set_contains(s, a))
		return;
	s->v = xreallocarray(s->v, s->n + 1, sizeof(*s->v));
	s->v[s->n++] = *a;
}

static bool read_addr(sa_family_t family, const struct rtattr *a, struct addr *out)
{
	size_t n = RTA_PAYLOAD(a);

	if (n != (family == AF_INET ? 4U : 16U))
		return false;
	*out = (struct addr){ .family = family };
	memcpy(out->bytes, RTA_DATA(a), n);
	return true;
}

/*
 * The first and the last address of an interface's IPv4 network stand for everybody in it, this
 * machine included (RFC 1122 3.2.1.3). Table local names the last one; the first one means nothing to
 * Linux since 5.14, but still does to its neighbours. Networks of one or two addresses have neither
 * (RFC 3021).
 */
static void add_edges(struct addr_set *s, const struct addr *in, unsigned bits)
{
	struct addr first = *in, last = *in;

	if (in->family != AF_INET || bits == 0 || bits > 30)
		return;
	for (unsigned bit = bits; bit < 32; bit++) {
		uint8_t mask = (uint8_t)(0x80u >> bit % 8);

		first.bytes[bit / 8] &= (uint8_t)~mask;
		last.bytes[bit / 8] |= mask;
	}
	add(s, &first);
	add(s, &last);
}

/*
 * IFA_LOCAL is the interface's own address; IFA_ADDRESS is the same, or on point-to-point links
 * the peer's. The peer is not this machine, but without IFA_LOCAL (IPv6) it is all there is.
 */
static void each_addr(void *arg, const struct nlmsghdr *h)
{
	const struct ifaddrmsg *m = NLMSG_DATA(h);
	const struct rtattr *own = NULL, *network = NULL;
	struct addr addr;
	size_t n;

	if (h->nlmsg_type != RTM_NEWADDR || h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
		return;
	if (m->ifa_family != AF_INET && m->ifa_family != AF_INET6)
		return;
	n = h->nlmsg_len - NLMSG_LENGTH(sizeof(*m));
	for (const struct rtattr *a = IFA_RTA(m); RTA_OK(a, n); a = RTA_NEXT(a, n)) {
		if (a->rta_type == IFA_LOCAL || (a->rta_type == IFA_ADDRESS && !own))
			own = a;
		if (a->rta_type == IFA_ADDRESS)
			network = a;
	}
	if (own && read_addr(m->ifa_family, own, &addr))
		add(arg, &addr);
	if (network && read_addr(m->ifa_family, network, &addr))
		add_edges(arg, &addr, m->ifa_prefixlen);
}

static void add_block(struct addr_set *s, const struct cidr *c)
{
	if (c->bits == (c->addr.family == AF_INET ? 32 : 128) && addr_set_contains(s, &c->addr))
		return;
	s->blocks = xreallocarray(s->blocks, s->nblocks + 1, sizeof(*s->blocks));
	s->blocks[s->nblocks++] = *c;
}

/*
 * Table local names what the kernel delivers here, whole prefixes among it ("local 192.0.2.0/24
 * dev lo", AnyIP), broadcast and anycast addresses. Multicast is a class of its own (addr.h).
 */
static void each_route(void *arg, const struct nlmsghdr *h)
{
	const struct rtmsg *m = NLMSG_DATA(h);
	struct cidr c = { 0 };
	size_t n, want;

	if (h->nlmsg_type != RTM_NEWROUTE || h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
		return;
	if (m->rtm_table != RT_TABLE_LOCAL || (m->rtm_flags & RTM_F_CLONED))
		return;
	if (m->rtm_type != RTN_LOCAL && m->rtm_type != RTN_BROADCAST && m->rtm_type != RTN_ANYCAST)
		return;
	if (m->rtm_family != AF_INET && m->rtm_family != AF_INET6)
		return;
	want = m->rtm_family == AF_INET ? 4 : 16;
	if (m->rtm_dst_len > want * 8)
		return;
	c.addr.family = m->rtm_family;
	c.bits = m->rtm_dst_len;
	n = h->nlmsg_len - NLMSG_LENGTH(sizeof(*m));
	/* No destination is the whole family. */
	for (const struct rtattr *a = RTM_RTA(m); RTA_OK(a, n); a = RTA_NEXT(a, n))
		if (a->rta_type == RTA_DST && RTA_PAYLOAD(a) == want)
			memcpy(c.addr.bytes, RTA_DATA(a), want);
	add_block(arg, &c);
}

static int dump_all(int sock, struct addr_set *found)
{
	if (netlink_dump(sock, RTM_GETADDR, each_addr, found) < 0 ||
	    netlink_dump_local(sock, AF_INET, each_route, found) < 0)
		return -1;
	return netlink_dump_local(sock, AF_INET6, each_route, found);
}

int ifaddrs_list(struct addr_set *out, struct error *err)
{
	CLEANUP_CLOSE int sock = netlink_open(0);
	struct addr_set found = { 0 };
	int rc = -1;

	if (sock < 0)
		return error_set(err, errno, "cannot open a netlink socket");
	for (int i = 0; i < DUMP_ATTEMPTS && rc < 0; i++) {
		ifaddrs_clear(&found);
		rc = dump_all(sock, &found);
		if (rc < 0 && errno != EINTR)
			break;
	}
	if (rc < 0) {
		int saved = errno;

		ifaddrs_clear(&found);
		return error_set(err, saved, "cannot list the interfaces' addresses");
	}
	ifaddrs_clear(out);
	*out = found;
	return 0;
}

void ifaddrs_clear(struct addr_set *s)
{
	free(s->v);
	free(s->blocks);
	*s = (struct addr_set){ 0 };
}

int ifaddrs_watch(struct error *err)
{
	CLEANUP_CLOSE int sock = netlink_open(RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR |
					      RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE);

	if (sock < 0 || fd_set_nonblock(sock) < 0)
		return error_set(err, errno, "cannot watch the interfaces' addresses");
	return take_fd(&sock);
}

/* A router's other tables change all the time and do not matter. */
static bool matters(const struct nlmsghdr *h, size_t n)
{
	for (; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
		const struct rtmsg *m = NLMSG_DATA(h);
		bool route = h->nlmsg_type == RTM_NEWROUTE || h->nlmsg_type == RTM_DELROUTE;

		if (!route || h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)) ||
		    m->rtm_table == RT_TABLE_LOCAL)
			return true;
	}
	return false;
}

bool ifaddrs_changed(int watch)
{
	union {
		struct nlmsghdr h;
		char bytes[8192];
	} buf;
	bool changed = false;

	/* Only that something came matters; ENOBUFS says that messages were lost. */
	for (;;) {
		ssize_t n = recv(watch, &buf, sizeof(buf), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != ENOBUFS)
			return changed;
		changed |= n <= 0 || matters(&buf.h, (size_t)n);
		if (n == 0)
			return changed;
	}
}
