/*
 * pipepool.h - kernel pipes lent to whoever has bytes pending for splice(2)
 *
 * A pipe costs two descriptors and counts against the user's share of pipe pages
 * (/proc/sys/fs/pipe-user-pages-soft, 64 MiB for an unprivileged user), so nobody owns one for
 * life: it is taken when there are bytes to move and given back when it is empty.
 */
#ifndef PROXY_PIPEPOOL_H
#define PROXY_PIPEPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/limits.h"

/**
 * struct pipe - one pipe, non-blocking at both ends
 * @rd, @wr: its ends, -1 when there is none
 * @size: bytes that fit
 */
struct pipe {
	int rd, wr;
	uint32_t size;
};

#define PIPE_NONE ((struct pipe){ .rd = -1, .wr = -1, .size = 0 })

/**
 * struct pipepool - the empty pipes
 * @v: the first @n are kept
 * @big: how many of PIPE_SIZE exist, kept and lent; @made: of any size
 * @max: how many there may be; 0: PIPES_MAX
 */
struct pipepool {
	struct pipe v[PIPE_POOL_MAX];
	size_t n;
	size_t big, made, max;
};

/** pipepool_clear() - close the pipes that are kept. */
void pipepool_clear(struct pipepool *p);

/**
 * pipepool_get() - borrow an empty pipe of at least PIPE_SIZE_MIN bytes
 *
 * Return: false when the process has no descriptor or the user no pipe page left; the caller then
 * moves its bytes by copying.
 */
bool pipepool_get(struct pipepool *p, struct pipe *out);

/** pipepool_put() - give back an empty pipe; *@pipe becomes PIPE_NONE. */
void pipepool_put(struct pipepool *p, struct pipe *pipe);

/** pipepool_drop() - close a pipe that still holds bytes; *@pipe becomes PIPE_NONE. */
void pipepool_drop(struct pipepool *p, struct pipe *pipe);

#endif
