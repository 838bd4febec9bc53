/*
 * share.h - inside proxy/: what one client of a proxy that serves many has of what all need
 *
 * Descriptors of connections, and questions to name servers. Whose they are is a number that the kernel
 * gives a network namespace (fd_netns()): that of a session, or, on a unix socket to which anybody of
 * ours may connect, that of each connection. The rule is base/fairshare.h.
 */
#ifndef PROXY_SHARE_H
#define PROXY_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct proxy;
struct resolver_share;

/**
 * struct share - counted references; freed with the last
 * @key: whose it is; 0: of one session alone
 * @taken: descriptors
 * @lookups: its part of what the resolver may ask, or NULL without a resolver
 */
struct share {
	LIST_ENTRY(share) link;
	struct proxy *proxy;
	uint64_t key;
	size_t refs, taken;
	struct resolver_share *lookups;
};

LIST_HEAD(share_list, share);

/** share_get() - that of @key, or with 0 a new one, to be given back by share_put(). */
struct share *share_get(struct proxy *p, uint64_t key);

/** share_ref() - one reference more. */
struct share *share_ref(struct share *s);

/** share_put() - one less; NULL is allowed. */
void share_put(struct share *s);

/** share_may() - whether it may have @n descriptors more. */
bool share_may(const struct share *s, size_t n);

/** share_take() - it has, after share_may(). */
void share_take(struct share *s, size_t n);

/** share_give() - so many less. */
void share_give(struct share *s, size_t n);

#endif
