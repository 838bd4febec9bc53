/*
 * whose.h - which program made a connection, for the audit log and for what is learnt
 *
 * Theory of operation stands in whose.c.
 */
#ifndef CLI_ASK_WHOSE_H
#define CLI_ASK_WHOSE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "cli/ask/who.h"
#include "proxy/proxy.h"

struct whose;

/**
 * whose_new() - start to look, before lockdown_enter()
 * @init: pid 1 of the sandbox, as seen from here; 0 to look for others, by whose_join(), only
 *
 * Return: to be freed by whose_free(); NULL with @err.
 */
struct whose *whose_new(pid_t init, struct error *err);

/**
 * whose_join() - look into one more sandbox, with the process of @with, which must outlive it
 * @init: what all processes of that sandbox are below, as seen from here
 * @netns: its network namespace (fd_netns()), to which looks that are slow are counted
 */
struct whose *whose_join(const struct whose *with, pid_t init, uint64_t netns);

/** whose_free() - NULL is allowed. */
void whose_free(struct whose *w);

/**
 * whose_look() - who is at the other end of a decision's connection
 *
 * Return: valid until the next call; NULL if it is not known, or the like was looked for already.
 */
const struct who *whose_look(struct whose *w, const struct proxy_event *ev);

#endif
