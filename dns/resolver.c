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
 * by RESOLVER_ASKS_MAX, and each question counts for who asked it until c-ares has ended it.
 *
 * Those who ask share these by the rule of base/fairshare.h: who has as many out as could be asked
 * besides waits, and somebody who has nothing out is heard. A lookup waits in its share's queue; each
 * answer lets the first of the next queue go. One that nobody waits for any more leaves the queue.
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

#include <event2/event.h>

#include "base/clock.h"
#include "base/fairshare.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "dns/cache.h"
#include "dns/channel.h"
#include "dns/hostsfile.h"
#include "dns/wire.h"

#define RESOLV_CONF   "/etc/resolv.conf"
#define HOSTS_FILE    "/etc/hosts"
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
	struct lookup *lookup;
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
 * @question: NULL unless it is out
 */
struct half {
	struct lookup *lookup;
	struct question *question;
};

/**
 * struct question - what c-ares has to answer
 * @half: whose it is, or NULL when nobody is interested any more
 */
struct question {
	TAILQ_ENTRY(question) link;
	struct half *half;
	struct resolver_share *share;
	struct channel_ask *ask;
};

TAILQ_HEAD(question_list, question);

/**
 * struct resolver_share - one who asks
 * @link: among those with a queue
 * @waiting: its lookups that have not been asked
 * @out: its questions
 * @refs: those, the lookups of it that are not done, and the owner
 */
struct resolver_share {
	TAILQ_ENTRY(resolver_share) link;
	struct resolver *resolver;
	struct lookup_list waiting;
	size_t out, refs;
};

TAILQ_HEAD(share_list, resolver_share);

/**
 * struct lookup - one name
 * @share: whose questions its are, until it is done
 * @ready: stands on the resolver's ready list
 * @waiting: stands in the queue of @share
 * @done: no more addresses will come; @status is the last word
 * @failed, @timed_out: a half failed for another reason than "no such name"
 * @busy: it has waited in vain
 * @ttl: the smallest of the answers
 */
struct lookup {
	struct resolver *resolver;
	LIST_ENTRY(lookup) chain;
	TAILQ_ENTRY(lookup) all;
	TAILQ_ENTRY(lookup) ready_link; /* also in the queue of a share */
	struct resolver_share *share;
	struct hostname name;
	struct query_list queries;
	struct half half[NUM_FAMILIES];
	struct event *timer;
	bool ready, waiting, done;
	bool failed, timed_out, busy;
	enum resolver_status status;
	uint32_t ttl;
	size_t n;
	struct addr addrs[RESOLVER_ADDRS_MAX * NUM_FAMILIES];
};

LIST_HEAD(lookup_chain, lookup);

/**
 * struct resolver - sources of addresses and the lookups that run
 * @timeout_ms: of a whole lookup
 * @asks: how many questions may be out
 * @resolv_conf: where the servers are named; NULL when they came from the caller
 * @conf: identity of that file when @channel was opened
 * @old: the channel before it, whose last questions are still out, or NULL
 * @all: every lookup that has memory
 * @ready: those that have something to deliver, and @deliver is active
 * @running: by name, for joining
 * @own: the share of those who have none; @nshares: of the others
 * @queues: shares with lookups that wait; @wake is active when some of them may go
 * @questions: that are out
 */
struct resolver {
	struct event_base *base;
	struct channel *channel;
	struct channel *old;
	unsigned timeout_ms;
	size_t asks;
	char *resolv_conf;
	struct stat conf;
	struct hostsfile *hosts;
	struct cache *cache;
	struct event *deliver;
	struct hash_key key;
	struct lookup_list all;
	struct lookup_list ready;
	struct lookup_chain running[TABLE_BUCKETS];
	struct resolver_share *own;
	size_t nshares;
	struct share_list queues;
	struct event *wake;
	struct question_list questions;
};

static_assert(RESOLVER_ADDRS_MAX == WIRE_ADDRS_MAX, "what one answer gives");
static_assert(RESOLVER_ADDRS_MAX * NUM_FAMILIES <= CACHE_ADDRS_MAX, "a lookup fits the cache");

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

/* ---- shares */

static void share_drop(struct resolver_share *s)
{
	assert(s->refs > 0);
	if (--s->refs == 0)
		free(s);
}

static struct resolver_share *share_new(struct resolver *r)
{
	struct resolver_share *s = xcalloc(1, sizeof(*s));

	s->resolver = r;
	s->refs = 1;
	TAILQ_INIT(&s->waiting);
	return s;
}

struct resolver_share *resolver_share_new(struct resolver *r)
{
	r->nshares++;
	return share_new(r);
}

void resolver_share_free(struct resolver_share *s)
{
	if (!s)
		return;
	s->resolver->nshares--;
	share_drop(s);
}

/* Whether the questions of one more lookup may go out for @s now. */
static bool may_ask(const struct resolver_share *s)
{
	const struct resolver *r = s->resolver;
	const struct fairshare asks = { .max = r->asks,
					.taken = channel_pending(r->channel),
					.takers = r->nshares };

	return fairshare_may(&asks, s->out, NUM_FAMILIES);
}

static void lookup_wait(struct lookup *l)
{
	struct resolver_share *s = l->share;

	if (TAILQ_EMPTY(&s->waiting))
		TAILQ_INSERT_TAIL(&s->resolver->queues, s, link);
	TAILQ_INSERT_TAIL(&s->waiting, l, ready_link);
	l->waiting = true;
}

static void lookup_unwait(struct lookup *l)
{
	struct resolver_share *s = l->share;

	TAILQ_REMOVE(&s->waiting, l, ready_link);
	if (TAILQ_EMPTY(&s->waiting))
		TAILQ_REMOVE(&s->resolver->queues, s, link);
	l->waiting = false;
}

static void share_take(struct lookup *l, struct resolver_share *s)
{
	s->refs++;
	if (l->share)
		share_drop(l->share);
	l->share = s;
}

static void question_free(struct question *q)
{
	struct resolver_share *s = q->share;
	struct resolver *r = s->resolver;

	TAILQ_REMOVE(&r->questions, q, link);
	s->out--;
	share_drop(s);
	free(q);
	if (!TAILQ_EMPTY(&r->queues))
		event_active(r->wake, EV_TIMEOUT, 0);
}

/* ---- what comes of a lookup */

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
	if (l->busy)
		return RESOLVER_BUSY;
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
	cache_put(l->resolver->cache, &l->name, l->addrs, l->n, ttl, clock_ms());
}

static void finish(struct lookup *l)
{
	l->done = true;
	l->status = outcome(l);
	if (l->timer)
		(void)evtimer_del(l->timer);
	for (int i = 0; i < NUM_FAMILIES; i++) {
		if (l->half[i].question)
			l->half[i].question->half = NULL;
		l->half[i].question = NULL;
	}
	share_drop(l->share);
	l->share = NULL;
	LIST_REMOVE(l, chain);
	make_ready(l);
}

static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct lookup *l = arg;

	(void)fd;
	(void)what;
	l->busy = l->waiting;
	if (l->waiting)
		lookup_unwait(l);
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

static void answered(struct half *h, int status, const uint8_t *msg, size_t len)
{
	struct lookup *l = h->lookup;
	enum family f = h == &l->half[FAMILY_A] ? FAMILY_A : FAMILY_AAAA;

	h->question = NULL;
	if (status == ARES_SUCCESS)
		status = take_answer(l, f == FAMILY_A ? WIRE_A : WIRE_AAAA, msg, len);
	if (status == ARES_ETIMEOUT)
		l->timed_out = true;
	else if (status != ARES_SUCCESS && status != ARES_ENODATA && status != ARES_ENOTFOUND)
		l->failed = true;
	log_debug("event=dns host=%s type=%s status=%s", l->name.s, f == FAMILY_A ? "A" : "AAAA",
		  ares_strerror(status));

	if (!l->half[FAMILY_A].question && !l->half[FAMILY_AAAA].question) {
		remember(l);
		finish(l);
	} else if (l->n) {
		make_ready(l);
	}
}

static void answer_cb(void *arg, int status, const uint8_t *msg, size_t len)
{
	struct question *q = arg;

	if (q->half)
		answered(q->half, status, msg, len);
	question_free(q);
}

static void question_new(struct lookup *l, struct half *h)
{
	struct question *q = xcalloc(1, sizeof(*q));

	q->half = h;
	q->share = l->share;
	q->share->refs++;
	q->share->out++;
	TAILQ_INSERT_TAIL(&l->resolver->questions, q, link);
	h->lookup = l;
	h->question = q;
}

static void start_timer(struct lookup *l)
{
	unsigned ms = l->resolver->timeout_ms;
	struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	if (!l->timer)
		l->timer = evtimer_new(l->resolver->base, timer_cb, l);
	if (!l->timer || evtimer_add(l->timer, &tv))
		die("out of memory");
}

/* Both halves count as out before the first is asked: it may be answered before it returns. */
static void ask_servers(struct lookup *l)
{
	static const int type[NUM_FAMILIES] = { WIRE_A, WIRE_AAAA };
	struct channel *c = l->resolver->channel;
	struct question *q[NUM_FAMILIES];

	start_timer(l);
	l->ttl = UINT32_MAX;
	for (int i = 0; i < NUM_FAMILIES; i++) {
		question_new(l, &l->half[i]);
		q[i] = l->half[i].question;
	}
	for (int i = 0; i < NUM_FAMILIES; i++)
		channel_ask(c, l->name.s, type[i], answer_cb, q[i], &q[i]->ask);
}

/* Behind those of its share that came first. */
static void ask_or_wait(struct lookup *l)
{
	if (TAILQ_EMPTY(&l->share->waiting) && may_ask(l->share)) {
		ask_servers(l);
		return;
	}
	start_timer(l);
	lookup_wait(l);
}

/* Some questions have ended: one lookup of each queue in turn, until no share may ask more. */
static void wake_cb(evutil_socket_t fd, short what, void *arg)
{
	struct resolver *r = arg;
	struct resolver_share *s, *next;
	bool asked = true;

	(void)fd;
	(void)what;
	while (asked) {
		asked = false;
		for (s = TAILQ_FIRST(&r->queues); s; s = next) {
			struct lookup *l = TAILQ_FIRST(&s->waiting);

			next = TAILQ_NEXT(s, link);
			if (!may_ask(s))
				continue;
			lookup_unwait(l);
			ask_servers(l);
			asked = true;
		}
	}
	/* Who was first comes last the next time. */
	s = TAILQ_FIRST(&r->queues);
	if (s) {
		TAILQ_REMOVE(&r->queues, s, link);
		TAILQ_INSERT_TAIL(&r->queues, s, link);
	}
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
	} else if (cache_get(r->cache, &l->name, clock_ms(), &cached, &n)) {
		add_addrs(l, cached, n);
		finish(l);
	} else {
		ask_or_wait(l);
	}
}

static struct lookup *lookup_new(struct resolver *r, struct resolver_share *share,
				 const struct hostname *name)
{
	struct lookup *l = xcalloc(1, sizeof(*l));

	l->resolver = r;
	share_take(l, share);
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

/* Somebody else's lookup: where that one has to wait and @s has not, it becomes the lookup of @s. */
static void join(struct lookup *l, struct resolver_share *s)
{
	if (l->n)
		make_ready(l);
	if (!l->waiting || l->share == s || !TAILQ_EMPTY(&s->waiting) || !may_ask(s))
		return;
	lookup_unwait(l);
	share_take(l, s);
	ask_servers(l);
}

struct resolver_query *resolver_start(struct resolver *r, struct resolver_share *share,
				      const struct hostname *name, resolver_cb *cb, void *arg)
{
	struct resolver_query *q = xcalloc(1, sizeof(*q));
	struct lookup *l = find_running(r, name);

	q->cb = cb;
	q->arg = arg;
	if (!share)
		share = r->own;
	if (!l)
		follow_resolv_conf(r);
	q->lookup = l ? l : lookup_new(r, share, name);
	move_to(&q->lookup->queries, q);
	if (l)
		join(l, share);
	else
		lookup_run(q->lookup);
	return q;
}

struct channel *resolver_channel(struct resolver *r)
{
	follow_resolv_conf(r);
	return channel_pending(r->channel) < r->asks / 2 ? r->channel : NULL;
}

void resolver_cancel(struct resolver_query *q)
{
	struct lookup *l = q->lookup;

	if (q->calling)
		return;
	TAILQ_REMOVE(q->on, q, link);
	free(q);
	if (!l->waiting || !TAILQ_EMPTY(&l->queries))
		return;
	lookup_unwait(l); /* nobody wants it any more, and nobody has been asked */
	share_drop(l->share);
	LIST_REMOVE(l, chain);
	lookup_free(l);
}

struct resolver *resolver_new(struct event_base *base, const struct resolver_config *cfg,
			      struct error *err)
{
	struct resolver *r = xcalloc(1, sizeof(*r));

	r->base = base;
	if (!cfg || !cfg->servers)
		r->resolv_conf = xstrdup(cfg && cfg->resolv_conf ? cfg->resolv_conf : RESOLV_CONF);
	r->timeout_ms = cfg && cfg->timeout_ms ? cfg->timeout_ms : RESOLVER_TIMEOUT_MS;
	r->asks = cfg && cfg->asks ? cfg->asks : RESOLVER_ASKS_MAX;
	r->key = hash_key_random();
	TAILQ_INIT(&r->all);
	TAILQ_INIT(&r->ready);
	TAILQ_INIT(&r->queues);
	TAILQ_INIT(&r->questions);
	r->own = share_new(r);
	for (size_t i = 0; i < TABLE_BUCKETS; i++)
		LIST_INIT(&r->running[i]);
	r->cache = cache_new(CACHE_NAMES);
	r->deliver = event_new(base, -1, 0, deliver_cb, r);
	r->wake = event_new(base, -1, 0, wake_cb, r);
	if (!r->deliver || !r->wake)
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
	struct question *out;
	struct lookup *l;

	if (!r)
		return;
	channel_free(r->channel);
	channel_free(r->old);
	while ((l = TAILQ_FIRST(&r->all))) {
		if (l->waiting)
			lookup_unwait(l);
		while ((q = TAILQ_FIRST(&l->queries)))
			resolver_cancel(q);
		if (l->share)
			share_drop(l->share);
		lookup_free(l);
	}
	while ((out = TAILQ_FIRST(&r->questions)))
		question_free(out);
	share_drop(r->own);
	event_free(r->wake);
	event_free(r->deliver);
	cache_free(r->cache);
	hostsfile_close(r->hosts);
	free(r->resolv_conf);
	free(r);
}
