#include "dns/records.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/recordtype.h"

/*
 * What the data of a type consists of: a digit for so many bytes, 'n' a name, 's' a string with its
 * length before it, 'S' one or more of them up to the end, 'b' bytes up to the end.
 */
static const struct {
	enum recordtype type;
	const char *form;
} forms[] = {
	{ RECORDTYPE_MX, "2n" },    /* RFC 1035 3.3.9 */
	{ RECORDTYPE_TXT, "S" },    /* RFC 1035 3.3.14 */
	{ RECORDTYPE_SRV, "6n" },   /* RFC 2782 */
	{ RECORDTYPE_SSHFP, "2b" }, /* RFC 4255 3.1 */
	{ RECORDTYPE_TLSA, "3b" },  /* RFC 6698 2.1 */
	{ RECORDTYPE_CAA, "1sb" },  /* RFC 8659 4.1 */
};
static_assert(ARRAY_SIZE(forms) == RECORDTYPE_COUNT, "a form for each type");
static_assert(WIRE_REPLY_MAX >=
		      12 + WIRE_NAME_MAX + 4 + WIRE_RECORDS_MAX * 12 + WIRE_RECORDS_BYTES + 11,
	      "what records_parse() accepts fits a reply over TCP");

/** struct gathering - the records so far, and how one is read */
struct gathering {
	const char *form;
	struct wire_records found;
};

static bool keep(struct wire_records *to, const void *p, size_t n)
{
	if (sizeof(to->data) - to->len < n)
		return false;
	memcpy(to->data + to->len, p, n);
	to->len += n;
	return true;
}

static bool keep_string(struct wire_records *to, struct reader *r)
{
	const uint8_t *p;
	uint8_t len;

	return reader_u8(r, &len) && reader_take(r, len, &p) && keep(to, &len, 1) &&
	       keep(to, p, len);
}

static bool keep_field(struct wire_records *to, char field, const uint8_t *msg, struct reader *r)
{
	struct wire_name name;
	const uint8_t *p;

	switch (field) {
	case 'n':
		return wire_read_name(msg, r, &name) && keep(to, name.p, name.len);
	case 's':
		return keep_string(to, r);
	case 'S':
		do {
			if (!keep_string(to, r))
				return false;
		} while (r->n);
		return true;
	case 'b':
		return reader_take(r, r->n, &p) && keep(to, p, (size_t)(r->p - p));
	default:
		return reader_take(r, (size_t)(field - '0'), &p) &&
		       keep(to, p, (size_t)(field - '0'));
	}
}

static bool take_record(void *arg, const struct wire_record *rec)
{
	struct gathering *g = arg;
	struct reader r = rec->data;
	size_t at = g->found.len;
	size_t len;

	if (g->found.n == WIRE_RECORDS_MAX || !keep(&g->found, "\0", 2))
		return false;
	for (const char *f = g->form; *f; f++) {
		if (!keep_field(&g->found, *f, rec->msg, &r))
			return false;
	}
	len = g->found.len - at - 2;
	g->found.data[at] = (uint8_t)(len >> 8);
	g->found.data[at + 1] = (uint8_t)len;
	g->found.n++;
	return r.n == 0;
}

static const char *form_of(uint16_t type)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (forms[i].type == type)
			return forms[i].form;
	}
	return NULL;
}

bool records_known(uint16_t type)
{
	return form_of(type);
}

enum parse records_parse(const void *p, size_t n, const struct hostname *name, uint16_t type,
			 struct wire_records *out)
{
	struct gathering g = { .form = form_of(type), .found = { .type = type } };
	enum parse got;

	if (!g.form)
		return PARSE_BAD;
	got = wire_walk_answer(p, n, name, type, take_record, &g, &g.found.ttl);
	if (got == PARSE_OK)
		*out = g.found;
	return got;
}
