#include "proxy/http_rewrite.h"

#include <assert.h>
#include <string.h>

#include "base/xalloc.h"
#include "proxy/writer.h"

/* What we add ourselves: request line remains, Host, framing, Connection, Upgrade, Expect. */
#define OWN_LINES_MAX (TARGET_TEXT_MAX + 512)

static void put_slice(struct writer *w, struct http_slice s)
{
	writer_put(w, s.p, s.n);
}

static void put_number(struct writer *w, const char *name, uint64_t value)
{
	writer_text(w, name);
	writer_text(w, ": ");
	writer_number(w, value);
	writer_text(w, "\r\n");
}

static void put_field(struct writer *w, const struct http_field *f)
{
	put_slice(w, f->name);
	writer_text(w, ": ");
	put_slice(w, f->value);
	writer_text(w, "\r\n");
}

static struct writer writer_for(const struct http_fields *fields, size_t own)
{
	struct writer w = { .size = own + OWN_LINES_MAX };

	for (size_t i = 0; i < fields->n; i++)
		w.size += fields->v[i].name.n + fields->v[i].value.n + strlen(": \r\n");
	w.p = xmalloc(w.size);
	return w;
}

/* RFC 9112 3.2.4: OPTIONS for a whole server is "*" on the last hop */
static void put_path(struct writer *w, const struct http_request *req)
{
	if (req->options && !req->path.n) {
		writer_text(w, "*");
		return;
	}
	if (!req->path.n || req->path.p[0] != '/')
		writer_text(w, "/");
	put_slice(w, req->path);
}

static void put_authority(struct writer *w, const struct target *t)
{
	char text[TARGET_TEXT_MAX];
	struct target shown = *t;

	if (shown.port == 80)
		shown.port = 0; /* target_format() then writes the host alone */
	writer_text(w, target_format(&shown, text));
}

static void put_host(struct writer *w, const struct target *t)
{
	writer_text(w, "Host: ");
	put_authority(w, t);
	writer_text(w, "\r\n");
}

/* RFC 9112 3.2.4: before the last hop, OPTIONS for a whole server has no path at all */
static void put_absolute(struct writer *w, const struct http_request *req)
{
	writer_text(w, "http://");
	put_authority(w, &req->target);
	if (req->path.n || !req->options)
		put_path(w, req);
}

static void put_body_framing(struct writer *w, enum http_framing framing, uint64_t length)
{
	switch (framing) {
	case HTTP_BODY_LENGTH:
		put_number(w, "Content-Length", length);
		break;
	case HTTP_BODY_CHUNKED:
		writer_text(w, "Transfer-Encoding: chunked\r\n");
		break;
	case HTTP_BODY_NONE:
	case HTTP_BODY_UNTIL_CLOSE:
		break;
	}
}

/* @authorization: NULL for origin-form */
static struct http_text rewrite(const struct http_request *req, bool keep_alive,
				const char *authorization)
{
	struct writer w =
		writer_for(&req->fields, req->method.n + req->path.n +
						 (authorization ? strlen(authorization) : 0) +
						 TARGET_TEXT_MAX);

	assert(!req->connect);
	put_slice(&w, req->method);
	writer_text(&w, " ");
	if (authorization)
		put_absolute(&w, req);
	else
		put_path(&w, req);
	writer_text(&w, " HTTP/1.1\r\n");
	put_host(&w, &req->target);
	if (authorization && *authorization) {
		writer_text(&w, "Proxy-Authorization: ");
		writer_text(&w, authorization);
		writer_text(&w, "\r\n");
	}
	for (size_t i = 0; i < req->fields.n; i++) {
		const struct http_field *f = &req->fields.v[i];

		if (f->hop || (req->max_forwards >= 0 && http_slice_is(f->name, "max-forwards")))
			continue;
		put_field(&w, f);
	}
	if (req->max_forwards > 0)
		put_number(&w, "Max-Forwards", (uint64_t)req->max_forwards - 1);
	put_body_framing(&w, req->framing, req->length);
	if (req->expect_continue)
		writer_text(&w, "Expect: 100-continue\r\n");
	if (req->websocket)
		writer_text(&w, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	else if (!keep_alive)
		writer_text(&w, "Connection: close\r\n");
	writer_text(&w, "\r\n");
	return (struct http_text){ w.p, w.n };
}

struct http_text http_rewrite_request(const struct http_request *req, bool keep_alive)
{
	return rewrite(req, keep_alive, NULL);
}

struct http_text http_rewrite_absolute(const struct http_request *req, bool keep_alive,
				       const char *authorization)
{
	return rewrite(req, keep_alive, authorization);
}

/* HTTP/1.0 knows no chunks: such a body goes bare and ends with the connection. */
static struct http_delivery deliver(const struct http_response *resp,
				    const struct http_asked *asked)
{
	struct http_delivery d = { .framing = resp->framing, .keep_alive = asked->keep_alive };

	if (resp->framing == HTTP_BODY_CHUNKED && asked->minor == 0)
		d.framing = HTTP_BODY_UNTIL_CLOSE;
	if (d.framing == HTTP_BODY_UNTIL_CLOSE)
		d.keep_alive = false;
	return d;
}

static void put_delivery(struct writer *w, const struct http_response *resp,
			 const struct http_asked *asked, const struct http_delivery *d)
{
	bool informs = resp->framing == HTTP_BODY_NONE && resp->has_length && resp->status != 204;

	if (resp->interim)
		return;
	if (resp->upgraded) {
		writer_text(w, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
		return;
	}
	if (informs) /* HEAD and 304: the length that GET would have had */
		put_number(w, "Content-Length", resp->content_length);
	put_body_framing(w, d->framing, resp->length);
	if (!d->keep_alive)
		writer_text(w, "Connection: close\r\n");
	else if (asked->minor == 0)
		writer_text(w, "Connection: keep-alive\r\n");
}

/* Three digits: http_response_parse() takes nothing else. */
static void put_status(struct writer *w, unsigned status)
{
	const char text[] = { (char)('0' + status / 100 % 10), (char)('0' + status / 10 % 10),
			      (char)('0' + status % 10), ' ' };

	writer_put(w, text, sizeof(text));
}

struct http_text http_rewrite_response(const struct http_response *resp,
				       const struct http_asked *asked, struct http_delivery *out)
{
	struct writer w = writer_for(&resp->fields, resp->reason.n);
	struct http_delivery d = deliver(resp, asked);

	writer_text(&w, "HTTP/1.1 ");
	put_status(&w, resp->status);
	put_slice(&w, resp->reason);
	writer_text(&w, "\r\n");
	for (size_t i = 0; i < resp->fields.n; i++)
		if (!resp->fields.v[i].hop)
			put_field(&w, &resp->fields.v[i]);
	put_delivery(&w, resp, asked, &d);
	writer_text(&w, "\r\n");
	*out = d;
	return (struct http_text){ w.p, w.n };
}
