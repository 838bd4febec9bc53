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
 * @forwards: which records are asked for outside, or NULL for none
 */
struct answer_source {
	struct fakeip *names;
	stub_decide *decide;
	stub_is_local *is_local;
	stub_forwards *forwards;
	void *arg;
};

/**
 * struct answer_wait - a question whose records somebody must ask for
 * @wanted: it is one; @name and @type say what
 */
struct answer_wait {
	bool wanted;
	bool tcp;
	uint16_t type;
	struct hostname name;
	struct wire_query query;
};

/**
 * answer_message() - the reply to one message
 * @p, @n: the message, without the length that TCP puts before it
 * @tcp: no size limit; over UDP the answer is cut to 512 bytes or to what EDNS says
 * @wait: filled; when @wait->wanted, the reply is made later by answer_finish()
 * @out: the reply
 *
 * Return: its length; 0 for no reply now.
 */
size_t answer_message(const struct answer_source *src, const void *p, size_t n, bool tcp,
		      struct answer_wait *wait, uint8_t out[WIRE_REPLY_MAX]);

/**
 * answer_finish() - the reply to a question that had to wait
 * @records: what was found, perhaps nothing; NULL if nobody could be asked
 */
size_t answer_finish(const struct answer_wait *wait, const struct wire_records *records,
		     uint8_t out[WIRE_REPLY_MAX]);

#endif
