/*
 * answer.h - what the stub says to a message: bytes in, bytes out, no socket
 */
#ifndef DNS_ANSWER_H
#define DNS_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/stub.h"
#include "dns/wire.h"

/**
 * struct answer_source - where answers come from
 * @names: the addresses that stand for names
 * @decide, @arg: the policy
 * @is_local: names besides localhost that mean the sandbox, or NULL
 */
struct answer_source {
	struct fakeip *names;
	stub_decide *decide;
	stub_is_local *is_local;
	void *arg;
};

/**
 * answer_message() - the reply to one message
 * @p, @n: the message, without the length that TCP puts before it
 * @tcp: no size limit; over UDP the answer is cut to 512 bytes or to what EDNS says
 * @out: the reply
 *
 * Return: its length; 0 for no reply at all.
 */
size_t answer_message(const struct answer_source *src, const void *p, size_t n, bool tcp,
		      uint8_t out[WIRE_REPLY_MAX]);

#endif
