#include "dns/datagram.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

int datagram_prepare(int fd, struct error *err)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t len = sizeof(sa);
	int on = 1;
	bool v6;

	if (getsockname(fd, (struct sockaddr *)&sa, &len))
		return error_set(err, errno, "cannot use a DNS socket");
	v6 = sa.ss_family == AF_INET6;
	if (sa.ss_family != AF_INET && !v6)
		return error_set(err, EAFNOSUPPORT, "cannot use a DNS socket");
	if (setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVPKTINFO : IP_PKTINFO, &on,
		       sizeof(on)))
		return error_set(err, errno, "cannot prepare a DNS socket");
	/* IPv6 refuses a source that no interface has, unless the socket may bind to such. */
	if (setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_FREEBIND : IP_FREEBIND, &on,
		       sizeof(on)))
		return error_set(err, errno, "cannot prepare a DNS socket");
	return 0;
}

bool datagram_receive(int fd, struct datagram *d, size_t *n)
{
	ssize_t got;

	d->iov = (struct iovec){ .iov_base = d->data, .iov_len = sizeof(d->data) };
	d->msg = (struct msghdr){ .msg_name = &d->peer,
				  .msg_namelen = sizeof(d->peer),
				  .msg_iov = &d->iov,
				  .msg_iovlen = 1,
				  .msg_control = d->control.buf,
				  .msg_controllen = sizeof(d->control.buf) };
	got = recvmsg(fd, &d->msg, MSG_DONTWAIT);
	if (got < 0 && errno == EAGAIN)
		return false;
	if (got == 0 && d->msg.msg_namelen == 0)
		return false; /* from nobody: the socket was shut down */
	/* Other errors belong to earlier answers (a closed port): they are not ours. */
	*n = got < 0 || (d->msg.msg_flags & MSG_TRUNC) ? 0 : (size_t)got;
	return true;
}

void datagram_copy(struct datagram *to, const struct datagram *from)
{
	*to = *from;
	to->msg.msg_name = &to->peer;
	to->msg.msg_iov = &to->iov;
	to->msg.msg_control = to->control.buf;
}

/* The address that was asked becomes the source of the answer; the route chooses the interface,
 * except for link-local addresses, which mean nothing without one. */
static void turn_round(struct msghdr *msg)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);

	if (!c || (msg->msg_flags & MSG_CTRUNC)) {
		msg->msg_control = NULL;
		msg->msg_controllen = 0;
	} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
		struct in_pktinfo info;

		memcpy(&info, CMSG_DATA(c), sizeof(info));
		info.ipi_spec_dst = info.ipi_addr;
		info.ipi_ifindex = 0;
		memcpy(CMSG_DATA(c), &info, sizeof(info));
	} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
		struct in6_pktinfo info;

		memcpy(&info, CMSG_DATA(c), sizeof(info));
		if (!IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr))
			info.ipi6_ifindex = 0;
		memcpy(CMSG_DATA(c), &info, sizeof(info));
	}
}

void datagram_reply(int fd, struct datagram *d, uint8_t *p, size_t n)
{
	turn_round(&d->msg);
	d->msg.msg_flags = 0;
	d->iov = (struct iovec){ .iov_base = p, .iov_len = n };
	if (sendmsg(fd, &d->msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("event=dns-stub-send error=%s", strerror(errno));
}
