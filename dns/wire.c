#include "dns/wire.h"

#include <assert.h>
#include <string.h>

#define FLAG_QR	    0x8000u
#define FLAG_OPCODE 0x7800u
#define FLAG_AA	    0x0400u
#define FLAG_TC	    0x0200u
#define FLAG_RD	    0x0100u
#define FLAG_RA	    0x0080u
#define LABEL_MAX   63
#define POINTER	    0xc0u

/** struct header - the first twelve bytes */
struct header {
	uint16_t id, flags, qd, an, ns, ar;
};

static bool read_header(struct reader *r, struct header *h)
{
	return reader_u16be(r, &h->id) && reader_u16be(r, &h->flags) && reader_u16be(r, &h->qd) &&
	       reader_u16be(r, &h->an) && reader_u16be(r, &h->ns) && reader_u16be(r, &h->ar);
}

static bool append(struct wire_name *name, const uint8_t *label, uint8_t len)
{
	if ((size_t)name->len + 1 + len > WIRE_NAME_MAX)
		return false;
	name->p[name->len] = len;
	if (len)
		memcpy(name->p + name->len + 1, label, len);
	name->len = (uint8_t)(name->len + 1 + len);
	return true;
}

/*
 * Labels up to the root, or up to a pointer, whose target goes to *@pointer (0 when there was
 * none: a pointer cannot lead into the header).
 */
static bool read_labels(struct reader *r, struct wire_name *name, size_t *pointer)
{
	const uint8_t *label;
	uint8_t len, low;

	*pointer = 0;
	while (reader_u8(r, &len)) {
		if ((len & POINTER) == POINTER) {
			if (!reader_u8(r, &low))
				return false;
			*pointer = (size_t)(len & ~POINTER) << 8 | low;
			return *pointer >= 12;
		}
		if (len > LABEL_MAX || !reader_take(r, len, &label) || !append(name, label, len))
			return false;
		if (len == 0)
			return true;
	}
	return false;
}

/* A name without compression. */
static bool read_plain_name(struct reader *r, struct wire_name *name)
{
	size_t pointer;

	name->len = 0;
	return read_labels(r, name, &pointer) && !pointer;
}

/* A name in a message. Each pointer leads to a place before the last one, so this ends. */
bool wire_read_name(const uint8_t *msg, struct reader *r, struct wire_name *name)
{
	size_t limit = (size_t)(r->p - msg);
	size_t pointer;

	name->len = 0;
	if (!read_labels(r, name, &pointer))
		return false;
	while (pointer) {
		struct reader there = reader_init(msg + pointer, limit - pointer);

		if (pointer >= limit)
			return false;
		limit = pointer;
		if (!read_labels(&there, name, &pointer))
			return false;
	}
	return true;
}

static bool read_question(struct reader *r, struct wire_query *q)
{
	q->has_question = read_plain_name(r, &q->name) && reader_u16be(r, &q->type) &&
			  reader_u16be(r, &q->class);
	return q->has_question;
}

/* The one additional record that a query may carry. Its options are skipped. */
static bool read_opt(struct reader *r, struct wire_query *q, uint8_t *version)
{
	const uint8_t *data;
	struct wire_name name;
	uint16_t type, len;
	uint32_t ttl;

	if (!read_plain_name(r, &name) || !wire_name_is_root(&name) || !reader_u16be(r, &type) ||
	    type != WIRE_OPT || !reader_u16be(r, &q->udp_size) || !reader_u32be(r, &ttl) ||
	    !reader_u16be(r, &len) || !reader_take(r, len, &data))
		return false;
	*version = (uint8_t)(ttl >> 16);
	q->edns = true;
	return true;
}

/* The rest of a query: one question, at most an OPT, nothing behind it. */
static bool read_body(struct reader *r, const struct header *h, struct wire_query *q,
		      uint8_t *version)
{
	if (h->qd != 1 || h->an || h->ns || h->ar > 1 || !read_question(r, q))
		return false;
	return (!h->ar || read_opt(r, q, version)) && r->n == 0;
}

enum wire_verdict wire_parse_query(const void *p, size_t n, struct wire_query *out,
				   enum wire_rcode *rcode)
{
	struct reader r = reader_init(p, n);
	uint8_t version = 0;
	struct header h;
	bool good;

	*out = (struct wire_query){ 0 };
	if (!read_header(&r, &h) || (h.flags & FLAG_QR))
		return WIRE_DROP;
	out->id = h.id;
	out->opcode = (uint8_t)((h.flags & FLAG_OPCODE) >> 11);
	out->rd = h.flags & FLAG_RD;
	good = read_body(&r, &h, out, &version);
	if (good && !version && !out->opcode)
		return WIRE_QUERY;
	*rcode = out->opcode ? WIRE_NOTIMP : good ? WIRE_BADVERS : WIRE_FORMERR;
	return WIRE_ERROR;
}

bool wire_name_is_root(const struct wire_name *name)
{
	return name->len == 1;
}

static uint8_t lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c + 'a' - 'A') : c;
}

bool wire_name_equal(const struct wire_name *a, const struct wire_name *b)
{
	if (a->len != b->len)
		return false;
	/* Length bytes are at most 63 and so are not touched by lower(). */
	for (size_t i = 0; i < a->len; i++) {
		if (lower(a->p[i]) != lower(b->p[i]))
			return false;
	}
	return true;
}

bool wire_name_host(const struct wire_name *name, struct hostname *out)
{
	char text[WIRE_NAME_MAX];
	struct addr addr;
	size_t len = 0;

	for (size_t i = 0; name->p[i]; i += 1u + name->p[i]) {
		if (memchr(name->p + i + 1, '.', name->p[i]))
			return false; /* a dot inside a label is not the dot between labels */
		if (len)
			text[len++] = '.';
		memcpy(text + len, name->p + i + 1, name->p[i]);
		len += name->p[i];
	}
	return hostname_parse(text, len, out, &addr) == HOSTNAME_NAME;
}

void wire_name_from_host(const struct hostname *h, struct wire_name *out)
{
	const char *p = h->s;
	const char *end = h->s + h->len;

	out->len = 0;
	while (p < end) {
		const char *dot = memchr(p, '.', (size_t)(end - p));
		size_t len = (size_t)((dot ? dot : end) - p);

		assert(len <= LABEL_MAX);
		(void)append(out, (const uint8_t *)p, (uint8_t)len);
		p += len + 1;
	}
	(void)append(out, NULL, 0);
}

/* Label @i of a name, counted from 0; NULL behind the last. */
static const uint8_t *label_at(const struct wire_name *name, size_t i)
{
	const uint8_t *l = name->p;

	while (*l && i--)
		l += 1 + *l;
	return *l ? l : NULL;
}

static size_t count_labels(const struct wire_name *name)
{
	size_t n = 0;

	for (const uint8_t *l = name->p; *l; l += 1 + *l)
		n++;
	return n;
}

static bool ends_in(const struct wire_name *name, size_t from, const char *a, const char *b)
{
	struct wire_name want = { 0 }, have = { 0 };
	const uint8_t *l = label_at(name, from);
	size_t at;

	if (!l)
		return false;
	at = (size_t)(l - name->p);
	(void)append(&want, (const uint8_t *)a, (uint8_t)strlen(a));
	(void)append(&want, (const uint8_t *)b, (uint8_t)strlen(b));
	(void)append(&want, NULL, 0);
	have.len = (uint8_t)(name->len - at);
	memcpy(have.p, l, have.len);
	return wire_name_equal(&have, &want);
}

static bool reverse_v4(const struct wire_name *name, struct addr *out)
{
	struct addr a = { .family = AF_INET };

	for (size_t i = 0; i < 4; i++) {
		const uint8_t *l = label_at(name, i);
		uint64_t v;

		if (!l || !reader_decimal(l + 1, *l, UINT8_MAX, &v))
			return false;
		a.bytes[3 - i] = (uint8_t)v;
	}
	*out = a;
	return true;
}

static bool reverse_v6(const struct wire_name *name, struct addr *out)
{
	static const char digits[] = "0123456789abcdef";
	struct addr a = { .family = AF_INET6 };

	for (size_t i = 0; i < 32; i++) {
		const uint8_t *l = label_at(name, i);
		const char *d = l && *l == 1 && l[1] ? strchr(digits, lower(l[1])) : NULL;
		size_t at = 15 - i / 2;

		if (!d)
			return false;
		a.bytes[at] = (uint8_t)(a.bytes[at] | (unsigned)(d - digits) << (i % 2 * 4));
	}
	*out = a;
	return true;
}

bool wire_name_reverse(const struct wire_name *name, struct addr *out)
{
	switch (count_labels(name)) {
	case 4 + 2:
		return ends_in(name, 4, "in-addr", "arpa") && reverse_v4(name, out);
	case 32 + 2:
		return ends_in(name, 32, "ip6", "arpa") && reverse_v6(name, out);
	default:
		return false;
	}
}

/** struct writer - the message being built; it never writes beyond @max */
struct writer {
	uint8_t *p;
	size_t n, max;
	bool full;
};

static void put(struct writer *w, const void *p, size_t n)
{
	if (w->full || w->max - w->n < n) {
		w->full = true;
		return;
	}
	if (n)
		memcpy(w->p + w->n, p, n);
	w->n += n;
}

static void put_u16(struct writer *w, unsigned v)
{
	uint8_t b[2] = { (uint8_t)(v >> 8), (uint8_t)v };

	put(w, b, sizeof(b));
}

static void put_u32(struct writer *w, uint32_t v)
{
	put_u16(w, v >> 16);
	put_u16(w, v & 0xffff);
}

static void put_header(struct writer *w, const struct wire_query *q, unsigned flags, unsigned an,
		       unsigned ns)
{
	put_u16(w, q->id);
	put_u16(w, FLAG_QR | (unsigned)q->opcode << 11 | (q->rd ? FLAG_RD : 0) | FLAG_RA | flags);
	put_u16(w, q->has_question);
	put_u16(w, an);
	put_u16(w, ns);
	put_u16(w, q->edns);
	if (q->has_question) {
		put(w, q->name.p, q->name.len);
		put_u16(w, q->type);
		put_u16(w, q->class);
	}
}

/* The record's owner is the question's name, by a pointer to where it stands. */
static void put_record(struct writer *w, unsigned type, uint32_t ttl, const void *data, size_t len)
{
	put_u16(w, POINTER << 8 | 12);
	put_u16(w, type);
	put_u16(w, WIRE_IN);
	put_u32(w, ttl);
	put_u16(w, (unsigned)len);
	put(w, data, len);
}

static void put_records(struct writer *w, const struct wire_records *records, uint32_t ttl)
{
	struct reader r = reader_init(records->data, records->len);
	const uint8_t *data;
	uint16_t len;

	while (reader_u16be(&r, &len) && reader_take(&r, len, &data))
		put_record(w, records->type, ttl, data, len);
}

static void put_answer(struct writer *w, const struct wire_reply *r)
{
	struct wire_name name;

	if (r->addr) {
		bool v4 = r->addr->family == AF_INET;

		put_record(w, v4 ? WIRE_A : WIRE_AAAA, r->ttl, r->addr->bytes, v4 ? 4 : 16);
	} else if (r->ptr) {
		wire_name_from_host(r->ptr, &name);
		put_record(w, WIRE_PTR, r->ttl, name.p, name.len);
	} else {
		put_records(w, r->records, r->ttl);
	}
}

static unsigned count_answers(const struct wire_reply *r)
{
	if (r->addr || r->ptr)
		return 1;
	return r->records ? (unsigned)r->records->n : 0;
}

/* RFC 2308 3: how long "nothing" may be remembered. The zone is the root: all names are ours. */
static void put_soa(struct writer *w, uint32_t ttl)
{
	put(w, "", 1);
	put_u16(w, WIRE_SOA);
	put_u16(w, WIRE_IN);
	put_u32(w, ttl);
	put_u16(w, 1 + 1 + 5 * 4);
	put(w, "\0", 2); /* primary server and mailbox: none */
	put_u32(w, 1);
	for (int i = 0; i < 4; i++)
		put_u32(w, ttl);
}

static void put_opt(struct writer *w, enum wire_rcode rcode)
{
	put(w, "", 1);
	put_u16(w, WIRE_OPT);
	put_u16(w, WIRE_EDNS_MAX);
	put_u32(w, (uint32_t)rcode >> 4 << 24);
	put_u16(w, 0);
}

static size_t build(const struct wire_query *q, const struct wire_reply *r, unsigned flags,
		    bool records, size_t max, uint8_t *out)
{
	struct writer w = { .p = out, .max = max };
	unsigned answers = records ? count_answers(r) : 0;
	bool soa = records && !answers && (r->rcode == WIRE_NOERROR || r->rcode == WIRE_NXDOMAIN);

	put_header(&w, q, flags | ((unsigned)r->rcode & 0xf), answers, soa);
	if (answers)
		put_answer(&w, r);
	if (soa)
		put_soa(&w, r->soa_ttl);
	if (q->edns)
		put_opt(&w, r->rcode);
	return w.full ? 0 : w.n;
}

size_t wire_build_reply(const struct wire_query *q, const struct wire_reply *r, size_t max,
			uint8_t out[WIRE_REPLY_MAX])
{
	unsigned aa = r->rcode == WIRE_NOERROR || r->rcode == WIRE_NXDOMAIN ? FLAG_AA : 0;
	size_t n;

	if (max > WIRE_REPLY_MAX)
		max = WIRE_REPLY_MAX;
	n = build(q, r, aa, true, max, out);
	/* Header, question and OPT take 286 bytes at most: they fit every transport. */
	return n ? n : build(q, r, aa | FLAG_TC, false, WIRE_UDP_MAX, out);
}

/** struct record - one record as it stands in a message */
struct record {
	struct wire_name owner;
	uint16_t type, class, len;
	uint32_t ttl;
	const uint8_t *data;
};

static bool read_record(const uint8_t *msg, struct reader *r, struct record *rec)
{
	if (!wire_read_name(msg, r, &rec->owner) || !reader_u16be(r, &rec->type) ||
	    !reader_u16be(r, &rec->class) || !reader_u32be(r, &rec->ttl) ||
	    !reader_u16be(r, &rec->len) || !reader_take(r, rec->len, &rec->data))
		return false;
	if (rec->ttl > INT32_MAX)
		rec->ttl = 0; /* RFC 2181 8 */
	return true;
}

/* The alias's target becomes the name whose records count from here on. */
static bool take_alias(const uint8_t *msg, const struct record *rec, struct wire_name *current)
{
	struct reader r = reader_init(rec->data, rec->len);
	struct wire_name target;

	if (!wire_read_name(msg, &r, &target) || r.n)
		return false;
	*current = target;
	return true;
}

/* The header and the question that was asked, as it must be repeated. Return: records, or -1. */
static int read_answer_head(struct reader *r, const struct wire_name *name, uint16_t type)
{
	struct wire_query q;
	struct header h;

	if (!read_header(r, &h) || !(h.flags & FLAG_QR) || h.qd != 1 || !read_question(r, &q) ||
	    q.type != type || q.class != WIRE_IN || !wire_name_equal(&q.name, name))
		return -1;
	return h.an;
}

enum parse wire_walk_answer(const void *p, size_t n, const struct hostname *name, uint16_t type,
			    wire_take *take, void *arg, uint32_t *ttl)
{
	struct reader r = reader_init(p, n);
	struct wire_name current;
	uint32_t least = UINT32_MAX;
	int records;

	wire_name_from_host(name, &current);
	records = read_answer_head(&r, &current, type);
	if (records < 0)
		return PARSE_BAD;
	for (int i = 0; i < records; i++) {
		struct record rec;

		if (!read_record(p, &r, &rec))
			return PARSE_BAD;
		if (rec.class != WIRE_IN || !wire_name_equal(&rec.owner, &current))
			continue;
		if (rec.type == type) {
			const struct wire_record found = { p, reader_init(rec.data, rec.len) };

			if (!take(arg, &found))
				return PARSE_BAD;
		} else if (rec.type == WIRE_CNAME) {
			if (!take_alias(p, &rec, &current))
				return PARSE_BAD;
		} else {
			continue;
		}
		if (rec.ttl < least)
			least = rec.ttl;
	}
	*ttl = least;
	return PARSE_OK;
}

/** struct addresses - what is being gathered, and which kind */
struct addresses {
	uint16_t type;
	struct wire_addrs found;
};

static bool take_address(void *arg, const struct wire_record *rec)
{
	struct addresses *into = arg;
	struct addr a = { .family = into->type == WIRE_A ? AF_INET : AF_INET6 };
	size_t len = into->type == WIRE_A ? 4 : 16;

	if (rec->data.n != len)
		return false;
	if (into->found.n < WIRE_ADDRS_MAX) {
		memcpy(a.bytes, rec->data.p, len);
		into->found.v[into->found.n++] = a;
	}
	return true;
}

enum parse wire_parse_answer(const void *p, size_t n, const struct hostname *name, uint16_t type,
			     struct wire_addrs *out)
{
	struct addresses into = { .type = type };
	enum parse got = wire_walk_answer(p, n, name, type, take_address, &into, &into.found.ttl);

	if (got != PARSE_OK)
		return got;
	if (!into.found.n)
		into.found.ttl = UINT32_MAX;
	*out = into.found;
	return PARSE_OK;
}
