/*
 * recordask.h - one question for records that are passed on, asynchronously
 */
#ifndef DNS_RECORDASK_H
#define DNS_RECORDASK_H

#include <stdint.h>

#include "dns/wire.h"
#include "policy/hostname.h"

struct event_base;
struct recordask;
struct resolver;

/**
 * typedef recordask_cb - the answer, called once and never before recordask_start() returns
 * @records: during the call only; possibly none, when there is nothing of this type or no such name;
 *           NULL when nobody has answered in time, or not sensibly
 */
typedef void recordask_cb(void *arg, const struct wire_records *records);

/**
 * recordask_start() - ask the resolver's servers
 * @type: one of enum recordtype
 *
 * Return: the question, valid until @cb was called or recordask_cancel(); to be cancelled before
 * the resolver is freed. NULL when too many are out.
 */
struct recordask *recordask_start(struct event_base *base, struct resolver *r,
				  const struct hostname *name, uint16_t type, recordask_cb *cb,
				  void *arg);

/** recordask_cancel() - guarantees that the callback is not called. Not from there. */
void recordask_cancel(struct recordask *a);

#endif
