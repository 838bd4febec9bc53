/*
 * wire.h - DNS messages (RFC 1035): questions in, answers out, and addresses out of answers
 *
 * Strict and bounded: exactly one question, no compression in it, no byte left over. Compression
 * in answers must point backwards. Nothing is allocated.
 */
#ifndef DNS_WIRE_H
#define DNS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/reader.h"
#include "policy/hostname.h"

#define WIRE_NAME_MAX	   255	/* RFC 1035 2.3.4, with the root label */
#define WIRE_UDP_MAX	   512	/* RFC 1035 4.2.1, without EDNS */
#define WIRE_EDNS_MAX	   1232 /* what we send over UDP at most, and offer */
#define WIRE_RECORDS_MAX   32	/* records of one answer that are passed on */
#define WIRE_RECORDS_BYTES 3072 /* their data, with a length before each */
#define WIRE_REPLY_MAX	   4096 /* header, question, one record with a name or those, SOA or OPT */
#define WIRE_ADDRS_MAX	   64	/* addresses taken from one answer */

/** enum wire_type - the record types that are treated by name */
enum wire_type {
	WIRE_A = 1,
	WIRE_CNAME = 5,
	WIRE_SOA = 6,
	WIRE_PTR = 12,
	WIRE_AAAA = 28,
	WIRE_OPT = 41,
	WIRE_META_FIRST = 249, /* TKEY; up to MAILA these ask for an action, not for data */
	WIRE_META_LAST = 254,
	WIRE_ANY = 255,
};

#define WIRE_IN 1 /* class */

/** enum wire_rcode - response codes; BADVERS needs EDNS */
enum wire_rcode {
	WIRE_NOERROR = 0,
	WIRE_FORMERR = 1,
	WIRE_SERVFAIL = 2,
	WIRE_NXDOMAIN = 3,
	WIRE_NOTIMP = 4,
	WIRE_REFUSED = 5,
	WIRE_BADVERS = 16,
};

/**
 * struct wire_name - a name as labels with their lengths and the root, as it was spelt
 * @len: 1..255
 */
struct wire_name {
	uint8_t len;
	uint8_t p[WIRE_NAME_MAX];
};

/**
 * struct wire_query - a question
 * @opcode: 0 for a standard query
 * @rd: recursion is desired; copied into the answer
 * @has_question: @name, @type and @class are there (false in a message that was not understood)
 * @edns: there was an OPT record; @udp_size is what the client can take
 */
struct wire_query {
	uint16_t id;
	uint8_t opcode;
	bool rd;
	bool has_question;
	bool edns;
	uint16_t type, class;
	uint16_t udp_size;
	struct wire_name name;
};

/** enum wire_verdict - what a message is */
enum wire_verdict {
	WIRE_QUERY, /* a question to answer */
	WIRE_ERROR, /* to be answered with the response code alone */
	WIRE_DROP, /* no header, or itself an answer: silence, or two servers would chat for ever */
};

/**
 * wire_parse_query() - one whole message from a client
 * @out: what could be read; id, opcode and rd are valid for WIRE_ERROR too
 * @rcode: for WIRE_ERROR: FORMERR, NOTIMP or BADVERS
 */
enum wire_verdict wire_parse_query(const void *p, size_t n, struct wire_query *out,
				   enum wire_rcode *rcode);

/** wire_name_is_root() - the empty name. */
bool wire_name_is_root(const struct wire_name *name);

/** wire_name_equal() - the same labels, ASCII case ignored. */
bool wire_name_equal(const struct wire_name *a, const struct wire_name *b);

/** wire_name_host() - the canonical host name; false if the labels are none. */
bool wire_name_host(const struct wire_name *name, struct hostname *out);

/** wire_name_from_host() - labels of a canonical name (which is never too long for them). */
void wire_name_from_host(const struct hostname *h, struct wire_name *out);

/** wire_name_reverse() - the address in a name under in-addr.arpa or ip6.arpa; false if none. */
bool wire_name_reverse(const struct wire_name *name, struct addr *out);

/**
 * struct wire_records - records of one type, taken out of an answer and put into another
 * @ttl: the smallest among them and the aliases that led to them, seconds
 * @len: bytes of @data: for each record its length (two bytes) and its data, without compression
 */
struct wire_records {
	uint16_t type;
	size_t n;
	uint32_t ttl;
	size_t len;
	uint8_t data[WIRE_RECORDS_BYTES];
};

/**
 * struct wire_reply - an answer to be built
 * @addr: an A or AAAA record with this address, or NULL
 * @ptr: a PTR record to this name, or NULL
 * @records: these records of the name that was asked, or NULL
 * @ttl: of the record, whichever it is
 * @soa_ttl: with none of them: how long a client may remember that there is nothing
 */
struct wire_reply {
	enum wire_rcode rcode;
	const struct addr *addr;
	const struct hostname *ptr;
	const struct wire_records *records;
	uint32_t ttl;
	uint32_t soa_ttl;
};

/**
 * wire_build_reply() - write the answer to @q
 * @max: the most that the transport takes; what does not fit is cut and the TC bit says so
 * @out: WIRE_REPLY_MAX bytes
 *
 * Return: the length of the message.
 */
size_t wire_build_reply(const struct wire_query *q, const struct wire_reply *r, size_t max,
			uint8_t out[WIRE_REPLY_MAX]);

/** wire_read_name() - a name at @r in the message @msg, compressed or not; false if malformed. */
bool wire_read_name(const uint8_t *msg, struct reader *r, struct wire_name *name);

/**
 * struct wire_record - a record of an answer that belongs to what was asked
 * @msg: the message, into which names in @data may point
 */
struct wire_record {
	const uint8_t *msg;
	struct reader data;
};

/** typedef wire_take - one record; false if its data is malformed */
typedef bool wire_take(void *arg, const struct wire_record *rec);

/**
 * wire_walk_answer() - the records of a type that a server answers for a name
 * @name, @type: what was asked
 * @take: called for each of them in order
 * @ttl: the smallest TTL among them and the aliases that led to them, seconds; UINT32_MAX when
 *       there is neither
 *
 * Only records of @name, or of a name that it is an alias of by a chain of CNAMEs in the order of
 * the answer section, are taken; others and other sections are ignored.
 *
 * Return: PARSE_OK, or PARSE_BAD for a malformed message or one that answers something else.
 */
enum parse wire_walk_answer(const void *p, size_t n, const struct hostname *name, uint16_t type,
			    wire_take *take, void *arg, uint32_t *ttl);

/**
 * struct wire_addrs - the addresses of an answer
 * @ttl: the smallest TTL among them and the aliases that led to them, seconds; UINT32_MAX when
 *       there is no address
 */
struct wire_addrs {
	size_t n;
	uint32_t ttl;
	struct addr v[WIRE_ADDRS_MAX];
};

/**
 * wire_parse_answer() - the addresses that a server answers for a name; see wire_walk_answer()
 * @type: WIRE_A or WIRE_AAAA
 * @out: at most WIRE_ADDRS_MAX addresses, in order; possibly none
 */
enum parse wire_parse_answer(const void *p, size_t n, const struct hostname *name, uint16_t type,
			     struct wire_addrs *out);

#endif
