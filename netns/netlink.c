#include "netns/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define LO_INDEX       1 /* every network namespace is born with lo, number 1 */
#define NETLINK_BUFFER 32768

/* One request: the header, the family's own header, room for two attributes. */
struct request {
	struct nlmsghdr h;
	union {
		struct ifinfomsg link;
		struct ifaddrmsg addr;
		struct rtmsg route;
		struct rtgenmsg gen;
	} u;
	char attrs[64];
};

int netlink_open(uint32_t groups)
{
	struct sockaddr_nl sa = { .nl_family = AF_NETLINK, .nl_groups = groups };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		int saved = errno;

		(void)close(fd);
		errno = saved;
		return -1;
	}
	return fd;
}

static void add_attr(struct request *r, unsigned short type, const void *p, size_t n)
{
	struct rtattr a = { .rta_type = type, .rta_len = (unsigned short)RTA_LENGTH(n) };
	char *end = (char *)r + NLMSG_ALIGN(r->h.nlmsg_len);

	memcpy(end, &a, sizeof(a));
	memcpy(end + sizeof(a), p, n);
	r->h.nlmsg_len = (uint32_t)(NLMSG_ALIGN(r->h.nlmsg_len) + RTA_LENGTH(n));
}

static int send_request(int sock, const struct request *r)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	ssize_t n;

	do
		n = sendto(sock, r, r->h.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof(kernel));
	while (n < 0 && errno == EINTR);
	return n < 0 ? -1 : 0;
}

/* Receives one datagram that the kernel itself has sent. */
static ssize_t recv_kernel(int sock, void *buf, size_t size)
{
	for (;;) {
		struct sockaddr_nl from = { .nl_family = AF_NETLINK };
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(sock, buf, size, MSG_TRUNC, (struct sockaddr *)&from, &len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (from.nl_pid != 0)
			continue;
		if ((size_t)n > size) {
			errno = EMSGSIZE;
			return -1;
		}
		return n;
	}
}

/* The errno in an NLMSG_ERROR message; 0 is an acknowledgement. */
static int error_of(const struct nlmsghdr *h)
{
	const struct nlmsgerr *e = NLMSG_DATA(h);

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*e)))
		return EBADMSG;
	return -e->error;
}

static int transact(int sock, struct request *r)
{
	union {
		struct nlmsghdr h;
		char bytes[4096];
	} buf;
	ssize_t n;
	int code;

	r->h.nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	r->h.nlmsg_seq = 1;
	if (send_request(sock, r) < 0)
		return -1;
	n = recv_kernel(sock, &buf, sizeof(buf));
	if (n < 0)
		return -1;
	code = !NLMSG_OK(&buf.h, (size_t)n) || buf.h.nlmsg_type != NLMSG_ERROR ? EBADMSG
									       : error_of(&buf.h);
	if (code == 0)
		return 0;
	errno = code;
	return -1;
}

int netlink_lo_up(int sock)
{
	struct request r = {
		.h = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
		       .nlmsg_type = RTM_NEWLINK },
		.u.link = { .ifi_family = AF_UNSPEC,
			    .ifi_index = LO_INDEX,
			    .ifi_flags = IFF_UP,
			    .ifi_change = IFF_UP },
	};

	return transact(sock, &r);
}

int netlink_lo_second(int sock)
{
	static const unsigned char second[] = { 127, 0, 0, 2 };
	struct request r = {
		.h = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct ifaddrmsg)),
		       .nlmsg_type = RTM_NEWADDR,
		       .nlmsg_flags = NLM_F_CREATE | NLM_F_REPLACE },
		.u.addr = { .ifa_family = AF_INET,
			    .ifa_prefixlen = 32,
			    .ifa_scope = RT_SCOPE_HOST,
			    .ifa_index = LO_INDEX },
	};

	add_attr(&r, IFA_LOCAL, second, sizeof(second));
	return transact(sock, &r);
}

int netlink_local_any(int sock, sa_family_t family)
{
	static const char any[16];
	const uint32_t lo = LO_INDEX;
	struct request r = {
		.h = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
		       .nlmsg_type = RTM_NEWROUTE,
		       .nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL },
		.u.route = { .rtm_family = (unsigned char)family,
			     .rtm_table = RT_TABLE_LOCAL,
			     .rtm_protocol = RTPROT_BOOT,
			     .rtm_scope = RT_SCOPE_HOST,
			     .rtm_type = RTN_LOCAL },
	};

	add_attr(&r, RTA_DST, any, family == AF_INET6 ? 16 : 4);
	add_attr(&r, RTA_OIF, &lo, sizeof(lo));
	return transact(sock, &r);
}

/* One datagram of a dump. Return: 1 when it was the last, 0 to go on, -1 with errno. */
static int dump_part(const struct nlmsghdr *h, size_t n,
		     void (*each)(void *arg, const struct nlmsghdr *h), void *arg)
{
	bool last = false, torn = false;

	for (; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
		torn |= h->nlmsg_flags & NLM_F_DUMP_INTR;
		if (h->nlmsg_type == NLMSG_DONE) {
			last = true;
			break;
		}
		if (h->nlmsg_type == NLMSG_ERROR) {
			errno = error_of(h);
			return -1;
		}
		each(arg, h);
	}
	if (torn) {
		errno = EINTR;
		return -1;
	}
	return last;
}

static int dump(int sock, const struct request *r,
		void (*each)(void *arg, const struct nlmsghdr *h), void *arg)
{
	union {
		struct nlmsghdr h;
		char bytes[NETLINK_BUFFER];
	} buf;
	int done;

	if (send_request(sock, r) < 0)
		return -1;
	do {
		ssize_t n = recv_kernel(sock, &buf, sizeof(buf));

		if (n < 0)
			return -1;
		done = dump_part(&buf.h, (size_t)n, each, arg);
	} while (done == 0);
	return done < 0 ? -1 : 0;
}

int netlink_dump(int sock, uint16_t type, void (*each)(void *arg, const struct nlmsghdr *h),
		 void *arg)
{
	const struct request r = {
		.h = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg)),
		       .nlmsg_type = type,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		       .nlmsg_seq = 1 },
		.u.gen = { .rtgen_family = AF_UNSPEC },
	};

	return dump(sock, &r, each, arg);
}

int netlink_dump_local(int sock, sa_family_t family,
		       void (*each)(void *arg, const struct nlmsghdr *h), void *arg)
{
	const struct request r = {
		.h = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
		       .nlmsg_type = RTM_GETROUTE,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		       .nlmsg_seq = 1 },
		.u.route = { .rtm_family = (unsigned char)family, .rtm_table = RT_TABLE_LOCAL },
	};
	const int on = 1;

	/* Filter in the kernel: a router's other tables are long. Without it all is sent. */
	(void)setsockopt(sock, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
	if (dump(sock, &r, each, arg) == 0)
		return 0;
	return errno == ENOENT ? 0 : -1; /* the table comes with its first entry */
}
