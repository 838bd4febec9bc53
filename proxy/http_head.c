#include "proxy/http_head.h"

#include <string.h>

#include "base/cleanup.h"

/*
 * What a field is to a proxy. FIELD_HOP fields are dropped; the named ones are understood here
 * and stated anew by http_rewrite.c.
 */
enum field_id {
	FIELD_OTHER,
	FIELD_HOP,
	FIELD_HOST,
	FIELD_LENGTH,
	FIELD_CODING,
	FIELD_CONNECTION,
	FIELD_UPGRADE,
	FIELD_EXPECT,
	FIELD_MAX_FORWARDS,
};

#define FIELD(name) name, sizeof(name) - 1

static const struct {
	const char *name;
	size_t n;
	enum field_id id;
} known_fields[] = {
	{ FIELD("connection"), FIELD_CONNECTION },
	{ FIELD("content-length"), FIELD_LENGTH },
	{ FIELD("expect"), FIELD_EXPECT },
	{ FIELD("host"), FIELD_HOST },
	{ FIELD("http2-settings"), FIELD_HOP },
	{ FIELD("keep-alive"), FIELD_HOP },
	{ FIELD("max-forwards"), FIELD_MAX_FORWARDS },
	{ FIELD("te"), FIELD_HOP },
	{ FIELD("trailer"), FIELD_HOP },
	{ FIELD("transfer-encoding"), FIELD_CODING },
	{ FIELD("upgrade"), FIELD_UPGRADE },
};

/* The names in Connection, of all its lines together. */
struct nominated {
	size_t n;
	struct http_slice v[HTTP_CONNECTION_TOKENS_MAX];
};

static uint8_t lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

static bool equal_ignoring_case(const uint8_t *a, const uint8_t *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (lower(a[i]) != lower(b[i]))
			return false;
	return true;
}

bool http_slice_is(struct http_slice s, const char *text)
{
	size_t n = strlen(text);

	return s.n == n && equal_ignoring_case(s.p, (const uint8_t *)text, n);
}

bool http_is_tchar(uint8_t c)
{
	static const bool tchar[UINT8_MAX + 1] = {
		['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['!'] = true,
		['#'] = true,	      ['$'] = true,	    ['%'] = true,	  ['&'] = true,
		['\''] = true,	      ['*'] = true,	    ['+'] = true,	  ['-'] = true,
		['.'] = true,	      ['^'] = true,	    ['_'] = true,	  ['`'] = true,
		['|'] = true,	      ['~'] = true,
	};

	return tchar[c];
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

static bool is_token(struct http_slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!http_is_tchar(s.p[i]))
			return false;
	return s.n > 0;
}

static struct http_slice trim_end(struct http_slice s)
{
	while (s.n && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

static struct http_slice trim(struct http_slice s)
{
	while (s.n && is_blank(s.p[0])) {
		s.p++;
		s.n--;
	}
	return trim_end(s);
}

/* A malformed request is the client's fault, a malformed response the server's. */
static enum parse bad(struct http_error *err, enum http_head_kind kind, unsigned status,
		      const char *text)
{
	*err = (struct http_error){
		.status = kind == HTTP_HEAD_RESPONSE ? 502 : status,
		.code = CODE_OK,
		.text = text,
	};
	return PARSE_BAD;
}

static enum parse scan_line_end(struct http_scan *s, enum http_head_kind kind,
				struct http_error *err)
{
	unsigned max = kind == HTTP_HEAD_REQUEST ? HTTP_FIELDS_MAX : HTTP_RESPONSE_FIELDS_MAX;

	s->cr = false;
	if (s->column) {
		s->column = 0;
		if (++s->lines > max + 1)
			return bad(err, kind, 431, "too many header lines");
		return PARSE_MORE;
	}
	if (s->lines)
		return PARSE_OK;
	if (s->skipped || kind == HTTP_HEAD_RESPONSE)
		return bad(err, kind, 400, "empty line in place of the first line");
	s->skipped = 2;
	return PARSE_MORE;
}

static bool is_control(uint8_t c)
{
	return (c < 0x20 && c != '\t') || c == 0x7f;
}

/* The bytes of a line that neither end it nor spoil it, taken together. */
static size_t scan_run(struct http_scan *s, const uint8_t *p, size_t n)
{
	size_t i = 0;

	while (i < n && !is_control(p[i]))
		i++;
	s->column += (uint32_t)i;
	return i;
}

static enum parse scan_byte(struct http_scan *s, uint8_t c, enum http_head_kind kind,
			    struct http_error *err)
{
	if (s->cr)
		return c == '\n' ? scan_line_end(s, kind, err)
				 : bad(err, kind, 400, "CR without LF in the head");
	if (c == '\r') {
		s->cr = true;
		return PARSE_MORE;
	}
	if (c == '\n')
		return bad(err, kind, 400, "LF without CR in the head");
	if (is_control(c))
		return bad(err, kind, 400, "control character in the head");
	s->column++;
	return PARSE_MORE;
}

enum parse http_head_scan(struct http_scan *s, const void *p, size_t n, enum http_head_kind kind,
			  struct http_error *err)
{
	size_t max = kind == HTTP_HEAD_REQUEST ? HTTP_HEAD_MAX : HTTP_RESPONSE_HEAD_MAX;
	size_t end = n < max ? n : max;
	const uint8_t *bytes = p;

	while (s->off < end) {
		enum parse result;

		if (!s->cr)
			s->off += (uint32_t)scan_run(s, bytes + s->off, end - s->off);
		if (s->off == end)
			break;
		result = scan_byte(s, bytes[s->off++], kind, err);
		if (result != PARSE_MORE)
			return result;
	}
	if (s->off < max)
		return PARSE_MORE;
	if (!s->lines)
		return bad(err, kind, 414, "the first line is too long");
	return bad(err, kind, 431, "the head is too long");
}

static enum field_id field_id(struct http_slice name)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_fields); i++)
		if (name.n == known_fields[i].n &&
		    equal_ignoring_case(name.p, (const uint8_t *)known_fields[i].name, name.n))
			return known_fields[i].id;
	if (name.n > 6 && equal_ignoring_case(name.p, (const uint8_t *)"proxy-", 6))
		return FIELD_HOP;
	return FIELD_OTHER;
}

static enum parse learn_length(struct http_slice value, enum http_head_kind kind,
			       struct http_framing_fields *info, struct http_error *err)
{
	uint64_t length;

	if (!reader_decimal(value.p, value.n, INT64_MAX, &length))
		return bad(err, kind, 400, "malformed Content-Length");
	if (info->lengths && (kind == HTTP_HEAD_REQUEST || length != info->length))
		return bad(err, kind, 400, "more than one Content-Length");
	info->lengths++;
	info->length = length;
	return PARSE_OK;
}

static enum parse learn_coding(struct http_slice value, enum http_head_kind kind,
			       struct http_framing_fields *info, struct http_error *err)
{
	if (info->codings)
		return bad(err, kind, 400, "more than one Transfer-Encoding");
	if (!http_slice_is(value, "chunked"))
		return bad(err, kind, 400, "Transfer-Encoding is not \"chunked\"");
	info->codings++;
	return PARSE_OK;
}

static enum parse learn_option(struct http_slice token, enum http_head_kind kind,
			       struct http_framing_fields *info, struct nominated *names,
			       struct http_error *err)
{
	if (!is_token(token))
		return bad(err, kind, 400, "malformed Connection");
	switch (field_id(token)) {
	case FIELD_HOST:
	case FIELD_LENGTH:
	case FIELD_CODING:
		return bad(err, kind, 400, "Connection names a field that frames the message");
	case FIELD_OTHER:
	case FIELD_HOP:
	case FIELD_CONNECTION:
	case FIELD_UPGRADE:
	case FIELD_EXPECT:
	case FIELD_MAX_FORWARDS:
		break;
	}
	if (names->n == HTTP_CONNECTION_TOKENS_MAX)
		return bad(err, kind, 431, "too many names in Connection");
	names->v[names->n++] = token;
	info->close |= http_slice_is(token, "close");
	info->keep_alive |= http_slice_is(token, "keep-alive");
	info->upgrade |= http_slice_is(token, "upgrade");
	return PARSE_OK;
}

static enum parse learn_connection(struct http_slice value, enum http_head_kind kind,
				   struct http_framing_fields *info, struct nominated *names,
				   struct http_error *err)
{
	while (value.n) {
		const uint8_t *comma = memchr(value.p, ',', value.n);
		size_t len = comma ? (size_t)(comma - value.p) : value.n;
		struct http_slice token = trim((struct http_slice){ value.p, len });

		/* RFC 9110 5.6.1: empty elements are nothing */
		if (token.n && learn_option(token, kind, info, names, err) != PARSE_OK)
			return PARSE_BAD;
		value.p += len + (comma != NULL);
		value.n -= len + (comma != NULL);
	}
	return PARSE_OK;
}

static void learn_max_forwards(struct http_slice value, struct http_framing_fields *info)
{
	uint64_t hops;

	if (info->max_forwards == -1 && reader_decimal(value.p, value.n, INT32_MAX, &hops))
		info->max_forwards = (int64_t)hops;
	else
		info->max_forwards = -2; /* malformed or repeated: matters for OPTIONS only */
}

static enum parse learn_field(struct http_field *f, enum http_head_kind kind,
			      struct http_framing_fields *info, struct nominated *names,
			      struct http_error *err)
{
	enum field_id id = field_id(f->name);

	f->hop = id != FIELD_OTHER && id != FIELD_MAX_FORWARDS;
	switch (id) {
	case FIELD_OTHER:
	case FIELD_HOP:
		return PARSE_OK;
	case FIELD_HOST:
		info->host = f->value;
		if (info->hosts++ && kind == HTTP_HEAD_REQUEST)
			return bad(err, kind, 400, "more than one Host");
		return PARSE_OK;
	case FIELD_LENGTH:
		return learn_length(f->value, kind, info, err);
	case FIELD_CODING:
		return learn_coding(f->value, kind, info, err);
	case FIELD_CONNECTION:
		return learn_connection(f->value, kind, info, names, err);
	case FIELD_UPGRADE:
		info->websocket = !info->upgrades++ && http_slice_is(f->value, "websocket");
		return PARSE_OK;
	case FIELD_EXPECT:
		if (!info->expects++)
			info->expect_continue = true;
		info->expect_continue &= http_slice_is(f->value, "100-continue");
		return PARSE_OK;
	case FIELD_MAX_FORWARDS:
		learn_max_forwards(f->value, info);
		return PARSE_OK;
	}
	return PARSE_OK;
}

static enum parse parse_line(struct http_slice line, enum http_head_kind kind,
			     struct http_field *out, struct http_error *err)
{
	const uint8_t *colon = memchr(line.p, ':', line.n);

	if (is_blank(line.p[0]))
		return bad(err, kind, 400, "folded header line");
	if (!colon)
		return bad(err, kind, 400, "header line without a colon");
	out->name = (struct http_slice){ line.p, (size_t)(colon - line.p) };
	if (kind == HTTP_HEAD_RESPONSE)
		out->name = trim_end(out->name);
	if (!is_token(out->name))
		return bad(err, kind, 400, "malformed header name");
	out->value = trim((struct http_slice){ colon + 1, line.n - (size_t)(colon - line.p) - 1 });
	return PARSE_OK;
}

static void drop_nominated(struct http_fields *fields, const struct nominated *names)
{
	for (size_t i = 0; i < fields->n; i++) {
		struct http_slice name = fields->v[i].name;

		for (size_t k = 0; k < names->n && !fields->v[i].hop; k++)
			fields->v[i].hop = names->v[k].n == name.n &&
					   equal_ignoring_case(names->v[k].p, name.p, name.n);
	}
}

/* One line without its CRLF; the scan has seen to it that each LF follows a CR. */
static bool take_line(struct reader *r, struct http_slice *line)
{
	if (!reader_until(r, '\n', &line->p, &line->n) || !line->n)
		return false;
	line->n--;
	return true;
}

enum parse http_head_fields(struct reader *r, enum http_head_kind kind, struct http_fields *fields,
			    struct http_framing_fields *info, struct http_error *err)
{
	size_t max = kind == HTTP_HEAD_REQUEST ? HTTP_FIELDS_MAX : HTTP_RESPONSE_FIELDS_MAX;
	struct nominated names UNINITIALIZED;
	struct http_slice line;

	fields->n = names.n = 0;
	*info = (struct http_framing_fields){ .max_forwards = -1 };
	for (;;) {
		struct http_field *f = &fields->v[fields->n];

		if (!take_line(r, &line))
			return bad(err, kind, 400, "the head has no end");
		if (!line.n)
			break;
		if (fields->n == max)
			return bad(err, kind, 431, "too many header lines");
		if (parse_line(line, kind, f, err) != PARSE_OK ||
		    learn_field(f, kind, info, &names, err) != PARSE_OK)
			return PARSE_BAD;
		fields->n++;
	}
	if (info->codings && info->lengths)
		return bad(err, kind, 400, "Content-Length beside Transfer-Encoding");
	drop_nominated(fields, &names);
	return PARSE_OK;
}
