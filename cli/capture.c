#include "cli/capture.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "cli/searchlist.h"
#include "dns/fakeip.h"
#include "dns/hostsfile.h"
#include "dns/stub.h"

/* What unconfigured programs use most (IANA's names beside them). */
static const uint16_t well_known[] = {
	21,   22,   25,	  43,	80,    88,    110,   119,   143,   389,	  443,	 465,
	587,  636,  853,  873,	989,   990,   993,   995,   1433,  1521,  1883,	 2049,
	2181, 2375, 2376, 3000, 3306,  3389,  4222,  4317,  4318,  5000,  5001,	 5222,
	5432, 5671, 5672, 5900, 5984,  6379,  6443,  6667,  7687,  8000,  8008,	 8080,
	8081, 8086, 8088, 8443, 8529,  8883,  8888,  9000,  9042,  9090,  9092,	 9093,
	9200, 9300, 9418, 9443, 10000, 11211, 11371, 15672, 26257, 27017, 27018, 50051,
};

#define HELD_MAX  16
#define LOCAL_MAX 16  /* addresses of one name in the hosts file that are looked at */
#define HOLD_MS	  200 /* a resolver asks its next question as soon as it has our answer */

struct capture {
	struct fakeip *names;
	struct stub *stub;
	struct searchlist *search;
	struct hostsfile *hosts; /* NULL if it cannot be read */
	struct hostname self;	 /* of this machine, and of the sandbox; empty if it has none */
	struct hostname
		held[HELD_MAX]; /* refused, perhaps made up by a resolver: told a little later */
	size_t nheld;
	struct event settle;
	const struct policy *const *policy;
	proxy_event_cb *event;
	capture_may *may; /* NULL until capture_forward() */
	void *arg;
};

size_t capture_ports(const struct policy *p, uint16_t out[CAPTURE_PORTS_MAX])
{
	size_t n = policy_capture_ports(p, out, CAPTURE_PORTS_MAX - ARRAY_SIZE(well_known));
	size_t named = n;

	for (size_t i = 0; i < ARRAY_SIZE(well_known); i++) {
		size_t k;

		for (k = 0; k < named && out[k] != well_known[i]; k++)
			;
		if (k == named)
			out[n++] = well_known[i];
	}
	return n;
}

static void tell(const struct capture *c, const struct hostname *name, const struct decision *d)
{
	const struct target t = { .host = *name, .via = VIA_DNS };
	struct proxy_event ev = {
		.kind = PROXY_EVENT_DECISION, .target = &t, .decision = *d, .client = -1
	};
	struct addr v[LOCAL_MAX];

	ev.client = stub_client(c->stub, &ev.asker, &ev.asker_port);
	if (c->hosts)
		policy_foresee(*c->policy, &t, v, hostsfile_lookup(c->hosts, name, v, LOCAL_MAX),
			       NULL, &ev.decision);
	c->event(c->arg, &ev);
}

/* Tells of what was held back and turned out to be nobody's expansion. */
void capture_settle(struct capture *c)
{
	size_t n = c->nheld;

	c->nheld = 0;
	for (size_t i = 0; i < n; i++) {
		const struct target t = { .host = c->held[i], .via = VIA_DNS };
		struct decision d;

		if (searchlist_is_expansion(c->search, &c->held[i], clock_ms()))
			continue;
		policy_decide(*c->policy, &t, &d); /* a reload may have freed the rule */
		if (d.verdict == VERDICT_DENY)
			tell(c, &c->held[i], &d);
	}
}

static void settle_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	capture_settle(arg);
}

static void hold(struct capture *c, const struct hostname *name, const struct decision *d)
{
	const struct timeval tv = { .tv_usec = HOLD_MS * 1000 };

	if (c->nheld == HELD_MAX) {
		tell(c, name, d);
		return;
	}
	if (!c->nheld)
		(void)event_add(&c->settle, &tv);
	c->held[c->nheld++] = *name;
}

/*
 * Whether a name that may be had is rather a resolver's guess at another one. Where nobody has listed
 * it (--learn, questions), every guess is; where a wildcard lists it ("*.corp.example" and a search
 * line of that domain), it is if the name without the suffix may be had too: that was meant.
 */
static bool is_guess(const struct capture *c, const struct hostname *name, const struct decision *d)
{
	struct target meant = { .via = VIA_DNS };
	struct decision verdict;

	if (!searchlist_is_guess(c->search, name, clock_ms()))
		return false;
	if (!d->rule || !searchlist_base(c->search, name, &meant.host))
		return true;
	policy_decide(*c->policy, &meant, &verdict);
	return verdict.verdict == VERDICT_ALLOW;
}

/* No port is known yet: a name that some port of it is open for, or asked about, gets an address. */
static enum stub_answer decide_cb(void *arg, const struct hostname *name)
{
	struct capture *c = arg;
	const struct target t = { .host = *name, .via = VIA_DNS };
	enum searchlist_kind kind = searchlist_ask(c->search, name, clock_ms());
	struct decision d;

	policy_decide(*c->policy, &t, &d);
	if (d.verdict != VERDICT_DENY)
		return is_guess(c, name, &d) ? STUB_DENY : STUB_ALLOW;
	switch (kind) {
	case SEARCHLIST_PLAIN:
		tell(c, name, &d);
		break;
	case SEARCHLIST_UNSURE:
		hold(c, name, &d);
		break;
	case SEARCHLIST_MADE_UP:
		break;
	}
	return STUB_DENY;
}

/*
 * Records that are no addresses. Asking for them leaves the machine, with the whole name: so an entry
 * of a list must allow the name. "Unknown, so ask a person" is not enough, nor is --learn.
 */
static bool forwards_cb(void *arg, const struct hostname *name, uint16_t type)
{
	const struct target t = { .host = *name, .via = VIA_DNS };
	struct capture *c = arg;
	struct decision d;

	if (!policy_forwards(*c->policy, type))
		return false;
	policy_decide(*c->policy, &t, &d);
	if (d.verdict != VERDICT_ALLOW || !d.rule || !c->may(c->arg, &t, &d))
		return false;
	tell(c, name, &d);
	return true;
}

/* Whether @out has loopback addresses only, and some. */
static bool sort_local(const struct addr *v, size_t n, struct stub_local *out)
{
	for (size_t i = 0; i < n; i++) {
		struct addr *to = v[i].family == AF_INET ? &out->v4 : &out->v6;

		if (addr_classify(&v[i]) != ADDR_LOOPBACK)
			return false;
		if (to->family == AF_UNSPEC)
			*to = v[i];
	}
	return n > 0;
}

/*
 * The machine's own name, and what its hosts file puts on loopback, mean the sandbox inside: a
 * program that looks up its own name wants its own server. The machine's is never opened by it.
 * Resolvers may try the name with the suffixes of the search list first.
 */
static bool is_local(struct capture *c, const struct hostname *name, struct stub_local *out)
{
	static const struct addr loopback = { .family = AF_INET, .bytes = { 127, 0, 0, 1 } };
	struct stub_local found = { .v4 = { .family = AF_UNSPEC } };
	struct addr v[LOCAL_MAX];
	size_t n = 0;

	if (c->hosts) {
		hostsfile_refresh(c->hosts);
		n = hostsfile_lookup(c->hosts, name, v, ARRAY_SIZE(v));
	}
	if (sort_local(v, n, &found)) {
		*out = found;
		return true;
	}
	if (!c->self.len || !searchlist_is_same(c->search, name, &c->self))
		return false;
	*out = (struct stub_local){ .v4 = loopback };
	return true;
}

/* Noted, so that its expansion, which a resolver asks for first, is known for one. */
static bool is_local_cb(void *arg, const struct hostname *name, struct stub_local *out)
{
	struct capture *c = arg;

	if (!is_local(c, name, out))
		return false;
	(void)searchlist_ask(c->search, name, clock_ms());
	return true;
}

static void own_name(struct hostname *out)
{
	char text[HOSTNAME_MAX + 2];
	struct addr a;

	*out = (struct hostname){ 0 };
	if (gethostname(text, sizeof(text)) == 0 && memchr(text, '\0', sizeof(text)) &&
	    hostname_parse(text, strlen(text), out, &a) != HOSTNAME_NAME)
		*out = (struct hostname){ 0 };
}

struct capture *capture_new(struct event_base *base, const struct policy *const *policy,
			    proxy_event_cb *event, void *arg)
{
	struct capture *c = xcalloc(1, sizeof(*c));
	struct error ignored;

	c->policy = policy;
	c->event = event;
	c->arg = arg;
	c->names = fakeip_new();
	c->search = searchlist_new("/etc/resolv.conf");
	(void)evtimer_assign(&c->settle, base, settle_cb, c);
	c->hosts = hostsfile_open("/etc/hosts", &ignored);
	own_name(&c->self);
	c->stub = stub_new(base, c->names, decide_cb, c);
	stub_set_local(c->stub, is_local_cb);
	return c;
}

void capture_forward(struct capture *c, struct resolver *r, capture_may *may)
{
	c->may = may;
	stub_set_forward(c->stub, r, forwards_cb);
}

const struct hostname *capture_self(const struct capture *c)
{
	return c->self.len ? &c->self : NULL;
}

void capture_bound(struct capture *c, size_t connections, unsigned part)
{
	stub_set_part(c->stub, part);
	stub_set_connections(c->stub, connections);
}

void capture_free(struct capture *c)
{
	if (!c)
		return;
	stub_free(c->stub);
	(void)event_del(&c->settle);
	searchlist_free(c->search);
	hostsfile_close(c->hosts);
	fakeip_free(c->names);
	free(c);
}

int capture_listen(struct capture *c, enum netns_kind kind, int fd, struct error *err)
{
	if (kind == NETNS_DNS_UDP)
		return stub_add_udp(c->stub, fd, err);
	if (kind == NETNS_DNS_TCP)
		return stub_add_tcp(c->stub, fd, err);
	(void)close(fd);
	return error_set(err, EINVAL, "no name server socket");
}

/* Which of the names that the hosts file gives an address is meant: the better one comes later. */
enum hosts_name { NAME_NONE, NAME_UNLISTED, NAME_ALLOWED, NAME_DENIED };

static enum hosts_name name_of_hosts(const struct capture *c, const struct addr *a, uint16_t port,
				     struct hostname *out)
{
	struct target t = { .addr = { .family = AF_UNSPEC }, .port = port, .via = VIA_CAPTURE };
	struct hostname v[LOCAL_MAX];
	size_t n = hostsfile_names(c->hosts, a, v, ARRAY_SIZE(v));
	enum hosts_name best = NAME_NONE;

	if (n > ARRAY_SIZE(v)) /* a list of what to block, say: it names nothing */
		return NAME_NONE;
	for (size_t i = 0; i < n; i++) {
		enum hosts_name kind = NAME_UNLISTED;
		struct decision d;

		t.host = v[i];
		policy_decide(*c->policy, &t, &d);
		if (d.verdict == VERDICT_ALLOW)
			kind = NAME_ALLOWED;
		else if (d.code == CODE_DENIED)
			kind = NAME_DENIED;
		if (kind <= best)
			continue;
		best = kind;
		*out = v[i];
	}
	return best;
}

/*
 * Programs read the hosts file themselves, before they ask a name server. What the policy says of a
 * name must hold for the address that they find there, unless a rule speaks of the address itself.
 * A denied name wins here, where a program may have meant it; an address that is asked for as such,
 * through the proxy, is not its name's.
 */
bool capture_name(struct capture *c, const struct addr *dialled, uint16_t port,
		  struct hostname *out)
{
	enum hosts_name kind;
	struct target t;
	struct decision d;

	if (fakeip_name(c->names, dialled, out))
		return true;
	if (!c->hosts || addr_classify(dialled) == ADDR_LOOPBACK)
		return false;
	hostsfile_refresh(c->hosts);
	kind = name_of_hosts(c, dialled, port, out);
	if (kind == NAME_NONE || kind == NAME_DENIED)
		return kind == NAME_DENIED;
	target_from_addr(dialled, port, &t);
	t.via = VIA_CAPTURE;
	policy_decide(*c->policy, &t, &d);
	return d.verdict != VERDICT_ALLOW && d.code != CODE_DENIED;
}

bool capture_same(const struct capture *c, const struct target *t, const struct hostname *asked)
{
	struct target other = { .host = *asked, .port = t->port, .via = t->via };
	struct addr mine[LOCAL_MAX], its[LOCAL_MAX];
	size_t n, m;
	struct decision d;

	if (t->via != VIA_CAPTURE || !c->hosts)
		return false;
	policy_decide(*c->policy, &other, &d);
	if (d.verdict != VERDICT_ALLOW)
		return false;
	n = hostsfile_lookup(c->hosts, &t->host, mine, ARRAY_SIZE(mine));
	m = hostsfile_lookup(c->hosts, asked, its, ARRAY_SIZE(its));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < m; k++)
			if (addr_equal(&mine[i], &its[k]))
				return true;
	return false;
}
