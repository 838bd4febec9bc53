/*
 * host_vectors.h - hosts as a client may write them, for the tests of every way in
 *
 * The ids name the rows of the vector list. A host is bytes with a length; the port comes apart.
 */
#ifndef TESTS_SUPPORT_HOST_VECTORS_H
#define TESTS_SUPPORT_HOST_VECTORS_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct host_vector - one host
 * @id: row of the list
 * @s, @n: the bytes
 * @canonical: what it means, NULL for "refuse it"
 * @in_url: false where a URL ends the host before all of @s (then the rest is path)
 * @in_authority: false where "host:port" cannot carry it (a bare IPv6 address)
 */
struct host_vector {
	const char *id;
	const char *s;
	size_t n;
	const char *canonical;
	bool in_url;
	bool in_authority;
};

#define HOST(id, s, canonical)                              \
	{                                                   \
		id, s, sizeof(s) - 1, canonical, true, true \
	}
#define HOST_NOT_URL(id, s, canonical)                       \
	{                                                    \
		id, s, sizeof(s) - 1, canonical, false, true \
	}
#define HOST_APART(id, s, canonical)                          \
	{                                                     \
		id, s, sizeof(s) - 1, canonical, false, false \
	}

#define LABEL_63 "a23456789012345678901234567890123456789012345678901234567890123"
#define LABEL_61 "a234567890123456789012345678901234567890123456789012345678901"
#define NAME_253 LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_61

static const struct host_vector host_vectors[] = {
	HOST("H-001", "evil.test\0.wild.example", NULL),
	HOST("H-002", "good.example\0evil", NULL),
	HOST("H-002", "\0good.example", NULL),
	HOST("H-002", "good.example\0", NULL),
	HOST("H-002", "\0", NULL),
	HOST("H-004", "good.example\0.evil.test", NULL),
	HOST("H-007", "good.example%00.evil.test", NULL),
	HOST("H-007", "evil%2etest", NULL),
	HOST("H-007", "%67ood.example", NULL),
	HOST("H-009", "good.examp\xc2\xadle", NULL),
	HOST("H-009", "good\xe2\x80\x8b.example", NULL),
	HOST("H-009", "\xef\xbb\xbfgood.example", NULL),
	HOST("H-010", "\xef\xac\x81le.example", NULL),
	HOST("H-010", "\xe2\x93\x96ood.example", NULL),
	HOST("H-011", "xn--gd-9bb.example", "xn--gd-9bb.example"),
	HOST("H-012", "xn--", NULL),
	HOST("H-012", "xn--\x80", NULL),
	HOST("H-012", "xn--a", "xn--a"),
	HOST("H-014", "GOOD.EXAMPLE", "good.example"),
	HOST("H-014", "gOoD.eXaMpLe", "good.example"),
	HOST("H-015", "WILD.INI.EXAMPLE", "wild.ini.example"),
	HOST("H-016", "good.example", "good.example"),
	HOST("H-016", "good.example.", "good.example"),
	HOST("H-016", "good.example..", NULL),
	HOST("H-017", "BAD.wild.EXAMPLE.", "bad.wild.example"),
	HOST("H-019", " good.example", NULL),
	HOST("H-019", "good.example ", NULL),
	HOST("H-019", "good.example\t", NULL),
	HOST("H-019", "good.example\r", NULL),
	HOST("H-020", "good.example@evil.test", NULL),
	HOST("H-020", "good.example:443@evil.test", NULL),
	HOST("H-020", "evil.test@good.example", NULL),
	HOST_NOT_URL("H-021", "evil.test/.wild.example", NULL),
	HOST_NOT_URL("H-021", "evil.test?.wild.example", NULL),
	HOST("H-021", "evil.test#.wild.example", NULL),
	HOST("H-021", "evil.test\\.wild.example", NULL),
	HOST("H-021", "evil.test;.wild.example", NULL),
	HOST("H-022", "evil.test:80.wild.example", NULL),
	HOST("H-022", "good.example:443:80", NULL),
	HOST("H-024", LABEL_63 ".example", LABEL_63 ".example"),
	HOST("H-024", LABEL_63 "4.example", NULL),
	HOST("H-025", NAME_253, NAME_253),
	HOST("H-025", NAME_253 ".", NAME_253),
	HOST("H-025", "b" NAME_253, NULL),
	HOST("H-025", "ab" NAME_253, NULL),
	HOST("H-027", "", NULL),
	HOST("H-027", ".", NULL),
	HOST("H-029", "-", NULL),
	HOST("H-029", "-a.wild.example", NULL),
	HOST("H-029", "a-.wild.example", NULL),
	HOST("H-030", "_dmarc.wild.example", "_dmarc.wild.example"),
	HOST("H-030", "foo_bar.wild.example", "foo_bar.wild.example"),
	HOST("H-031", "\x1b[2Jx.example", NULL),
	HOST("H-031", "x\n.example", NULL),
	HOST("H-031", "%n%s.example", NULL),
	HOST("H-044", ".wild.example", NULL),
	HOST("H-044", "..wild.example", NULL),
	HOST("H-044", "*.wild.example", NULL),
	HOST("A-001", "127.0.0.1", "127.0.0.1"),
	HOST("A-002", "0", NULL),
	HOST("A-029", "2130706433", NULL),
	HOST("A-029", "0x7f.1", NULL),
	HOST("A-029", "127.1", NULL),
	HOST("A-015", "[fe80::1%lo]", NULL),
	HOST("A-015", "[fe80::1%25eth0]", NULL),
	HOST("A-029", "0251.0376.0251.0376", NULL),
	HOST("A-029", "0xa9fea9fe", NULL),
	HOST("A-030", "0177.0.0.1", NULL),
	HOST("A-031", "+1.2.3.4", NULL),
	HOST("A-031", "01.2.3.4", NULL),
	HOST("A-031", "[::ffff:01.2.3.4]", NULL),
	HOST("A-031", "1.2.3.4", "1.2.3.4"),
	HOST("A-032", "1.2.3.4 x", NULL),
	HOST("A-034", "127.0.0.1.", NULL),
	HOST("A-035",
	     "127\xe3\x80\x82"
	     "0\xe3\x80\x82"
	     "0\xe3\x80\x82"
	     "1",
	     NULL),
	HOST("A-036", "a.b.c.0x7f", NULL),
	HOST("A-036", "foo.1", NULL),
	HOST("A-037", "[::1]", "::1"),
	HOST_APART("A-037", "::1", "::1"),
	HOST("A-039", "[2001:DB8:0:0::1]", "2001:db8::1"),
	HOST("A-039", "[2001:db8::1", NULL),
	HOST("A-039", "[2001:db8::1]x", NULL),
};

#define HOST_VECTORS (sizeof(host_vectors) / sizeof(host_vectors[0]))

#endif
