/*
 * channel.h - one set of name servers, asked through c-ares, driven by libevent
 */
#ifndef DNS_CHANNEL_H
#define DNS_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define CHANNEL_TRY_MS 1500 /* first wait for an answer; c-ares doubles it each round */
#define CHANNEL_TRIES  3    /* rounds over all servers: 1.5 + 3 + 6 s */

struct event_base;
struct channel;
struct channel_ask;

/**
 * typedef channel_cb - a question has been answered, or has failed
 * @status: ARES_SUCCESS or another ARES_ code
 * @msg, @len: the message when there was one, valid during the call only
 */
typedef void channel_cb(void *arg, int status, const uint8_t *msg, size_t len);

/**
 * channel_new() - open a channel
 * @servers: "ADDR", "ADDR:PORT" or "[V6]:PORT", NULL-terminated; NULL for those of @resolv_conf
 * @resolv_conf: path, read now and only for its servers; unused when @servers is given
 *
 * Neither the search list, options and domain of that file nor any variable of the environment
 * has an effect.
 *
 * Return: NULL with @err on failure. Free with channel_free().
 */
struct channel *channel_new(struct event_base *base, const char *const *servers,
			    const char *resolv_conf, struct error *err);

/** channel_free() - what is out ends without a call; not from a callback. NULL is allowed. */
void channel_free(struct channel *c);

/**
 * channel_ask() - send one question
 * @name: absolute, with or without the final dot
 * @type: DNS type, class IN
 * @cb: called exactly once unless forgotten; perhaps before this function returns
 * @out: the question, valid until @cb was called; set before @cb can be
 */
void channel_ask(struct channel *c, const char *name, int type, channel_cb *cb, void *arg,
		 struct channel_ask **out);

/** channel_forget() - the callback will not be called. */
void channel_forget(struct channel_ask *ask);

/** channel_pending() - how many questions are out, forgotten ones included. */
size_t channel_pending(const struct channel *c);

#endif
