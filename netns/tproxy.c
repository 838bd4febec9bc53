#include "netns/tproxy.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define TABLE	  "sbx-net"
#define CHAIN	  "capture"
#define PRIORITY  (-150) /* NF_IP_PRI_MANGLE, where tproxy rules usually stand */
#define REPLY_S	  5	 /* the kernel answers at once; more than this is no answer */
#define ATTR_HEAD sizeof(struct nlattr) /* NLA_HDRLEN, unsigned */

/* Where the destination is in the network and transport headers. */
#define IPV4_DADDR 16
#define IPV6_DADDR 24
#define TCP_DPORT  2

/* A transaction under construction. */
struct batch {
	char buf[4096];
	size_t len;
	size_t start; /* of the message under way */
	unsigned acks;
	uint32_t seq;
};

static void *grow(struct batch *b, size_t n)
{
	void *p = b->buf + b->len;

	assert(b->len + NLMSG_ALIGN(n) <= sizeof(b->buf));
	memset(p, 0, NLMSG_ALIGN(n));
	b->len += NLMSG_ALIGN(n);
	return p;
}

static void begin(struct batch *b, uint16_t type, uint16_t flags, uint8_t family, uint16_t res)
{
	struct nlmsghdr *h;
	struct nfgenmsg *g;

	b->start = b->len;
	h = grow(b, sizeof(*h));
	g = grow(b, sizeof(*g));
	h->nlmsg_type = type;
	h->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	h->nlmsg_seq = ++b->seq;
	g->nfgen_family = family;
	g->version = NFNETLINK_V0;
	g->res_id = htons(res);
	b->acks += (flags & NLM_F_ACK) != 0;
}

static void end(struct batch *b)
{
	uint32_t len = (uint32_t)(b->len - b->start);

	memcpy(b->buf + b->start, &len, sizeof(len)); /* nlmsg_len comes first */
}

static void begin_table_message(struct batch *b, uint16_t what, uint16_t flags)
{
	begin(b, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | what), (uint16_t)(NLM_F_ACK | flags),
	      NFPROTO_INET, 0);
}

static void put(struct batch *b, uint16_t type, const void *p, size_t n)
{
	struct nlattr a = { .nla_len = (uint16_t)(ATTR_HEAD + n), .nla_type = type };
	char *at = grow(b, ATTR_HEAD + n);

	memcpy(at, &a, sizeof(a));
	memcpy(at + ATTR_HEAD, p, n);
}

static void put_text(struct batch *b, uint16_t type, const char *s)
{
	put(b, type, s, strlen(s) + 1);
}

static void put_u32(struct batch *b, uint16_t type, uint32_t v)
{
	v = htonl(v);
	put(b, type, &v, sizeof(v));
}

static size_t nest(struct batch *b, uint16_t type)
{
	size_t at = b->len;
	struct nlattr *a = grow(b, ATTR_HEAD);

	a->nla_type = (uint16_t)(type | NLA_F_NESTED);
	return at;
}

static void nest_end(struct batch *b, size_t at)
{
	uint16_t len = (uint16_t)(b->len - at);

	memcpy(b->buf + at, &len, sizeof(len)); /* nla_len comes first */
}

/* An expression of a rule: its name and the start of its data. */
struct expr {
	size_t elem, data;
};

static struct expr expr_begin(struct batch *b, const char *name)
{
	struct expr e;

	e.elem = nest(b, NFTA_LIST_ELEM);
	put_text(b, NFTA_EXPR_NAME, name);
	e.data = nest(b, NFTA_EXPR_DATA);
	return e;
}

static void expr_end(struct batch *b, struct expr e)
{
	nest_end(b, e.data);
	nest_end(b, e.elem);
}

static void put_value(struct batch *b, uint16_t type, const void *p, size_t n)
{
	size_t at = nest(b, type);

	put(b, NFTA_DATA_VALUE, p, n);
	nest_end(b, at);
}

static void expr_meta(struct batch *b, uint32_t key)
{
	struct expr e = expr_begin(b, "meta");

	put_u32(b, NFTA_META_DREG, NFT_REG_1);
	put_u32(b, NFTA_META_KEY, key);
	expr_end(b, e);
}

static void expr_cmp(struct batch *b, uint32_t op, const void *p, size_t n)
{
	struct expr e = expr_begin(b, "cmp");

	put_u32(b, NFTA_CMP_SREG, NFT_REG_1);
	put_u32(b, NFTA_CMP_OP, op);
	put_value(b, NFTA_CMP_DATA, p, n);
	expr_end(b, e);
}

static void expr_payload(struct batch *b, uint32_t base, uint32_t offset, uint32_t len)
{
	struct expr e = expr_begin(b, "payload");

	put_u32(b, NFTA_PAYLOAD_DREG, NFT_REG_1);
	put_u32(b, NFTA_PAYLOAD_BASE, base);
	put_u32(b, NFTA_PAYLOAD_OFFSET, offset);
	put_u32(b, NFTA_PAYLOAD_LEN, len);
	expr_end(b, e);
}

static void expr_tproxy(struct batch *b, uint8_t family, uint16_t port)
{
	struct expr e = expr_begin(b, "immediate");

	port = htons(port);
	put_u32(b, NFTA_IMMEDIATE_DREG, NFT_REG_1);
	put_value(b, NFTA_IMMEDIATE_DATA, &port, sizeof(port));
	expr_end(b, e);
	e = expr_begin(b, "tproxy");
	put_u32(b, NFTA_TPROXY_FAMILY, family);
	put_u32(b, NFTA_TPROXY_REG_PORT, NFT_REG_1);
	expr_end(b, e);
}

/*
 * TCP of one family, to anything but the loopback (127.0.0.0/8 by its first byte, ::1 whole) and
 * but port 53, where the name server listens.
 */
static void rule(struct batch *b, uint8_t family, uint16_t port)
{
	static const uint8_t tcp = IPPROTO_TCP, loopback4 = 127;
	static const uint8_t dns[2] = { 0, 53 };
	size_t exprs;

	begin_table_message(b, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
	put_text(b, NFTA_RULE_TABLE, TABLE);
	put_text(b, NFTA_RULE_CHAIN, CHAIN);
	exprs = nest(b, NFTA_RULE_EXPRESSIONS);
	expr_meta(b, NFT_META_NFPROTO);
	expr_cmp(b, NFT_CMP_EQ, &family, sizeof(family));
	expr_meta(b, NFT_META_L4PROTO);
	expr_cmp(b, NFT_CMP_EQ, &tcp, sizeof(tcp));
	expr_payload(b, NFT_PAYLOAD_TRANSPORT_HEADER, TCP_DPORT, sizeof(dns));
	expr_cmp(b, NFT_CMP_NEQ, dns, sizeof(dns));
	if (family == NFPROTO_IPV4) {
		expr_payload(b, NFT_PAYLOAD_NETWORK_HEADER, IPV4_DADDR, sizeof(loopback4));
		expr_cmp(b, NFT_CMP_NEQ, &loopback4, sizeof(loopback4));
	} else {
		expr_payload(b, NFT_PAYLOAD_NETWORK_HEADER, IPV6_DADDR, sizeof(in6addr_loopback));
		expr_cmp(b, NFT_CMP_NEQ, &in6addr_loopback, sizeof(in6addr_loopback));
	}
	expr_tproxy(b, family, port);
	nest_end(b, exprs);
	end(b);
}

static void table_and_chain(struct batch *b)
{
	size_t hook;

	begin_table_message(b, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	put_text(b, NFTA_TABLE_NAME, TABLE);
	end(b);
	begin_table_message(b, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
	put_text(b, NFTA_CHAIN_TABLE, TABLE);
	put_text(b, NFTA_CHAIN_NAME, CHAIN);
	hook = nest(b, NFTA_CHAIN_HOOK);
	put_u32(b, NFTA_HOOK_HOOKNUM, NF_INET_PRE_ROUTING);
	put_u32(b, NFTA_HOOK_PRIORITY, (uint32_t)PRIORITY);
	nest_end(b, hook);
	put_text(b, NFTA_CHAIN_TYPE, "filter");
	end(b);
}

/* The errors in one datagram of answers; counts the acknowledgements. 0, or -1 with errno. */
static int read_acks(const char *buf, size_t n, unsigned *acks)
{
	while (n >= sizeof(struct nlmsghdr)) {
		struct nlmsghdr h;
		struct nlmsgerr e;

		memcpy(&h, buf, sizeof(h));
		if (h.nlmsg_len < sizeof(h) || h.nlmsg_len > n)
			break;
		if (h.nlmsg_type == NLMSG_ERROR && h.nlmsg_len >= sizeof(h) + sizeof(e.error)) {
			memcpy(&e.error, buf + sizeof(h), sizeof(e.error));
			if (e.error != 0) {
				errno = -e.error;
				return -1;
			}
			++*acks;
		}
		if (NLMSG_ALIGN(h.nlmsg_len) >= n)
			break;
		buf += NLMSG_ALIGN(h.nlmsg_len);
		n -= NLMSG_ALIGN(h.nlmsg_len);
	}
	return 0;
}

static int wait_acks(int fd, unsigned want)
{
	struct timeval patience = { .tv_sec = REPLY_S };
	unsigned acks = 0;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
		return -1;
	while (acks < want) {
		char buf[8192];
		ssize_t n = recv(fd, buf, sizeof(buf), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (read_acks(buf, (size_t)n, &acks) < 0)
			return -1;
	}
	return 0;
}

int tproxy_install(uint16_t port)
{
	CLEANUP_CLOSE int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct batch b = { .len = 0 };
	ssize_t n;

	if (fd < 0)
		return -1;
	begin(&b, NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
	end(&b);
	table_and_chain(&b);
	rule(&b, NFPROTO_IPV4, port);
	rule(&b, NFPROTO_IPV6, port);
	begin(&b, NFNL_MSG_BATCH_END, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
	end(&b);
	do
		n = sendto(fd, b.buf, b.len, 0, (const struct sockaddr *)&kernel, sizeof(kernel));
	while (n < 0 && errno == EINTR);
	return n < 0 ? -1 : wait_acks(fd, b.acks);
}
