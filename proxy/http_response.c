#include "proxy/http_response.h"

#include <string.h>

#include "proxy/http.h"

struct http_asked http_asked(const struct http_request *req)
{
	return (struct http_asked){
		.head = req->head,
		.websocket = req->websocket,
		.minor = req->minor,
		.keep_alive = req->keep_alive,
	};
}

static enum parse bad(struct http_error *err, const char *text)
{
	*err = (struct http_error){ .status = 502, .code = CODE_OK, .text = text };
	return PARSE_BAD;
}

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* HTTP/1.x SP 3DIGIT, then nothing or SP and a phrase (RFC 9112 4) */
static enum parse parse_status_line(struct http_slice line, struct http_response *out,
				    struct http_error *err)
{
	const uint8_t *p = line.p;

	if (line.n < 12 || memcmp(p, "HTTP/1.", 7) != 0 || (p[7] != '0' && p[7] != '1') ||
	    p[8] != ' ' || !is_digit(p[9]) || !is_digit(p[10]) || !is_digit(p[11]) ||
	    (line.n > 12 && p[12] != ' '))
		return bad(err, "the server's status line is malformed");
	out->minor = p[7] == '1';
	out->status = (p[9] - '0') * 100u + (p[10] - '0') * 10u + (p[11] - '0');
	if (out->status < 100)
		return bad(err, "the server's status line is malformed");
	out->reason = (struct http_slice){ p + line.n, 0 };
	if (line.n > 13)
		out->reason = (struct http_slice){ p + 13, line.n - 13 };
	return PARSE_OK;
}

/* 1xx: no body ever, so a body's length there is an attempt to shift the next head */
static enum parse decide_informational(struct http_response *resp, const struct http_asked *asked,
				       const struct http_framing_fields *info,
				       struct http_error *err)
{
	if (info->codings || info->length)
		return bad(err, "the server's interim response claims a body");
	resp->keep_alive = true;
	if (resp->status != 101) {
		resp->interim = true;
		return PARSE_OK;
	}
	if (!asked->websocket || !info->upgrade || !info->websocket)
		return bad(err, "the server switches to a protocol that was not asked for");
	resp->upgraded = true;
	return PARSE_OK;
}

/* RFC 9112 6.3, for a final response */
static void decide_framing(struct http_response *resp, const struct http_asked *asked,
			   const struct http_framing_fields *info)
{
	bool persistent = !info->close && (resp->minor == 1 || info->keep_alive);
	bool no_body = asked->head || resp->status == 204 || resp->status == 304;

	if (no_body) {
		resp->framing = HTTP_BODY_NONE;
		/* a 204 that claims a body: whatever follows must not become the next response */
		if (resp->status == 204 && (info->codings || info->length))
			persistent = false;
	} else if (info->codings) {
		resp->framing = HTTP_BODY_CHUNKED;
	} else if (info->lengths) {
		resp->framing = HTTP_BODY_LENGTH;
		resp->length = info->length;
	} else {
		resp->framing = HTTP_BODY_UNTIL_CLOSE;
		persistent = false;
	}
	resp->keep_alive = persistent;
}

static enum parse parse_head(struct reader r, const struct http_asked *asked,
			     struct http_response *out, struct http_error *err)
{
	struct http_framing_fields info;
	struct http_slice line;

	if (!reader_until(&r, '\n', &line.p, &line.n) || !line.n)
		return bad(err, "the server's head has no end");
	line.n--; /* the CR before the LF: http_head_scan() has seen to it */
	if (parse_status_line(line, out, err) != PARSE_OK ||
	    http_head_fields(&r, HTTP_HEAD_RESPONSE, &out->fields, &info, err) != PARSE_OK)
		return PARSE_BAD;
	if (info.codings && out->minor == 0)
		return bad(err, "the server sends Transfer-Encoding in HTTP/1.0");
	out->interim = false;
	out->upgraded = false;
	out->framing = HTTP_BODY_NONE;
	out->length = 0;
	out->has_length = info.lengths > 0;
	out->content_length = info.length;
	if (out->status < 200)
		return decide_informational(out, asked, &info, err);
	decide_framing(out, asked, &info);
	return PARSE_OK;
}

enum parse http_response_parse(struct reader *r, struct http_scan *scan,
			       const struct http_asked *asked, struct http_response *out,
			       struct http_error *err)
{
	enum parse result = http_head_scan(scan, r->p, r->n, HTTP_HEAD_RESPONSE, err);
	struct reader rest = *r;
	const uint8_t *head;

	if (result != PARSE_OK)
		return result;
	if (!reader_take(&rest, scan->off, &head))
		return bad(err, "the server's head has no end");
	result = parse_head(reader_init(head, scan->off), asked, out, err);
	if (result == PARSE_OK)
		*r = rest;
	return result;
}
