#include "proxy/http.h"

#include <string.h>

#include "base/cleanup.h"

#define TEXT_ORIGIN_FORM                                                                       \
	"this is a proxy: it takes CONNECT host:port or an absolute http:// URL, not a path; " \
	"is a program using the proxy's address as its server?"

/* RFC 9110 registry without TRACE and PRI, and what is in use beside it; sorted by bytes. */
static const char *const methods[] = {
	"ACL",
	"BASELINE-CONTROL",
	"BIND",
	"CHECKIN",
	"CHECKOUT",
	"CONNECT",
	"COPY",
	"DELETE",
	"GET",
	"HEAD",
	"LABEL",
	"LINK",
	"LIST",
	"LOCK",
	"M-SEARCH",
	"MERGE",
	"MKACTIVITY",
	"MKCALENDAR",
	"MKCOL",
	"MKREDIRECTREF",
	"MKWORKSPACE",
	"MOVE",
	"NOTIFY",
	"OPTIONS",
	"ORDERPATCH",
	"PATCH",
	"POST",
	"PROPFIND",
	"PROPPATCH",
	"PURGE",
	"PUT",
	"QUERY",
	"REBIND",
	"REPORT",
	"SEARCH",
	"SUBSCRIBE",
	"UNBIND",
	"UNCHECKOUT",
	"UNLINK",
	"UNLOCK",
	"UNSUBSCRIBE",
	"UPDATE",
	"UPDATEREDIRECTREF",
	"VERSION-CONTROL",
};

static enum parse bad(struct http_error *err, unsigned status, const char *text)
{
	*err = (struct http_error){ .status = status, .code = CODE_OK, .text = text };
	return PARSE_BAD;
}

static enum parse bad_target(struct http_error *err, enum target_parse why, struct http_slice said)
{
	bool port = why == TARGET_BAD_PORT;

	*err = (struct http_error){
		.status = 400,
		.code = port ? CODE_BAD_PORT : CODE_BAD_HOST,
		.text = port ? "the target has no valid port" : "the target has no valid host name",
	};
	said_text(err->said, said.p, said.n);
	return PARSE_BAD;
}

/* Methods are compared with letter case (RFC 9110 9.1): "connect" is none. */
static bool slice_equals(struct http_slice s, const char *text)
{
	return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

static bool is_known_method(struct http_slice s)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (slice_equals(s, methods[i]))
			return true;
	return false;
}

static enum parse parse_method(struct http_slice s, struct http_request *out,
			       struct http_error *err)
{
	for (size_t i = 0; i < s.n; i++)
		if (!http_is_tchar(s.p[i]))
			return bad(err, 400, "malformed method");
	if (!is_known_method(s)) /* which bounds it, too */
		return bad(err, 501, "this method is not supported");
	out->method = s;
	out->connect = slice_equals(s, "CONNECT");
	out->head = slice_equals(s, "HEAD");
	out->options = slice_equals(s, "OPTIONS");
	return PARSE_OK;
}

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static enum parse parse_version(struct http_slice s, struct http_request *out,
				struct http_error *err)
{
	if (s.n != 8 || memcmp(s.p, "HTTP/", 5) != 0 || !is_digit(s.p[5]) || s.p[6] != '.' ||
	    !is_digit(s.p[7]))
		return bad(err, 400, "malformed HTTP version");
	if (s.p[5] != '1' || s.p[7] > '1')
		return bad(err, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
	out->minor = s.p[7] == '1';
	return PARSE_OK;
}

static bool has_prefix(struct http_slice s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.n >= n && http_slice_is((struct http_slice){ s.p, n }, prefix);
}

/*
 * Only what comes before the first '/' or '?' is authority. The rest is passed as it stands and
 * decides nothing; bytes above 0x7f are let through there, because curl sends what it was given.
 */
static enum parse parse_absolute(struct http_slice s, struct http_request *out,
				 struct http_error *err)
{
	struct http_slice authority = { s.p + strlen("http://"), 0 };
	size_t rest = s.n - strlen("http://");
	enum target_parse why;

	if (memchr(s.p, '#', s.n))
		return bad(err, 400, "the target has a fragment");
	while (authority.n < rest && authority.p[authority.n] != '/' &&
	       authority.p[authority.n] != '?')
		authority.n++;
	why = target_parse_authority(authority.p, authority.n, 80, &out->target);
	if (why != TARGET_OK)
		return bad_target(err, why, authority);
	out->target.via = VIA_HTTP;
	out->path = (struct http_slice){ authority.p + authority.n, rest - authority.n };
	return PARSE_OK;
}

static enum parse parse_target(struct http_slice s, struct http_request *out,
			       struct http_error *err)
{
	enum target_parse why;

	if (s.p[0] == '/')
		return bad(err, 400, TEXT_ORIGIN_FORM);
	if (slice_equals(s, "*"))
		return bad(err, 400, "this is a proxy: \"*\" names no host");
	if (out->connect) {
		why = target_parse_authority(s.p, s.n, 0, &out->target);
		if (why != TARGET_OK)
			return bad_target(err, why, s);
		out->target.via = VIA_CONNECT;
		out->path = (struct http_slice){ s.p + s.n, 0 };
		return PARSE_OK;
	}
	if (has_prefix(s, "http://"))
		return parse_absolute(s, out, err);
	if (has_prefix(s, "https://"))
		return bad(err, 501, "https:// goes through CONNECT, not through a plain request");
	return bad(err, 400, "the target is not an absolute http:// URL");
}

/* method SP target SP version: exactly two blanks and no tab (RFC 9112 3) */
static enum parse parse_first_line(struct http_slice line, struct http_request *out,
				   struct http_error *err)
{
	struct http_slice part[3] = { { line.p, 0 } };
	size_t k = 0;

	if (memchr(line.p, '\t', line.n))
		return bad(err, 400, "malformed request line");
	for (size_t i = 0; i < line.n; i++) {
		if (line.p[i] != ' ') {
			part[k].n++;
			continue;
		}
		if (++k == ARRAY_SIZE(part))
			return bad(err, 400, "malformed request line");
		part[k] = (struct http_slice){ line.p + i + 1, 0 };
	}
	if (k != 2 || !part[0].n || !part[1].n)
		return bad(err, 400, "malformed request line");
	if (parse_method(part[0], out, err) != PARSE_OK ||
	    parse_version(part[2], out, err) != PARSE_OK)
		return PARSE_BAD;
	return parse_target(part[1], out, err);
}

/* Host never decides anything, but a malformed or missing one means somebody plays games. */
static enum parse check_host(const struct http_request *req, const struct http_framing_fields *info,
			     struct http_error *err)
{
	struct target ignored;

	if (!info->hosts) {
		if (req->minor == 1 && !req->connect)
			return bad(err, 400, "Host is missing");
		return PARSE_OK;
	}
	if (target_parse_authority(info->host.p, info->host.n, req->connect ? 443 : 80, &ignored) !=
	    TARGET_OK)
		return bad(err, 400, "malformed Host");
	return PARSE_OK;
}

static enum parse decide_framing(struct http_request *req, const struct http_framing_fields *info,
				 struct http_error *err)
{
	req->framing = HTTP_BODY_NONE;
	req->length = 0;
	if (req->connect) {
		/* "Content-Length: 0" comes from WinHTTP and says nothing */
		if (info->codings || info->length)
			return bad(err, 400, "CONNECT with a body");
		return PARSE_OK;
	}
	if (info->codings) {
		if (req->minor == 0)
			return bad(err, 400, "Transfer-Encoding in HTTP/1.0");
		req->framing = HTTP_BODY_CHUNKED;
	} else if (info->lengths) {
		req->framing = HTTP_BODY_LENGTH;
		req->length = info->length;
	}
	return PARSE_OK;
}

static enum parse decide_options(struct http_request *req, const struct http_framing_fields *info,
				 struct http_error *err)
{
	bool get = slice_equals(req->method, "GET");
	bool body = req->framing == HTTP_BODY_CHUNKED || req->length > 0;

	req->keep_alive = !info->close && (req->minor == 1 || info->keep_alive);
	/* RFC 9110 10.1.1: HTTP/1.0 knows no Expect; without a body there is nothing to wait for */
	if (req->minor == 1 && info->expects && !info->expect_continue)
		return bad(err, 417, "only \"100-continue\" can be expected");
	req->expect_continue = req->minor == 1 && info->expect_continue && body;
	req->websocket = get && req->minor == 1 && info->upgrade && info->websocket && !body;
	req->max_forwards = req->options ? info->max_forwards : -1;
	if (req->max_forwards == -2)
		return bad(err, 400, "malformed Max-Forwards");
	return PARSE_OK;
}

static enum parse parse_head(struct reader r, struct http_request *out, struct http_error *err)
{
	struct http_framing_fields info;
	struct http_slice line;

	if (!reader_until(&r, '\n', &line.p, &line.n) || !line.n)
		return bad(err, 400, "the head has no end");
	line.n--; /* the CR before the LF: http_head_scan() has seen to it */
	if (parse_first_line(line, out, err) != PARSE_OK ||
	    http_head_fields(&r, HTTP_HEAD_REQUEST, &out->fields, &info, err) != PARSE_OK ||
	    check_host(out, &info, err) != PARSE_OK || decide_framing(out, &info, err) != PARSE_OK)
		return PARSE_BAD;
	return decide_options(out, &info, err);
}

enum parse http_request_parse(struct reader *r, struct http_scan *scan, struct http_request *out,
			      struct http_error *err)
{
	enum parse result = http_head_scan(scan, r->p, r->n, HTTP_HEAD_REQUEST, err);
	struct reader rest = *r;
	const uint8_t *head;

	if (result != PARSE_OK)
		return result;
	if (!reader_take(&rest, scan->off, &head))
		return bad(err, 400, "the head has no end");
	result = parse_head(reader_init(head + scan->skipped, scan->off - scan->skipped), out, err);
	if (result == PARSE_OK)
		*r = rest;
	return result;
}
