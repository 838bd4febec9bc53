/*
 * publish.h - ports of the host's loopback that lead to servers inside (--publish)
 */
#ifndef CLI_PUBLISH_H
#define CLI_PUBLISH_H

#include <stddef.h>

#include "base/error.h"
#include "cli/options.h"

struct event_base;
struct launcher;
struct publish;
struct session;

/**
 * publish_new() - listen on the host's ports, before anything is started
 * @v, @n: --publish options
 *
 * Return: to be freed by publish_free(); NULL with @err, which names the port.
 */
struct publish *publish_new(const struct option_publish *v, size_t n, struct error *err);

/** publish_start() - accept; connections become the session's. 0, or -1 with @err. */
int publish_start(struct publish *p, struct event_base *base, struct launcher *l, struct session *s,
		  struct error *err);

/** publish_free() - NULL is allowed. */
void publish_free(struct publish *p);

#endif
