"""Host and port vectors, by their ids, for every way in.

BAD: not a canonical host; DENY: canonical but refused; OK: reaches the origin.
The list of allowed hosts is ALLOW below. Hosts are bytes, as they are sent.
"""
import ipaddress

BAD, DENY, EITHER, OK = "bad", "deny", "bad or deny", "ok"
ALLOW = ["-a", "good.example", "-a", "*.wild.example", "-d", "bad.wild.example"]


def hosts():
    """(id, host, expectation, ways): ways is a set of way names, or None for all."""
    out = []

    def add(ident, want, *names, ways=None):
        for n, name in enumerate(names):
            raw = name if isinstance(name, bytes) else name.encode("utf-8")
            out.append(("%s.%d" % (ident, n), raw, want, ways))
    http = {"connect", "http"}
    socks = {"socks5", "socks4a"}
    length = {"connect", "http", "socks5"}  # SOCKS4a ends a name with NUL
    add("H-001", BAD, b"evil.test\0.wild.example", ways=length)
    add("H-002", BAD, b"good.example\0evil", b"\0good.example", b"good.example\0", b"\0",
        ways=length)
    for byte in list(range(1, 0x21)) + [0x7f]:
        add("H-005-%02x" % byte, BAD, b"good" + bytes([byte]) + b".example",
            b"good.example" + bytes([byte]), bytes([byte]) + b"good.example")
    for byte in range(0x80, 0x100):
        add("H-006-%02x" % byte, BAD, b"go" + bytes([byte]) + b"d.example")
    add("H-006", BAD, "g\u00f6od.example", b"good\xc0\x80.example", b"\xff\xfe.wild.example")
    add("H-007", BAD, "good.example%00.evil.test", "evil%2etest", "%67ood.example",
        "good.example%2e", "good%2Eexample")
    add("H-009", BAD, *("good.exam%sple" % c for c in "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
    add("H-010", BAD, "\ufb01le.wild.example", "\u24d6ood.example", "\u212aood.wild.example",
        "\u017f.wild.example", "\u0131.wild.example", "\u00df.wild.example", "good\u3002example",
        "good\uff0eexample")
    add("H-011", DENY, "xn--gd-9bb.example")
    add("H-012", EITHER, "xn--.example", "xn--a.example", "xn--good-.example", b"xn--\x80.example")
    add("H-016", DENY, "evil.test.", "EVIL.test")
    add("H-017", DENY, "bad.wild.example.", "BAD.wild.EXAMPLE.", "bad.wild.example")
    add("H-019", BAD, " good.example", "good.example ", "\tgood.example", "good.example\r")
    add("H-020", BAD, "good.example@evil.test", "good.example:443@evil.test",
        "evil.test@good.example", "u:p@good.example")
    for mark in "/#?":
        add("H-021", EITHER, "evil.test%s.wild.example" % mark, "evil.test:80%s.wild.example" % mark)
    for mark in "\\;,!$&'()*+=~|^`{}<>\"":
        add("H-021", BAD, "evil.test%s.wild.example" % mark, "good.example%s" % mark)
    add("H-022", BAD, "evil.test:80.wild.example", "good.example:443:80", "good.example:80:")
    add("H-024", BAD, "a" * 64 + ".wild.example", "a" * 64)
    add("H-024", DENY, "a" * 63 + ".evil.test")
    long253 = ".".join(["a" * 60] * 3 + ["b" * 57, "evil.test"]) + "." + "c" * 2
    assert len(long253) == 253
    add("H-025", DENY, long253, long253[:252] + ".")
    add("H-025", BAD, long253 + "d", "a" + long253 + "d")
    add("H-025", BAD, "x" * 256 + ".wild.example", ".".join(["a" * 50] * 40) + ".wild.example",
        ways=http)
    add("H-027", BAD, "", ways=length | {"socks4a"})
    add("H-027", BAD, ".", "..")
    add("H-029", BAD, "-a.wild.example", "a-.wild.example", "-", "--")
    add("H-041", DENY, "wild.example")
    add("H-042", DENY, "evilwild.example", "wild.example.evil.test", "xwild.example",
        "wild.exampleevil")
    add("H-044", BAD, ".wild.example", "..wild.example", "*.wild.example", "a..wild.example",
        "good.example..")
    add("A-001", DENY, "127.0.0.1", "127.0.0.2", "127.255.255.254")
    add("A-002", DENY, "0.0.0.0")
    add("A-002", BAD, "0")
    for ident, texts in (
            ("A-004", ("::1", "0:0:0:0:0:0:0:1", "::0.0.0.1", "::")),
            ("A-005", ("::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:127.9.9.9",
                       "::ffff:0.0.0.0")),
            ("A-007", ("::127.0.0.1",)),
            ("A-009", ("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::a00:1")),
            ("A-010", ("64:ff9b:1::1", "64:ff9b:1:ffff::a00:1")),
            ("A-012", ("2002:7f00:1::", "2002:a9fe:a9fe::1")),
            ("A-014", ("fe80::5efe:7f00:1", "2001:db8::5efe:a00:1")),
            ("A-015", ("fe80::1",)),
            ("A-016", ("fec0::1", "feff::1", "fc00::1", "fdff::1")),
            ("A-017", ("ff02::1", "ff0e::1")),
            ("A-021", ("fd00:ec2::254", "fd00:ec2::253", "fd00:ec2::23", "fd20:ce::254",
                       "fe80::a9fe:a9fe", "fd00:42::42", "fd00:c1::a9fe:a9fe",
                       "fd00:a9fe:a9fe::1", "fd00:100::100:200")),
            ("A-024", ("2001:db8::1", "2001:DB8:0:0::1", "100::1", "3fff::1", "5f00::1"))):
        for text in texts:
            add(ident, DENY, "[%s]" % text, ways=http)
            add(ident, DENY, text, ways=socks)
            add(ident, BAD, text, ways={"connect"})
    for text in ("fe80::1%eth0", "fe80::1%25eth0", "fe80::1%1", "::1%1", "::1%lo"):
        add("A-015", BAD, "[%s]" % text, text)
    add("A-015", BAD, "[::1", "::1]", "[]", "[::1]x", "[[::1]]", "[127.0.0.1]", "[good.example]",
        "[::1].wild.example", "[::ffff:01.2.3.4]", "[v1.x]")
    add("A-017", DENY, "224.0.0.1", "239.255.255.250", "255.255.255.255", "240.0.0.1", "0.1.2.3")
    add("A-019", DENY, "100.64.0.1", "100.127.255.255")
    add("A-020", DENY, "169.254.0.1", "169.254.169.254", "169.254.170.2", "169.254.170.23",
        "169.254.169.253", "169.254.169.123")
    add("A-022", DENY, "100.100.100.200", "168.63.129.16", "192.0.0.192", "169.254.42.42",
        "169.254.0.23", "169.254.10.10")
    add("A-024", DENY, "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
        "192.88.99.1")
    add("A-026", DENY, "45.33.32.2", "172.17.0.1", "10.0.2.2", "10.0.2.3", "192.168.1.1")
    add("A-026", DENY, "host.docker.internal", "host.containers.internal")
    add("A-029", BAD, "0251.0376.0251.0376", "2852039166", "0xa9fea9fe", "169.254.43518",
        "2130706433", "0x7f000001", "0x7f.1", "127.1", "127.0.1", "0x7f.0.0.1", "017700000001")
    add("A-030", BAD, "0177.0.0.1", "127.0.0.01")
    add("A-031", BAD, "+1.2.3.4", "01.2.3.4", "1.2.3.04")
    add("A-032", BAD, "1.2.3.4 x", "1.2.3.4 ")
    add("A-034", BAD, "127.0.0.1.", "1.2.3.4.")
    add("A-035", BAD, "\u2460\u2461\u2466.\u24ea.\u24ea.\u2460", "127\u30020\u30020\u30021")
    add("A-036", BAD, "a.b.c.0x7f", "foo.1", "good.example.1", "1.2.3.4.5", "1.2.3.256",
        "wild.example.0x")
    add("A-037", DENY, "::1", ways=socks)
    add("A-037", EITHER, "[::1]", ways=socks)
    add("S-024", BAD, "good.example:80", ways=socks)
    add("S-024", BAD, "[51.15.10.1]", ways=socks)
    add("D-012", DENY, "localhost", "LOCALHOST.", "x.localhost", "ip6-localhost")
    # the positive twins
    add("H-014", OK, "good.example", "GOOD.EXAMPLE", "gOoD.eXaMpLe")
    add("H-015", OK, "I.WILD.EXAMPLE")
    add("H-016", OK, "good.example.", "GOOD.example.")
    add("H-030", OK, "_dmarc.wild.example", "foo_bar.wild.example")
    add("H-047", OK, "x.bad.wild.example")  # as decided: the denied name is its own
    add("H-040", OK, "a.wild.example", "a.b.c.wild.example")
    return out


# what a refused literal is, where "*" allows what is public
CLASSES = {
    "A-001": {"loopback"}, "A-002": {"loopback"}, "A-004": {"loopback"}, "A-005": {"loopback"},
    "A-007": {"loopback"}, "A-009": {"loopback", "metadata", "private"},
    "A-010": {"special", "private"}, "A-012": {"loopback", "metadata"},
    "A-014": {"link-local", "special", "private"}, "A-015": {"link-local"},
    "A-016": {"private", "special"}, "A-017": {"special", "loopback"}, "A-019": {"private"},
    "A-020": {"link-local", "metadata"}, "A-021": {"metadata"}, "A-022": {"metadata"},
    "A-024": {"special"}, "A-026": {"own-address", "private"},
}


def literals():
    """(id, text without brackets, codes): the addresses among hosts() that are refused."""
    seen = set()
    for ident, host, want, _ in hosts():
        text, row = host.decode("latin1").strip("[]"), ident.partition(".")[0]
        if want != DENY or row not in CLASSES or text in seen:
            continue
        try:
            ipaddress.ip_address(text)
        except ValueError:
            continue
        seen.add(text)
        yield ident, text, CLASSES[row]


# (id, text of the port, expectation) for the ways where a port is text
PORTS_TEXT = [("T-001", b"0", BAD), ("T-001.1", b"00", BAD), ("T-002", b"65536", BAD),
              ("T-002.1", b"65616", BAD), ("T-002.2", b"4294967376", BAD),
              ("T-002.3", b"99999999999999999999", BAD), ("T-002.4", b"18446744073709551696", BAD),
              ("T-004", b"http", BAD), ("T-004.1", b"https", BAD), ("T-006", b"", BAD),
              ("T-007", "\uff18\uff10".encode(), BAD), ("T-007.1", "\u0668\u0660".encode(), BAD),
              ("T-007.2", b"+80", BAD), ("T-007.3", b"-80", BAD), ("T-007.4", b"8 0", BAD),
              ("T-007.5", b" 80", BAD), ("T-007.6", b"0x50", BAD), ("T-007.7", b"80a", BAD),
              ("T-007.8", b"8.0", BAD), ("T-twin", b"80", OK)]
