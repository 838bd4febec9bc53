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

static void add(struct addr_set *s, sa_family_t family, const struct rtattr *a)
{
	struct addr addr = { .family = family };
	size_t n = RTA_PAYLOAD(a);

	if (n != (family == AF_INET ? 4U : 16U))
		return;
	memcpy(addr.bytes, RTA_DATA(a), n);
	if (addr_set_contains(s, &addr))
		return;
	s->v = xreallocarray(s->v, s->n + 1, sizeof(*s->v));
	s->v[s->n++] = addr;
}

/*
 * IFA_LOCAL is the interface's own address; IFA_ADDRESS is the same, or on point-to-point links
 * the peer's. The peer is not this machine, but without IFA_LOCAL (IPv6) it is all there is.
 */
static void each_addr(void *arg, const struct nlmsghdr *h)
{
	const struct ifaddrmsg *m = NLMSG_DATA(h);
	const struct rtattr *own = NULL;
	size_t n;

	if (h->nlmsg_type != RTM_NEWADDR || h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
		return;
	if (m->ifa_family != AF_INET && m->ifa_family != AF_INET6)
		return;
	n = h->nlmsg_len - NLMSG_LENGTH(sizeof(*m));
	for (const struct rtattr *a = IFA_RTA(m); RTA_OK(a, n); a = RTA_NEXT(a, n))
		if (a->rta_type == IFA_LOCAL || (a->rta_type == IFA_ADDRESS && !own))
			own = a;
	if (own)
		add(arg, m->ifa_family, own);
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
		rc = netlink_dump(sock, RTM_GETADDR, each_addr, &found);
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
	*s = (struct addr_set){ 0 };
}

int ifaddrs_watch(struct error *err)
{
	CLEANUP_CLOSE int sock = netlink_open(RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR);

	if (sock < 0 || fd_set_nonblock(sock) < 0)
		return error_set(err, errno, "cannot watch the interfaces' addresses");
	return take_fd(&sock);
}

bool ifaddrs_changed(int watch)
{
	char buf[4096];
	bool changed = false;

	/* Only that something came matters; ENOBUFS says that messages were lost. */
	for (;;) {
		ssize_t n = recv(watch, buf, sizeof(buf), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != ENOBUFS)
			return changed;
		changed = true;
		if (n == 0)
			return changed;
	}
}
