/*
 * resolver.c - names to addresses
 *
 * Theory of operation
 *
 * A lookup is the work for one name; a query is one caller who waits for it. Queries for a name
 * that is being looked up join that lookup, so a hundred connections to one host cost two
 * questions. Where the addresses come from, first hit wins:
 *
 *   local name (RFC 6761)  ->  127.0.0.1 and ::1
 *   /etc/hosts             ->  its addresses, and nothing else
 *   cache                  ->  what was answered within its TTL
 *   c-ares                 ->  A and AAAA at once, absolute name, no search list
 *
 * Whatever the source, callbacks are made by deliver_cb() from the event loop and from nowhere
 * else: neither resolver_start() nor c-ares calls a user back. A lookup that has something to say
 * stands on the ready list. When it is finished it has left the table, so nobody joins it any
 * more; it is freed after its last delivery.
 *
 * c-ares cannot cancel one question. A cancelled query leaves its lookup, which goes on and fills
 * the cache; a lookup that ran into its time-out forgets its questions. Both stay bounded
 * by ASKS_MAX.
 *
 * The addresses carry no permission. Callers vet each one before they dial it, cached or not.
 */
#include "dns/resolver.h"

#include <ares.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <time.h>

#include <event2/event.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "dns/cache.h"
#include "dns/channel.h"
#include "dns/hostsfile.h"
#include "dns/wire.h"

#define RESOLV_CONF   "/etc/resolv.conf"
#define HOSTS_FILE    "/etc/hosts"
#define ASKS_MAX      2048 /* questions out; ids have 16 bits, and guesses get easier with each */
#define CACHE_NAMES   4096
#define TABLE_BUCKETS 1024 /* a power of two */

TAILQ_HEAD(query_list, resolver_query);
TAILQ_HEAD(lookup_list, lookup);

/**
 * struct resolver_query - one caller
 * @on: the list it stands on
 * @seen: how many of the lookup's addresses it has been told
 * @calling: its last callback is running; cancelling is then a no-op
 */
struct resolver_query {
	TAILQ_ENTRY(resolver_query) link;
	struct query_list *on;
	resolver_cb *cb;
	void *arg;
	size_t seen;
	bool calling;
};

/* The two questions of a lookup. */
enum family { FAMILY_A, FAMILY_AAAA, NUM_FAMILIES };

/**
 * struct half - one question of a lookup
 * @ask: NULL once it has been answered
 */
struct half {
	struct lookup *lookup;
	struct channel_ask *ask;
	bool out;
};

/**
 * struct lookup - one name
 * @ready: stands on the resolver's ready list
 * @done: no more addresses will come; @status is the last word
 * @failed, @timed_out: a half failed for another reason than "no such name"
 * @ttl: the smallest of the answers
 */
struct lookup {
	struct resolver *resolver;
	LIST_ENTRY(lookup) chain;
	TAILQ_ENTRY(lookup) all;
	TAILQ_ENTRY(lookup) ready_link;
	struct hostname name;
	struct query_list queries;
	struct half half[NUM_FAMILIES];
	struct event *timer;
	bool ready, done;
	bool failed, timed_out;
	enum resolver_status status;
	uint32_t ttl;
	size_t n;
	struct addr addrs[RESOLVER_ADDRS_MAX * NUM_FAMILIES];
};

LIST_HEAD(lookup_chain, lookup);

/**
 * struct resolver - sources of addresses and the lookups that run
 * @timeout_ms: of a whole lookup
 * @resolv_conf: where the servers are named; NULL when they came from the caller
 * @conf: identity of that file when @channel was opened
 * @old: the channel before it, whose last questions are still out, or NULL
 * @all: every lookup that has memory
 * @ready: those that have something to deliver, and @deliver is active
 * @running: by name, for joining
 */
struct resolver {
	struct event_base *base;
	struct channel *channel;
	struct channel *old;
	unsigned timeout_ms;
	char *resolv_conf;
	struct stat conf;
	struct hostsfile *hosts;
	struct cache *cache;
	struct event *deliver;
	struct hash_key key;
	struct lookup_list all;
	struct lookup_list ready;
	struct lookup_chain running[TABLE_BUCKETS];
};

static_assert(RESOLVER_ADDRS_MAX == WIRE_ADDRS_MAX, "what one answer gives");
static_assert(RESOLVER_ADDRS_MAX * NUM_FAMILIES <= CACHE_ADDRS_MAX, "a lookup fits the cache");

static uint64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static struct lookup_chain *chain_of(struct resolver *r, const struct hostname *name)
{
	return &r->running[hash_bytes(&r->key, name->s, name->len) & (TABLE_BUCKETS - 1)];
}

static void make_ready(struct lookup *l)
{
	struct resolver *r = l->resolver;

	if (l->ready)
		return;
	l->ready = true;
	TAILQ_INSERT_TAIL(&r->ready, l, ready_link);
	event_active(r->deliver, EV_TIMEOUT, 0);
}

static void add_addr(struct lookup *l, const struct addr *a)
{
	for (size_t i = 0; i < l->n; i++) {
		if (addr_equal(&l->addrs[i], a))
			return;
	}
	if (l->n < sizeof(l->addrs) / sizeof(l->addrs[0]))
		l->addrs[l->n++] = *a;
}

static void add_addrs(struct lookup *l, const struct addr *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add_addr(l, &v[i]);
}

static enum resolver_status outcome(const struct lookup *l)
{
	if (l->n)
		return RESOLVER_DONE;
	if (l->timed_out)
		return RESOLVER_TIMEOUT;
	return l->failed ? RESOLVER_FAILED : RESOLVER_NOTFOUND;
}

/* Half an answer, and "no such name", are kept briefly; a failure is not kept at all. */
static void remember(struct lookup *l)
{
	bool whole = !l->failed && !l->timed_out;
	uint32_t ttl = l->ttl;

	if (!l->n && !whole)
		return;
	if ((!l->n || !whole) && ttl > CACHE_TTL_NEGATIVE)
		ttl = CACHE_TTL_NEGATIVE;
	cache_put(l->resolver->cache, &l->name, l->addrs, l->n, ttl, now_ms());
}

static void finish(struct lookup *l)
{
	l->done = true;
	l->status = outcome(l);
	if (l->timer)
		(void)evtimer_del(l->timer);
	for (int i = 0; i < NUM_FAMILIES; i++) {
		if (l->half[i].out)
			channel_forget(l->half[i].ask);
		l->half[i].out = false;
	}
	LIST_REMOVE(l, chain);
	make_ready(l);
}

static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct lookup *l = arg;

	(void)fd;
	(void)what;
	l->timed_out = true;
	remember(l);
	finish(l);
}

/*
 * Not ares_parse_a_reply(): c-ares 1.18 takes address records of whatever owner, and those of an
 * alias that the name does not lead to.
 */
static int take_answer(struct lookup *l, uint16_t type, const uint8_t *msg, size_t len)
{
	struct wire_addrs found;

	if (wire_parse_answer(msg, len, &l->name, type, &found) != PARSE_OK)
		return ARES_EBADRESP;
	if (found.ttl < l->ttl)
		l->ttl = found.ttl;
	add_addrs(l, found.v, found.n);
	return found.n ? ARES_SUCCESS : ARES_ENODATA;
}

static void answer_cb(void *arg, int status, const uint8_t *msg, size_t len)
{
	struct half *h = arg;
	struct lookup *l = h->lookup;
	enum family f = h == &l->half[FAMILY_A] ? FAMILY_A : FAMILY_AAAA;

	h->out = false;
	if (status == ARES_SUCCESS)
		status = take_answer(l, f == FAMILY_A ? WIRE_A : WIRE_AAAA, msg, len);
	if (status == ARES_ETIMEOUT)
		l->timed_out = true;
	else if (status != ARES_SUCCESS && status != ARES_ENODATA && status != ARES_ENOTFOUND)
		l->failed = true;
	log_debug("event=dns host=%s type=%s status=%s", l->name.s, f == FAMILY_A ? "A" : "AAAA",
		  ares_strerror(status));

	if (!l->half[FAMILY_A].out && !l->half[FAMILY_AAAA].out) {
		remember(l);
		finish(l);
	} else if (l->n) {
		make_ready(l);
	}
}

/* Both halves count as out before the first is asked: it may be answered before it returns. */
static void ask_servers(struct lookup *l)
{
	static const int type[NUM_FAMILIES] = { WIRE_A, WIRE_AAAA };
	unsigned ms = l->resolver->timeout_ms;
	struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	struct channel *c = l->resolver->channel;

	if (channel_pending(c) + NUM_FAMILIES > ASKS_MAX) {
		l->failed = true;
		finish(l);
		return;
	}
	l->timer = evtimer_new(l->resolver->base, timer_cb, l);
	if (!l->timer || evtimer_add(l->timer, &tv))
		die("out of memory");
	l->ttl = UINT32_MAX;
	for (int i = 0; i < NUM_FAMILIES; i++) {
		l->half[i].lookup = l;
		l->half[i].out = true;
	}
	for (int i = 0; i < NUM_FAMILIES; i++)
		channel_ask(c, l->name.s, type[i], answer_cb, &l->half[i], &l->half[i].ask);
}

static void add_local(struct lookup *l)
{
	static const struct addr v4 = { .family = AF_INET, .bytes = { 127, 0, 0, 1 } };
	static const struct addr v6 = { .family = AF_INET6, .bytes = { [15] = 1 } };

	add_addr(l, &v4);
	add_addr(l, &v6);
}

size_t resolver_known(struct resolver *r, const struct hostname *name, struct addr *out, size_t max)
{
	return hostsfile_lookup(r->hosts, name, out, max);
}

static void lookup_run(struct lookup *l)
{
	struct resolver *r = l->resolver;
	struct addr v[RESOLVER_ADDRS_MAX];
	const struct addr *cached;
	size_t n;

	if (hostname_is_local(&l->name)) {
		add_local(l);
		finish(l);
		return;
	}
	hostsfile_refresh(r->hosts);
	n = resolver_known(r, &l->name, v, RESOLVER_ADDRS_MAX);
	if (n) {
		add_addrs(l, v, n);
		finish(l);
	} else if (cache_get(r->cache, &l->name, now_ms(), &cached, &n)) {
		add_addrs(l, cached, n);
		finish(l);
	} else {
		ask_servers(l);
	}
}

static struct lookup *lookup_new(struct resolver *r, const struct hostname *name)
{
	struct lookup *l = xcalloc(1, sizeof(*l));

	l->resolver = r;
	l->name = *name;
	TAILQ_INIT(&l->queries);
	TAILQ_INSERT_TAIL(&r->all, l, all);
	LIST_INSERT_HEAD(chain_of(r, name), l, chain);
	return l;
}

/* The lookup is done and stands in neither table nor ready list, or the resolver ends. */
static void lookup_free(struct lookup *l)
{
	TAILQ_REMOVE(&l->resolver->all, l, all);
	if (l->timer)
		event_free(l->timer);
	free(l);
}

static struct lookup *find_running(struct resolver *r, const struct hostname *name)
{
	struct lookup *l;

	LIST_FOREACH (l, chain_of(r, name), chain) {
		if (hostname_equal(&l->name, name))
			return l;
	}
	return NULL;
}

static void move_to(struct query_list *to, struct resolver_query *q)
{
	if (q->on)
		TAILQ_REMOVE(q->on, q, link);
	TAILQ_INSERT_TAIL(to, q, link);
	q->on = to;
}

/* A callback may cancel any query, this one included, and start others; none may free us. */
static void tell(struct lookup *l, struct resolver_query *q)
{
	size_t seen = q->seen;
	size_t n = l->n;

	q->seen = n;
	if (l->done) {
		TAILQ_REMOVE(q->on, q, link);
		q->calling = true;
		q->cb(q->arg, l->status, l->addrs + seen, n - seen);
		free(q);
		return;
	}
	move_to(&l->queries, q);
	if (n > seen)
		q->cb(q->arg, RESOLVER_MORE, l->addrs + seen, n - seen);
}

static void deliver(struct lookup *l)
{
	struct query_list todo = TAILQ_HEAD_INITIALIZER(todo);
	struct resolver_query *q;

	while ((q = TAILQ_FIRST(&l->queries)))
		move_to(&todo, q);
	while ((q = TAILQ_FIRST(&todo)))
		tell(l, q);
	/* Ready again: it was finished by a callback, and those told "more" are owed the end. */
	if (l->done && !l->ready)
		lookup_free(l);
}

static void deliver_cb(evutil_socket_t fd, short what, void *arg)
{
	struct lookup_list todo = TAILQ_HEAD_INITIALIZER(todo);
	struct resolver *r = arg;
	struct lookup *l;

	(void)fd;
	(void)what;
	TAILQ_CONCAT(&todo, &r->ready, ready_link);
	while ((l = TAILQ_FIRST(&todo))) {
		TAILQ_REMOVE(&todo, l, ready_link);
		l->ready = false;
		deliver(l);
	}
}

static bool same_stat(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/*
 * /etc/resolv.conf is rewritten when a laptop changes networks: then ask the new servers. A second
 * change is followed once the questions to the servers before the first have ended.
 */
static void follow_resolv_conf(struct resolver *r)
{
	struct channel *fresh;
	struct error err;
	struct stat st;

	if (r->old && channel_pending(r->old) == 0) {
		channel_free(r->old);
		r->old = NULL;
	}
	if (!r->resolv_conf || r->old || stat(r->resolv_conf, &st) || same_stat(&st, &r->conf))
		return;
	r->conf = st;
	fresh = channel_new(r->base, NULL, r->resolv_conf, &err);
	if (!fresh) {
		log_warn("%s; the old DNS servers stay in use", err.msg);
		return;
	}
	r->old = r->channel;
	r->channel = fresh;
	cache_clear(r->cache);
}

struct resolver_query *resolver_start(struct resolver *r, const struct hostname *name,
				      resolver_cb *cb, void *arg)
{
	struct resolver_query *q = xcalloc(1, sizeof(*q));
	struct lookup *l = find_running(r, name);

	q->cb = cb;
	q->arg = arg;
	if (l) {
		move_to(&l->queries, q);
		if (l->n)
			make_ready(l);
		return q;
	}
	follow_resolv_conf(r);
	l = lookup_new(r, name);
	move_to(&l->queries, q);
	lookup_run(l);
	return q;
}

struct channel *resolver_channel(struct resolver *r)
{
	follow_resolv_conf(r);
	return channel_pending(r->channel) < ASKS_MAX ? r->channel : NULL;
}

void resolver_cancel(struct resolver_query *q)
{
	if (q->calling)
		return;
	TAILQ_REMOVE(q->on, q, link);
	free(q);
}

struct resolver *resolver_new(struct event_base *base, const struct resolver_config *cfg,
			      struct error *err)
{
	struct resolver *r = xcalloc(1, sizeof(*r));

	r->base = base;
	if (!cfg || !cfg->servers)
		r->resolv_conf = xstrdup(cfg && cfg->resolv_conf ? cfg->resolv_conf : RESOLV_CONF);
	r->timeout_ms = cfg && cfg->timeout_ms ? cfg->timeout_ms : RESOLVER_TIMEOUT_MS;
	r->key = hash_key_random();
	TAILQ_INIT(&r->all);
	TAILQ_INIT(&r->ready);
	for (size_t i = 0; i < TABLE_BUCKETS; i++)
		LIST_INIT(&r->running[i]);
	r->cache = cache_new(CACHE_NAMES);
	r->deliver = event_new(base, -1, 0, deliver_cb, r);
	if (!r->deliver)
		die("out of memory");
	r->hosts = hostsfile_open(cfg && cfg->hosts_file ? cfg->hosts_file : HOSTS_FILE, err);
	if (!r->hosts) {
		resolver_free(r);
		return NULL;
	}
	if (r->resolv_conf && stat(r->resolv_conf, &r->conf))
		r->conf = (struct stat){ 0 };
	r->channel = channel_new(base, r->resolv_conf ? NULL : cfg->servers, r->resolv_conf, err);
	if (!r->channel) {
		resolver_free(r);
		return NULL;
	}
	return r;
}

void resolver_free(struct resolver *r)
{
	struct resolver_query *q;
	struct lookup *l;

	if (!r)
		return;
	channel_free(r->channel);
	channel_free(r->old);
	while ((l = TAILQ_FIRST(&r->all))) {
		while ((q = TAILQ_FIRST(&l->queries)))
			resolver_cancel(q);
		lookup_free(l);
	}
	event_free(r->deliver);
	cache_free(r->cache);
	hostsfile_close(r->hosts);
	free(r->resolv_conf);
	free(r);
}
