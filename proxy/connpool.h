/*
 * connpool.h - inside proxy/: memory for connections, by the block
 *
 * What a tunnel needs while it is being opened is larger than a connection and goes again: with
 * both on one heap, each idle tunnel left a hole of 300 bytes beside it. Blocks are kept for the
 * next burst until connpool_clear().
 */
#ifndef PROXY_CONNPOOL_H
#define PROXY_CONNPOOL_H

struct conn;
struct connblock;

/** struct connpool - all zero at first */
struct connpool {
	struct connblock *blocks;
	struct conn *spare;
};

/** connpool_get() - a connection, all zero, that the caller gives back. */
struct conn *connpool_get(struct connpool *p) __attribute__((returns_nonnull, warn_unused_result));

/** connpool_put() - give one back. */
void connpool_put(struct connpool *p, struct conn *c);

/** connpool_clear() - free the blocks; all connections have been given back. */
void connpool_clear(struct connpool *p);

#endif
