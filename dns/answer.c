#include "dns/answer.h"

#include <string.h>

#include "dns/fakeip.h"
#include "dns/records.h"

/*
 * What clients do with these answers, and why they are as they are:
 *
 *  - An allowed name has one A record and nothing else, unless settings name types of records that
 *    are asked for outside. AAAA, HTTPS, SVCB and the rest get NOERROR with no record: glibc, musl, c-ares and Go's and Java's resolvers go on with the A at once.
 *    NXDOMAIN there would be taken for the name as a whole; SERVFAIL or silence would be retried.
 *  - RA is set: glibc and Go take an empty answer without AA and RA for a lame referral and try
 *    the next server.
 *  - The SOA says how long "nothing" may be kept (RFC 2308): briefly.
 *  - REFUSED, not NXDOMAIN, when the addresses have run out: the name may well exist.
 */

static const struct addr loopback4 = { .family = AF_INET, .bytes = { 127, 0, 0, 1 } };
static const struct addr loopback6 = { .family = AF_INET6, .bytes = { [15] = 1 } };
static const struct hostname localhost = { .len = 9, .s = "localhost" };

/** struct draft - a reply and the storage that it points to; or @wait, when it needs to be asked for */
struct draft {
	struct wire_reply reply;
	struct answer_wait *wait;
	struct addr addr;
	struct hostname ptr;
};

static void give_addr(struct draft *d, const struct addr *a)
{
	d->addr = *a;
	d->reply.addr = &d->addr;
}

/* RFC 6761 6.3: without asking anybody. */
static void answer_local(const struct stub_local *l, uint16_t type, struct draft *d)
{
	if ((type == WIRE_A || type == WIRE_ANY) && l->v4.family == AF_INET)
		give_addr(d, &l->v4);
	else if (type == WIRE_AAAA && l->v6.family == AF_INET6)
		give_addr(d, &l->v6);
}

static void answer_reverse(const struct answer_source *src, const struct addr *a, uint16_t type,
			   struct draft *d)
{
	if (addr_classify(a) == ADDR_LOOPBACK) {
		d->ptr = localhost;
	} else if (!fakeip_name(src->names, a, &d->ptr)) {
		d->reply.rcode = WIRE_NXDOMAIN;
		return;
	}
	if (type == WIRE_PTR || type == WIRE_ANY)
		d->reply.ptr = &d->ptr;
}

static void answer_name(const struct answer_source *src, const struct hostname *h, uint16_t type,
			struct draft *d)
{
	struct stub_local local = { loopback4, loopback6 };
	struct addr a;

	if (hostname_is_local(h) || (src->is_local && src->is_local(src->arg, h, &local))) {
		answer_local(&local, type, d);
		return;
	}
	if (src->decide(src->arg, h) != STUB_ALLOW) {
		d->reply.rcode = WIRE_NXDOMAIN;
		return;
	}
	if (type != WIRE_A && type != WIRE_ANY) {
		d->wait->wanted =
			src->forwards && records_known(type) && src->forwards(src->arg, h, type);
		d->wait->name = *h;
		return;
	}
	if (fakeip_assign(src->names, h, &a))
		give_addr(d, &a);
	else
		d->reply.rcode = WIRE_REFUSED;
}

static void answer_query(const struct answer_source *src, const struct wire_query *q,
			 struct draft *d)
{
	struct hostname h;
	struct addr a;

	if (q->class != WIRE_IN || (q->type >= WIRE_META_FIRST && q->type <= WIRE_META_LAST))
		d->reply.rcode = WIRE_REFUSED; /* CHAOS questions, zone transfers */
	else if (q->type == WIRE_OPT)
		d->reply.rcode = WIRE_FORMERR;
	else if (wire_name_is_root(&q->name))
		d->reply.rcode = WIRE_NOERROR; /* it exists, and has nothing */
	else if (wire_name_reverse(&q->name, &a))
		answer_reverse(src, &a, q->type, d);
	else if (wire_name_host(&q->name, &h))
		answer_name(src, &h, q->type, d);
	else
		d->reply.rcode = WIRE_NXDOMAIN;
}

static size_t size_limit(const struct wire_query *q, bool tcp)
{
	if (tcp)
		return WIRE_REPLY_MAX;
	if (!q->edns || q->udp_size < WIRE_UDP_MAX)
		return WIRE_UDP_MAX;
	return q->udp_size < WIRE_EDNS_MAX ? q->udp_size : WIRE_EDNS_MAX;
}

size_t answer_message(const struct answer_source *src, const void *p, size_t n, bool tcp,
		      struct answer_wait *wait, uint8_t out[WIRE_REPLY_MAX])
{
	struct draft d = { .reply = { .ttl = STUB_TTL, .soa_ttl = STUB_NEGATIVE_TTL },
			   .wait = wait };
	struct wire_query q;

	wait->wanted = false;
	switch (wire_parse_query(p, n, &q, &d.reply.rcode)) {
	case WIRE_DROP:
		return 0;
	case WIRE_ERROR:
		break;
	case WIRE_QUERY:
		d.reply.rcode = WIRE_NOERROR;
		answer_query(src, &q, &d);
		break;
	}
	if (wait->wanted) {
		wait->query = q;
		wait->type = q.type;
		wait->tcp = tcp;
		return 0;
	}
	return wire_build_reply(&q, &d.reply, size_limit(&q, tcp), out);
}

/* A name that is allowed exists, whatever the server says: its address is an answer, too. */
size_t answer_finish(const struct answer_wait *wait, const struct wire_records *records,
		     uint8_t out[WIRE_REPLY_MAX])
{
	struct wire_reply r = { .rcode = records ? WIRE_NOERROR : WIRE_SERVFAIL,
				.records = records,
				.ttl = STUB_TTL,
				.soa_ttl = STUB_NEGATIVE_TTL };

	if (records && records->ttl < r.ttl)
		r.ttl = records->ttl;
	return wire_build_reply(&wait->query, &r, size_limit(&wait->query, wait->tcp), out);
}
