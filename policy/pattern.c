#include "policy/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/reader.h"

/* Longer than any entry that parses; what is longer is cut in the message. */
#define SHOWN_MAX 300

/* A piece of the entry's text. */
struct span {
	const char *p;
	size_t n;
};

static bool has(struct span s, char c)
{
	return s.n && memchr(s.p, c, s.n);
}

static bool starts(struct span s, const char *with)
{
	size_t n = strlen(with);

	return s.n >= n && !memcmp(s.p, with, n);
}

static struct span skip(struct span s, size_t n)
{
	return (struct span){ s.p + n, s.n - n };
}

static struct span upto(struct span s, const char *stops)
{
	size_t n = 0;

	while (n < s.n && !strchr(stops, s.p[n]))
		n++;
	return (struct span){ s.p, n };
}

static int bad(struct error *err, struct span s, const char *why)
{
	char shown[SHOWN_MAX];

	return error_set(err, 0, "\"%s\": %s", log_escape(shown, sizeof(shown), s.p, s.n), why);
}

/* As bad(), with the part of the entry that would have been right. */
static int bad_write(struct error *err, struct span s, const char *why, const char *prefix,
		     struct span instead)
{
	char shown[SHOWN_MAX], right[SHOWN_MAX];

	return error_set(err, 0, "\"%s\": %s; write \"%s%s\"",
			 log_escape(shown, sizeof(shown), s.p, s.n), why, prefix,
			 log_escape(right, sizeof(right), instead.p, instead.n));
}

static int compare_ranges(const void *a, const void *b)
{
	const struct port_range *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->hi < y->hi ? -1 : x->hi > y->hi;
}

static void merge_ranges(struct pattern *p)
{
	size_t n = 0;

	qsort(p->ports, p->nports, sizeof(p->ports[0]), compare_ranges);
	for (size_t i = 0; i < p->nports; i++) {
		struct port_range r = p->ports[i];

		if (n && r.lo <= p->ports[n - 1].hi + 1u) {
			if (r.hi > p->ports[n - 1].hi)
				p->ports[n - 1].hi = r.hi;
		} else {
			p->ports[n++] = r;
		}
	}
	for (size_t i = n; i < p->nports; i++)
		p->ports[i] = (struct port_range){ 0, 0 };
	p->nports = (uint8_t)n;
}

static bool parse_port(struct span s, uint16_t *out)
{
	uint64_t v;

	if (!reader_decimal(s.p, s.n, UINT16_MAX, &v) || v == 0)
		return false;
	*out = (uint16_t)v;
	return true;
}

static bool parse_range(struct span s, struct port_range *out)
{
	struct span lo = upto(s, "-");

	if (!parse_port(lo, &out->lo))
		return false;
	if (lo.n == s.n) {
		out->hi = out->lo;
		return true;
	}
	return parse_port(skip(s, lo.n + 1), &out->hi) && out->lo <= out->hi;
}

static int parse_ports(struct span all, struct span s, struct pattern *p, struct error *err)
{
	if (s.n == 1 && s.p[0] == '*')
		return bad_write(err, all, "no port is every port", "",
				 (struct span){ all.p, all.n - 2 });
	for (;;) {
		struct span one = upto(s, ",");

		if (p->nports == PATTERN_PORTS_MAX)
			return bad(err, all, "more than 16 ports or ranges in one entry; split it");
		if (!parse_range(one, &p->ports[p->nports]))
			return bad(err, all,
				   "bad port: ports are 443, 8000-8100 or 80,443, from 1 to 65535");
		p->nports++;
		if (one.n == s.n)
			break;
		s = skip(s, one.n + 1);
	}
	merge_ranges(p);
	return 0;
}

/* "10.0.0.5/8" is not a block; the block that was meant is 10.0.0.0/8. */
static int bad_cidr(struct span all, struct span s, struct error *err)
{
	size_t slash = upto(s, "/").n;
	struct span host = { s.p, slash };
	struct cidr c = { 0 };
	char text[ADDR_TEXT_MAX], right[ADDR_TEXT_MAX + 8];
	bool v6;
	uint64_t bits;
	int n;

	if (starts(host, "["))
		host = (struct span){ s.p + 1, slash > 1 ? slash - 2 : 0 };
	v6 = has(host, ':');
	if (!addr_parse(host.p, host.n, &c.addr) ||
	    !reader_decimal(s.p + slash + 1, s.n - slash - 1, v6 ? 128 : 32, &bits))
		return bad(err, all, "not a block of addresses; write 10.0.0.0/8 or [fd00::]/8");
	for (size_t i = 0; i < 128; i++)
		if (i >= bits)
			c.addr.bytes[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
	n = snprintf(right, sizeof(right), "%s%s%s/%u", v6 ? "[" : "", addr_format(&c.addr, text),
		     v6 ? "]" : "", (unsigned)bits);
	return bad_write(err, all, "the address has bits behind the prefix", "",
			 (struct span){ right, n > 0 ? (size_t)n : 0 });
}

static void set_addr(struct pattern *p, const struct addr *a)
{
	/* ::ffff:1.2.3.4 is 1.2.3.4: matching compares it so */
	p->kind = PATTERN_ADDR;
	p->cidr.addr = addr_unmapped(a);
	p->cidr.bits = p->cidr.addr.family == AF_INET ? 32 : 128;
}

static int bad_bracket(struct span all, struct error *err)
{
	if (has(all, '%'))
		return bad(err, all,
			   "an address with a zone (%) cannot be reached; write it without");
	return bad(err, all,
		   "not an IPv6 address in brackets; write [2001:db8::1] or [2001:db8::1]:443");
}

/* "[...]" with "/bits" or ":ports" behind it */
static int parse_bracket(struct span all, struct pattern *p, struct error *err)
{
	const char *close = memchr(all.p, ']', all.n);
	struct span rest;
	struct addr a;

	if (!close || !addr_parse(all.p + 1, (size_t)(close - all.p) - 1, &a) ||
	    a.family != AF_INET6)
		return bad_bracket(all, err);
	rest = skip(all, (size_t)(close - all.p) + 1);
	set_addr(p, &a);
	if (starts(rest, "/")) {
		struct span ports = rest;
		size_t n = upto(rest, ":").n;
		struct span block = { all.p, all.n - rest.n + n };

		ports = skip(rest, n);
		p->kind = PATTERN_CIDR;
		if (!cidr_parse(block.p, block.n, &p->cidr))
			return bad_cidr(all, block, err);
		rest = ports;
	}
	if (!rest.n)
		return 0;
	if (rest.p[0] != ':')
		return bad_bracket(all, err);
	return parse_ports(all, skip(rest, 1), p, err);
}

/* "a/b" where a looks like an address: a block; its ports come after the bits */
static int parse_block(struct span all, size_t slash, struct pattern *p, struct error *err)
{
	struct span bits = upto(skip(all, slash), ":");
	struct span block = { all.p, slash + bits.n };

	p->kind = PATTERN_CIDR;
	if (!cidr_parse(block.p, block.n, &p->cidr))
		return bad_cidr(all, block, err);
	if (block.n == all.n)
		return 0;
	return parse_ports(all, skip(all, block.n + 1), p, err);
}

static bool looks_like_addr(struct span s)
{
	bool digit = false;

	for (size_t i = 0; i < s.n; i++) {
		if (!strchr("0123456789abcdefABCDEF.:", s.p[i]) || !s.p[i])
			return false;
		digit |= s.p[i] >= '0' && s.p[i] <= '9';
	}
	return s.n && (digit || has(s, ':')) && (has(s, '.') || has(s, ':'));
}

static int bad_name(struct span all, struct span name, struct error *err)
{
	struct span last = name;

	if (has(name, '*'))
		return bad(err, all,
			   "a wildcard stands alone or as the first label: *.example.com, not in "
			   "between");
	if (name.n > HOSTNAME_MAX + 1)
		return bad(err, all, "longer than any host name (253 bytes)");
	while (has(last, '.') && last.p[last.n - 1] != '.')
		last = skip(last, upto(last, ".").n + 1);
	if (last.n && last.p[0] >= '0' && last.p[0] <= '9')
		return bad(err, all,
			   "ends in a number, so it is neither a name nor an address; write four "
			   "decimal "
			   "numbers: 192.0.2.1");
	return bad(
		err, all,
		"not a host name: labels of letters, digits, - and _, 1 to 63 bytes, no hyphen at "
		"either end");
}

static int parse_name(struct span all, struct pattern *p, struct error *err)
{
	struct span name = upto(all, ":");
	struct span rest = skip(all, name.n);
	struct addr a;

	p->kind = PATTERN_HOST;
	if (name.n == 1 && name.p[0] == '*') {
		p->kind = PATTERN_ANY;
		return rest.n ? parse_ports(all, skip(rest, 1), p, err) : 0;
	}
	if (starts(name, "."))
		return bad_write(err, all, "begins with a dot", "*", name);
	if (starts(name, "**.")) {
		p->kind = PATTERN_TREE;
		name = skip(name, 3);
	} else if (starts(name, "*.")) {
		p->kind = PATTERN_BELOW;
		name = skip(name, 2);
	}
	switch (hostname_parse(name.p, name.n, &p->host, &a)) {
	case HOSTNAME_BAD:
		return bad_name(all, name, err);
	case HOSTNAME_ADDR:
		if (p->kind != PATTERN_HOST)
			return bad(
				err, all,
				"a wildcard never matches an address; write a block: 192.0.2.0/24");
		p->host = (struct hostname){ 0 };
		set_addr(p, &a);
		break;
	case HOSTNAME_NAME:
		break;
	}
	return rest.n ? parse_ports(all, skip(rest, 1), p, err) : 0;
}

/* What people paste: URLs, user names, paths, blanks, other alphabets. */
static int check_text(struct span s, struct error *err)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c >= 0x80)
			return bad(err, s,
				   "not ASCII; write an international name in its xn-- form "
				   "(xn--mnchen-3ya.de)");
		if (c <= ' ' || c == 0x7f)
			return bad(err, s, "has a blank or a control byte; one entry is one host");
	}
	return 0;
}

/* "git@github.com:user/project.git" is how git writes ssh. */
static int bad_ssh(struct span s, struct span host, struct error *err)
{
	char text[HOSTNAME_MAX + 8];
	int n = snprintf(text, sizeof(text), "%.*s:22", (int)host.n, host.p);

	if (host.n > HOSTNAME_MAX || n < 0)
		return bad(err, s, "a user name cannot be matched");
	return bad_write(err, s, "an ssh address of git, where a host is wanted", "",
			 (struct span){ text, (size_t)n });
}

static bool is_digit(struct span s)
{
	return s.n && s.p[0] >= '0' && s.p[0] <= '9';
}

/* The host inside "https://user@host:443/path". */
static int bad_url(struct span s, struct error *err)
{
	size_t scheme = 0;
	struct span host;

	for (size_t i = 0; i + 3 <= s.n && !scheme; i++)
		if (!memcmp(s.p + i, "://", 3))
			scheme = i + 3;
	host = upto(skip(s, scheme), "/?#\\");
	if (has(host, '@'))
		host = skip(host, upto(host, "@").n + 1);
	if (!scheme && has(s, '@') && has(host, ':') &&
	    !is_digit(skip(host, upto(host, ":").n + 1)))
		return bad_ssh(s, upto(host, ":"), err);
	if (scheme)
		return bad_write(err, s, "a URL, where a host is wanted", "", host);
	if (has(s, '@'))
		return bad_write(err, s, "a user name cannot be matched", "", host);
	return bad_write(err, s, "a path cannot be matched", "", host);
}

/* What stands before the last colon, if ports may be behind it; all of it if not. */
static struct span span_without_ports(struct span s)
{
	const char *colon = memrchr(s.p, ':', s.n);
	struct span ports = skip(s, colon ? (size_t)(colon - s.p) + 1 : s.n);

	for (size_t i = 0; i < ports.n; i++)
		if (!ports.p[i] || !strchr("0123456789,-", ports.p[i]))
			return s;
	if (!ports.n)
		return s;
	return (struct span){ s.p, (size_t)(colon - s.p) };
}

/*
 * An IPv6 address without brackets, or what was meant to be one. In ::1:443 the number may be the
 * port, and nearly always is; it may be the end of the address, too.
 */
static int bad_v6(struct span s, struct error *err)
{
	struct span before = span_without_ports(s);
	char shown[SHOWN_MAX], ports[SHOWN_MAX];
	bool whole, host;
	struct addr a, h;

	log_escape(shown, sizeof(shown), s.p, s.n);
	log_escape(ports, sizeof(ports), s.p + before.n, s.n - before.n);
	whole = addr_parse(s.p, s.n, &a) && a.family == AF_INET6;
	host = before.n < s.n && addr_parse(before.p, before.n, &h) && h.family == AF_INET6;
	if (host && whole)
		return error_set(err, 0,
				 "\"%s\": an IPv6 address needs brackets; write \"[%.*s]%s\", or "
				 "\"[%s]\" if all of it is the address",
				 shown, (int)before.n, before.p, ports, shown);
	if (host)
		return error_set(err, 0,
				 "\"%s\": an IPv6 address needs brackets; write \"[%.*s]%s\"",
				 shown, (int)before.n, before.p, ports);
	if (whole)
		return error_set(err, 0, "\"%s\": an IPv6 address needs brackets; write \"[%s]\"",
				 shown, shown);
	return bad(err, s, "an IPv6 address needs brackets; write [2001:db8::1]:443");
}

static int parse_any(struct span s, struct pattern *p, struct error *err)
{
	struct span host;

	if (!s.n)
		return error_set(err, 0, "an empty entry");
	if (check_text(s, err))
		return -1;
	if (s.p[0] == '[')
		return parse_bracket(s, p, err);
	host = upto(s, "/");
	if (host.n < s.n && looks_like_addr(host))
		return parse_block(s, host.n, p, err);
	if (upto(s, "/@?#\\").n < s.n)
		return bad_url(s, err);
	if (has(s, '%'))
		return bad(err, s, "percent signs are never decoded; write the plain host");
	if (has(upto(s, ":"), ','))
		return bad(err, s, "one entry is one host; repeat the option for each");
	if (has(s, ':') && has(skip(s, upto(s, ":").n + 1), ':') &&
	    looks_like_addr((struct span){ s.p, span_without_ports(s).n }))
		return bad_v6(s, err);
	return parse_name(s, p, err);
}

int pattern_parse(const char *text, size_t len, struct pattern *out, struct error *err)
{
	struct pattern p = { .kind = PATTERN_HOST };
	struct addr a;

	/* Nearly every entry of a long list is a plain name: try that first. */
	if (hostname_parse(text, len, &p.host, &a) != HOSTNAME_NAME) {
		p.host = (struct hostname){ 0 };
		if (parse_any((struct span){ text, len }, &p, err))
			return -1;
	}
	*out = p;
	return 0;
}

static size_t put(char *out, size_t at, const char *text)
{
	size_t n = strlen(text);

	memcpy(out + at, text, n + 1);
	return at + n;
}

static size_t put_host(const struct pattern *p, char *out)
{
	static const char *const stars[PATTERN_NUM_KINDS] = {
		[PATTERN_HOST] = "", [PATTERN_BELOW] = "*.", [PATTERN_TREE] = "**.",
		[PATTERN_ANY] = "*", [PATTERN_ADDR] = "",    [PATTERN_CIDR] = "",
	};
	bool v6 = p->cidr.addr.family == AF_INET6;
	char text[ADDR_TEXT_MAX];
	size_t n = put(out, 0, stars[p->kind]);

	n = put(out, n, p->host.s);
	if (p->cidr.addr.family == AF_UNSPEC)
		return n;
	n = put(out, n, v6 ? "[" : "");
	n = put(out, n, addr_format(&p->cidr.addr, text));
	n = put(out, n, v6 ? "]" : "");
	if (p->kind == PATTERN_CIDR) {
		(void)snprintf(text, sizeof(text), "/%u", (unsigned)p->cidr.bits);
		n = put(out, n, text);
	}
	return n;
}

const char *pattern_format(const struct pattern *p, char out[PATTERN_TEXT_MAX])
{
	size_t n = put_host(p, out);

	for (size_t i = 0; i < p->nports; i++) {
		const struct port_range *r = &p->ports[i];
		char text[16];

		(void)snprintf(text, sizeof(text), "%c%u", i ? ',' : ':', (unsigned)r->lo);
		n = put(out, n, text);
		if (r->lo == r->hi)
			continue;
		(void)snprintf(text, sizeof(text), "-%u", (unsigned)r->hi);
		n = put(out, n, text);
	}
	return out;
}

/* Second-level registries under country codes where anybody may register. */
static bool is_open_second_level(const char *s, size_t n)
{
	static const char *const label[] = { "co", "com", "net", "org", "ne", "or", "nom", "me" };

	for (size_t i = 0; i < ARRAY_SIZE(label); i++)
		if (strlen(label[i]) == n && !memcmp(label[i], s, n))
			return true;
	return false;
}

/* RFC 6761, 6762, 7686, 8375, 9476; .internal (ICANN 2024); never delegated: corp, home, lan ... */
static bool is_private_tld(const char *s)
{
	static const char *const tld[] = {
		"local",   "localhost", "internal", "intranet", "lan",	 "home", "corp",
		"private", "test",	"example",  "invalid",	"onion", "alt",	 "localdomain",
		"cluster", "svc",	"docker",   "consul",	"mail",
	};

	for (size_t i = 0; i < ARRAY_SIZE(tld); i++)
		if (!strcmp(tld[i], s))
			return true;
	return false;
}

bool pattern_is_too_wide(const struct pattern *p)
{
	const char *dot, *tld;

	if (p->kind != PATTERN_BELOW && p->kind != PATTERN_TREE)
		return false;
	dot = strchr(p->host.s, '.');
	tld = dot ? dot + 1 : p->host.s;
	if (!dot)
		return !is_private_tld(tld);
	return strlen(tld) == 2 && is_open_second_level(p->host.s, (size_t)(dot - p->host.s));
}

bool pattern_is_name(const struct pattern *p)
{
	switch (p->kind) {
	case PATTERN_HOST:
	case PATTERN_BELOW:
	case PATTERN_TREE:
	case PATTERN_ANY:
		return true;
	case PATTERN_ADDR:
	case PATTERN_CIDR:
	case PATTERN_NUM_KINDS:
		break;
	}
	return false;
}

bool pattern_has_port(const struct pattern *p, uint16_t port)
{
	for (size_t i = 0; i < p->nports; i++)
		if (port >= p->ports[i].lo && port <= p->ports[i].hi)
			return true;
	return p->nports == 0;
}
