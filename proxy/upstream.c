#include "proxy/upstream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "proxy/tls.h"

#define HTTP_PORT   80
#define HTTPS_PORT  443
#define SOCKS5_PORT 1080

/* ---- one URL */

/* RFC 4648 section 4; @out has room. Return: how many characters. */
static size_t base64(const uint8_t *p, size_t n, char *out)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t len = 0;

	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16;

		v |= i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0;
		v |= i + 2 < n ? p[i + 2] : 0;
		out[len++] = digit[v >> 18];
		out[len++] = digit[v >> 12 & 63];
		out[len++] = i + 1 < n ? digit[v >> 6 & 63] : '=';
		out[len++] = i + 2 < n ? digit[v & 63] : '=';
	}
	out[len] = '\0';
	return len;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undoes %XX; what is no such thing stands for itself. Return: false if it is too long. */
static bool decode(const char *p, size_t n, char out[UPSTREAM_CREDENTIAL_MAX + 1], uint8_t *out_n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		char c = p[i];

		if (len == UPSTREAM_CREDENTIAL_MAX)
			return false;
		if (c == '%' && i + 2 < n && hex_digit(p[i + 1]) >= 0 && hex_digit(p[i + 2]) >= 0) {
			c = (char)(hex_digit(p[i + 1]) << 4 | hex_digit(p[i + 2]));
			i += 2;
		}
		out[len++] = c;
	}
	out[len] = '\0';
	*out_n = (uint8_t)len;
	return true;
}

static int read_credentials(const char *p, size_t n, struct upstream *out, struct error *err)
{
	const char *colon = memchr(p, ':', n);
	size_t user_n = colon ? (size_t)(colon - p) : n;
	uint8_t pair[2 * UPSTREAM_CREDENTIAL_MAX + 1];
	size_t len;

	if (!decode(p, user_n, out->user, &out->user_n) ||
	    (colon && !decode(colon + 1, n - user_n - 1, out->password, &out->password_n)))
		return error_set(err, 0, "upstream proxy: its user name or password is too long");
	if (out->user_n == 0)
		return error_set(err, 0, "upstream proxy: its user name is empty");
	if (out->scheme != UPSTREAM_HTTP)
		return 0;
	if (memchr(out->user, ':', out->user_n)) /* RFC 7617 section 2 */
		return error_set(err, 0, "upstream proxy: its user name has a colon");
	memcpy(pair, out->user, out->user_n);
	pair[out->user_n] = ':';
	memcpy(pair + out->user_n + 1, out->password, out->password_n);
	len = (size_t)out->user_n + 1 + out->password_n;
	memcpy(out->basic, "Basic ", strlen("Basic "));
	(void)base64(pair, len, out->basic + strlen("Basic "));
	return 0;
}

static int read_scheme(const char **p, struct upstream *out, struct error *err)
{
	static const struct {
		const char *prefix;
		enum upstream_scheme scheme;
		bool tls;
	} known[] = { { "http://", UPSTREAM_HTTP, false },
		      { "https://", UPSTREAM_HTTP, true },
		      { "socks5h://", UPSTREAM_SOCKS5, false } };
	const char *sep = strstr(*p, "://");

	if (!sep)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strncasecmp(*p, known[i].prefix, strlen(known[i].prefix)) == 0) {
			out->scheme = known[i].scheme;
			out->tls = known[i].tls;
			*p += strlen(known[i].prefix);
			return 0;
		}
	}
	if (strncasecmp(*p, "socks5://", 9) == 0)
		return error_set(err, 0,
				 "upstream proxy: socks5:// would look names up here; use "
				 "socks5h://");
	return error_set(err, 0, "upstream proxy: knows http://, https:// and socks5h:// only");
}

static uint16_t default_port(const struct upstream *up)
{
	if (up->scheme == UPSTREAM_SOCKS5)
		return SOCKS5_PORT;
	return up->tls ? HTTPS_PORT : HTTP_PORT;
}

/* "http:/host": a scheme that lacks a slash is no host with a bad port. */
static bool is_broken_url(const char *text)
{
	static const char *const scheme[] = { "http:", "https:", "socks5h:", "socks5:" };

	for (size_t i = 0; i < ARRAY_SIZE(scheme); i++) {
		size_t n = strlen(scheme[i]);

		if (strncasecmp(text, scheme[i], n) == 0 && strncmp(text + n, "//", 2) != 0)
			return true;
	}
	return false;
}

int upstream_parse(const char *text, struct upstream *out, struct error *err)
{
	struct upstream up = { .scheme = UPSTREAM_HTTP, .at = { .via = VIA_CONNECT } };
	const char *p = text, *at;
	size_t n;

	if (read_scheme(&p, &up, err) < 0)
		return -1;
	at = strrchr(p, '@');
	if (at && read_credentials(p, (size_t)(at - p), &up, err) < 0)
		return -1;
	if (at)
		p = at + 1;
	n = strlen(p);
	if (n && p[n - 1] == '/')
		n--;
	switch (target_parse_authority(p, n, default_port(&up), &up.at)) {
	case TARGET_OK:
		*out = up;
		return 0;
	case TARGET_BAD_PORT:
		if (is_broken_url(text))
			break;
		return error_set(err, 0, "upstream proxy: bad port");
	case TARGET_BAD_HOST:
		break;
	}
	return error_set(err, 0, "upstream proxy: needs [SCHEME://]HOST[:PORT]");
}

/* ---- which targets go through which parent */

/** struct bypass - one entry of NO_PROXY */
struct bypass {
	enum { BYPASS_ALL, BYPASS_NAME, BYPASS_BLOCK } kind;
	struct hostname name;
	struct cidr block;
};

/** struct upstreams - @plain and @tunnel are NULL where the way is direct; @trust for TLS */
struct upstreams {
	struct upstream *plain, *tunnel;
	struct bypass *bypass;
	size_t nbypass;
	struct tls_trust *trust;
};

static struct upstream *copy_of(const struct upstream *up)
{
	struct upstream *copy = xmalloc(sizeof(*copy));

	*copy = *up;
	return copy;
}

bool upstream_equal(const struct upstream *a, const struct upstream *b)
{
	if (!a || !b)
		return a == b;
	return a->scheme == b->scheme && a->tls == b->tls && target_equal(&a->at, &b->at) &&
	       a->user_n == b->user_n && a->password_n == b->password_n &&
	       memcmp(a->user, b->user, a->user_n) == 0 &&
	       memcmp(a->password, b->password, a->password_n) == 0 &&
	       strcmp(a->basic, b->basic) == 0;
}

struct upstreams *upstreams_one(const struct upstream *up)
{
	struct upstreams *u = xcalloc(1, sizeof(*u));

	u->plain = copy_of(up);
	u->tunnel = copy_of(up);
	return u;
}

void upstreams_free(struct upstreams *u)
{
	if (!u)
		return;
	if (u->plain)
		explicit_bzero(u->plain, sizeof(*u->plain));
	if (u->tunnel)
		explicit_bzero(u->tunnel, sizeof(*u->tunnel));
	free(u->plain);
	free(u->tunnel);
	free(u->bypass);
	tls_trust_free(u->trust);
	free(u);
}

bool upstreams_want_trust(const struct upstreams *u)
{
	return (u->plain && u->plain->tls) || (u->tunnel && u->tunnel->tls);
}

void upstreams_set_trust(struct upstreams *u, struct tls_trust *trust)
{
	tls_trust_free(u->trust);
	u->trust = trust;
}

struct tls_trust *upstreams_trust(const struct upstreams *u)
{
	return u->trust;
}

/* "10.0.0.0/8", with host bits too ("10.1.2.3/8"), as others read NO_PROXY. */
static bool read_block(const char *p, size_t n, struct cidr *out)
{
	const char *slash = memrchr(p, '/', n);
	uint64_t bits;
	struct addr a;
	unsigned max;

	if (!slash || !addr_parse(p, (size_t)(slash - p), &a))
		return false;
	max = a.family == AF_INET ? 32 : 128;
	if (!reader_decimal(slash + 1, n - (size_t)(slash + 1 - p), max, &bits))
		return false;
	for (unsigned i = (unsigned)bits; i < max; i++)
		a.bytes[i / 8] = (uint8_t)(a.bytes[i / 8] & ~(0x80u >> i % 8));
	*out = (struct cidr){ .addr = a, .bits = (uint8_t)bits };
	return true;
}

static bool read_bypass(const char *p, size_t n, struct bypass *out)
{
	struct target t = { .via = VIA_CONNECT };
	struct addr a;

	if (n == 1 && p[0] == '*') {
		out->kind = BYPASS_ALL;
		return true;
	}
	if (memchr(p, '/', n)) {
		out->kind = BYPASS_BLOCK;
		return read_block(p, n, &out->block);
	}
	if (n && p[0] == '*')
		p++, n--;
	if (n && p[0] == '.')
		p++, n--;
	if (addr_parse(p, n, &a))
		target_from_addr(&a, HTTP_PORT, &t);
	else if (target_parse_authority(p, n, HTTP_PORT, &t) != TARGET_OK)
		return false;
	out->kind = target_is_literal(&t) ? BYPASS_BLOCK : BYPASS_NAME;
	out->name = t.host;
	out->block = (struct cidr){ .addr = t.addr, .bits = t.addr.family == AF_INET ? 32 : 128 };
	return true;
}

static void read_no_proxy(struct upstreams *u, const char *list, upstream_note_cb *note, void *arg)
{
	static const char separators[] = ", \t";

	for (const char *p = list; *p;) {
		size_t n = strcspn(p, separators);
		struct bypass b = { .kind = BYPASS_ALL };

		if (n && read_bypass(p, n, &b)) {
			u->bypass = xreallocarray(u->bypass, u->nbypass + 1, sizeof(b));
			u->bypass[u->nbypass++] = b;
		} else if (n) {
			note(arg, "an entry of NO_PROXY is no host, address or block, and is "
				  "ignored");
		}
		p += n;
		p += strspn(p, separators);
	}
}

/* A variable by its lower-case name, else by its upper-case one; an empty one is none. */
static const char *variable(upstream_getenv *get, const char *lower, const char *upper)
{
	const char *value = get(lower);

	if (value && *value)
		return value;
	value = get(upper);
	return value && *value ? value : NULL;
}

static struct upstream *parent_from(upstream_getenv *get, const char *const names[2],
				    upstream_note_cb *note, void *arg)
{
	const char *value = variable(get, names[0], names[1]);
	struct upstream up;
	struct error err;

	if (!value)
		return NULL;
	if (upstream_parse(value, &up, &err) < 0) {
		CLEANUP_FREE char *text = xasprintf("%s is ignored: %s", names[1], err.msg);

		note(arg, text);
		return NULL;
	}
	return copy_of(&up);
}

struct upstreams *upstreams_env(upstream_getenv *get, upstream_note_cb *note, void *arg)
{
	static const char *const http[] = { "http_proxy", "HTTP_PROXY" };
	static const char *const https[] = { "https_proxy", "HTTPS_PROXY" };
	static const char *const all[] = { "all_proxy", "ALL_PROXY" };
	struct upstreams *u = xcalloc(1, sizeof(*u));
	CLEANUP_FREE struct upstream *common = parent_from(get, all, note, arg);
	const char *no_proxy = variable(get, "no_proxy", "NO_PROXY");

	u->plain = parent_from(get, http, note, arg);
	u->tunnel = parent_from(get, https, note, arg);
	if (!u->tunnel && (common || u->plain))
		u->tunnel = copy_of(common ? common : u->plain);
	if (!u->plain && common)
		u->plain = copy_of(common);
	if (!u->plain && !u->tunnel) {
		upstreams_free(u);
		return NULL;
	}
	if (no_proxy)
		read_no_proxy(u, no_proxy, note, arg);
	return u;
}

static bool passes_by(const struct bypass *b, const struct target *t)
{
	switch (b->kind) {
	case BYPASS_ALL:
		return true;
	case BYPASS_NAME:
		return !target_is_literal(t) && hostname_is_under(&t->host, b->name.s);
	case BYPASS_BLOCK:
		return target_is_literal(t) && cidr_contains(&b->block, &t->addr);
	}
	return false;
}

const struct upstream *upstreams_for(const struct upstreams *u, const struct target *t)
{
	if (!u)
		return NULL;
	if (target_is_literal(t) ? addr_classify(&t->addr) == ADDR_LOOPBACK
				 : hostname_is_local(&t->host))
		return NULL;
	for (size_t i = 0; i < u->nbypass; i++) {
		if (passes_by(&u->bypass[i], t))
			return NULL;
	}
	return t->via == VIA_HTTP ? u->plain : u->tunnel;
}

/* ---- the handshake */

static void say(struct upstream_talk *talk, const void *p, size_t n)
{
	if (n > sizeof(talk->say) - talk->say_n)
		abort(); /* UPSTREAM_SAY_MAX is wrong: our bug */
	memcpy(talk->say + talk->say_n, p, n);
	talk->say_n += n;
}

static void say_connect(struct upstream_talk *talk)
{
	char name[TARGET_TEXT_MAX];
	CLEANUP_FREE char *head = NULL;

	(void)target_format(talk->target, name);
	head = xasprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n", name, name,
			 talk->up->basic[0] ? "Proxy-Authorization: " : "", talk->up->basic,
			 talk->up->basic[0] ? "\r\n" : "");
	say(talk, head, strlen(head));
	explicit_bzero(head, strlen(head));
}

static void say_methods(struct upstream_talk *talk)
{
	static const uint8_t none[] = { 0x05, 1, 0x00 }, both[] = { 0x05, 2, 0x00, 0x02 };

	if (talk->up->user_n)
		say(talk, both, sizeof(both));
	else
		say(talk, none, sizeof(none));
}

static void say_credentials(struct upstream_talk *talk) /* RFC 1929 section 2 */
{
	const struct upstream *up = talk->up;

	say(talk, (const uint8_t[]){ 0x01, up->user_n }, 2);
	say(talk, up->user, up->user_n);
	say(talk, &up->password_n, 1);
	say(talk, up->password, up->password_n);
}

static void say_request(struct upstream_talk *talk) /* RFC 1928 section 4 */
{
	const struct target *t = talk->target;
	const uint8_t port[] = { (uint8_t)(t->port >> 8), (uint8_t)t->port };

	say(talk, (const uint8_t[]){ 0x05, 0x01, 0x00 }, 3);
	if (!target_is_literal(t)) {
		say(talk, (const uint8_t[]){ 0x03, t->host.len }, 2);
		say(talk, t->host.s, t->host.len);
	} else if (t->addr.family == AF_INET) {
		say(talk, (const uint8_t[]){ 0x01 }, 1);
		say(talk, t->addr.bytes, 4);
	} else {
		say(talk, (const uint8_t[]){ 0x04 }, 1);
		say(talk, t->addr.bytes, 16);
	}
	say(talk, port, sizeof(port));
}

void upstream_talk_start(struct upstream_talk *talk, const struct upstream *up,
			 const struct target *target)
{
	*talk = (struct upstream_talk){ .up = up, .target = target };
	if (up->scheme == UPSTREAM_HTTP) {
		talk->step = UPSTREAM_STEP_HEAD;
		say_connect(talk);
	} else {
		talk->step = UPSTREAM_STEP_METHOD;
		say_methods(talk);
	}
}

static enum parse bad(struct upstream_talk *talk, int error, unsigned status)
{
	talk->error = error;
	talk->status = status;
	return PARSE_BAD;
}

/* "HTTP/1.x DDD" and a blank or the end of the line. Return: the status, 0 if it is none. */
static unsigned http_status(const uint8_t *p, size_t n)
{
	unsigned status = 0;

	if (n < 13 || memcmp(p, "HTTP/1.", 7) != 0 || (p[7] != '0' && p[7] != '1') || p[8] != ' ')
		return 0;
	for (size_t i = 9; i < 12; i++) {
		if (p[i] < '0' || p[i] > '9')
			return 0;
		status = status * 10 + (unsigned)(p[i] - '0');
	}
	return p[12] == ' ' || p[12] == '\r' ? status : 0;
}

/* 4xx is the proxy's own no (403, 407); behind it something did not answer for the others. */
static int status_error(unsigned status)
{
	if (!status)
		return EPROTO;
	return status >= 400 && status <= 499 ? ECONNABORTED : ECONNREFUSED;
}

/* What comes before the answer itself (RFC 9110 section 15.2). 101 is an answer, to what nobody asked. */
static bool is_interim(unsigned status)
{
	return status >= 100 && status <= 199 && status != 101;
}

/* The bound is for all heads together: interim ones are passed over, and looked at again with more. */
static enum parse hear_head(struct upstream_talk *talk, const uint8_t *p, size_t n, size_t *used)
{
	size_t seen = n < UPSTREAM_HEAD_MAX ? n : UPSTREAM_HEAD_MAX, at = 0;
	unsigned status;

	do {
		size_t left = seen - at;
		const uint8_t *end = memmem(p + at, left, "\r\n\r\n", 4);

		if (left && memcmp(p + at, "HTTP/1.", left < 7 ? left : 7) != 0)
			return bad(talk, EPROTO, 0);
		if (!end)
			return seen == UPSTREAM_HEAD_MAX ? bad(talk, EPROTO, 0) : PARSE_MORE;
		status = http_status(p + at, (size_t)(end - p) - at + 2);
		at = (size_t)(end - p) + 4;
	} while (is_interim(status));
	if (status == 101)
		return bad(talk, EPROTO, 0);
	if (status < 200 || status > 299)
		return bad(talk, status_error(status), status);
	talk->step = UPSTREAM_STEP_THROUGH;
	*used = at;
	return PARSE_OK;
}

static enum parse hear_method(struct upstream_talk *talk, const uint8_t *p, size_t n, size_t *used)
{
	if (n >= 1 && p[0] != 0x05)
		return bad(talk, EPROTO, 0);
	if (n < 2)
		return PARSE_MORE;
	*used = 2;
	if (p[1] == 0x00) {
		talk->step = UPSTREAM_STEP_REPLY;
		say_request(talk);
		return PARSE_OK;
	}
	if (p[1] != 0x02 || !talk->up->user_n)
		return bad(talk, EACCES, p[1]);
	talk->step = UPSTREAM_STEP_AUTH;
	say_credentials(talk);
	return PARSE_OK;
}

static enum parse hear_auth(struct upstream_talk *talk, const uint8_t *p, size_t n, size_t *used)
{
	if (n >= 1 && p[0] != 0x01)
		return bad(talk, EPROTO, 0);
	if (n < 2)
		return PARSE_MORE;
	if (p[1] != 0)
		return bad(talk, EACCES, p[1]);
	*used = 2;
	talk->step = UPSTREAM_STEP_REPLY;
	say_request(talk);
	return PARSE_OK;
}

static int reply_errno(uint8_t rep)
{
	switch (rep) {
	case 0x03:
		return ENETUNREACH;
	case 0x04:
		return EHOSTUNREACH;
	case 0x05:
		return ECONNREFUSED;
	default:
		return EACCES;
	}
}

/* Version, reply, a reserved byte, and an address that does not matter but must be read away. */
static enum parse hear_reply(struct upstream_talk *talk, const uint8_t *p, size_t n, size_t *used)
{
	size_t want;

	if (n >= 1 && p[0] != 0x05)
		return bad(talk, EPROTO, 0);
	if (n >= 2 && p[1] != 0)
		return bad(talk, reply_errno(p[1]), p[1]);
	if (n >= 3 && p[2] != 0)
		return bad(talk, EPROTO, 0);
	if (n < 5)
		return PARSE_MORE;
	switch (p[3]) {
	case 0x01:
		want = 4 + 4 + 2;
		break;
	case 0x03:
		want = 4 + 1 + (size_t)p[4] + 2;
		break;
	case 0x04:
		want = 4 + 16 + 2;
		break;
	default:
		return bad(talk, EPROTO, 0);
	}
	if (n < want)
		return PARSE_MORE;
	talk->step = UPSTREAM_STEP_THROUGH;
	*used = want;
	return PARSE_OK;
}

enum parse upstream_talk_hear(struct upstream_talk *talk, const uint8_t *p, size_t n, size_t *used)
{
	switch (talk->step) {
	case UPSTREAM_STEP_HEAD:
		return hear_head(talk, p, n, used);
	case UPSTREAM_STEP_METHOD:
		return hear_method(talk, p, n, used);
	case UPSTREAM_STEP_AUTH:
		return hear_auth(talk, p, n, used);
	case UPSTREAM_STEP_REPLY:
		return hear_reply(talk, p, n, used);
	case UPSTREAM_STEP_THROUGH:
		break;
	}
	*used = 0;
	return PARSE_OK;
}
