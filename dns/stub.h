/*
 * stub.h - the name server inside the sandbox: answers everything about addresses itself
 *
 * Sockets of the sandbox's network namespace are given in; whichever address a client asks, the
 * answer comes from there. A name that the policy allows, or would ask about, gets an address of
 * fakeip.h. No query leaves the machine from here but for the types of records, and the names, that
 * stub_set_forward() admits.
 */
#ifndef DNS_STUB_H
#define DNS_STUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/error.h"
#include "policy/hostname.h"

#define STUB_TTL	  10	/* seconds: a later refusal is soon seen; asking again is cheap */
#define STUB_NEGATIVE_TTL 1	/* seconds: a name that is allowed now must not stay away */
#define STUB_RATE	  20000 /* questions a second, UDP and TCP; more wait in the kernel */
#define STUB_BATCH	  64	/* datagrams a wake-up, so that connections get their turn */
#define STUB_TCP_MAX	  64	/* connections; the longest idle one makes room */
#define STUB_TCP_IDLE_MS  (10 * 1000)
#define STUB_FORWARD_MAX  64  /* questions out; more get SERVFAIL */
#define STUB_FORWARD_RATE 200 /* of them a second: others' servers are not for floods */

struct event_base;
struct fakeip;
struct resolver;
struct stub;

/** enum stub_answer - what the policy says about a name, before any port is known */
enum stub_answer {
	STUB_DENY,  /* NXDOMAIN */
	STUB_ALLOW, /* allowed, or to be asked about when a connection comes: an address */
};

/** typedef stub_decide - called once for each question; must not free the stub */
typedef enum stub_answer stub_decide(void *arg, const struct hostname *name);

/**
 * struct stub_local - the loopback addresses of a name that means the sandbox itself
 * @v4, @v6: AF_UNSPEC for none
 */
struct stub_local {
	struct addr v4, v6;
};

/** typedef stub_is_local - whether a name means the sandbox itself; the policy is not asked then */
typedef bool stub_is_local(void *arg, const struct hostname *name, struct stub_local *out);

/** typedef stub_forwards - whether records of this type are asked for outside for an allowed name */
typedef bool stub_forwards(void *arg, const struct hostname *name, uint16_t type);

/**
 * stub_new() - a name server without sockets
 * @names: not owned; must outlive the stub
 * @decide: never called for localhost and for reverse names, which are answered here
 */
struct stub *stub_new(struct event_base *base, struct fakeip *names, stub_decide *decide,
		      void *arg);

/**
 * stub_client() - whose question is being decided; to be called by @decide and @forwards only
 * @out, @port: receive where its datagram came from, if it was one
 *
 * Return: its connection, only to be looked at; -1 if it was a datagram.
 */
int stub_client(const struct stub *s, struct addr *out, uint16_t *port);

/** stub_set_local() - names besides localhost that mean the sandbox; @arg is stub_new()'s. */
void stub_set_local(struct stub *s, stub_is_local *is_local);

/**
 * stub_set_forward() - ask @r for records that @forwards admits; none before this is called
 * @r: must outlive the stub
 * @forwards: @arg is stub_new()'s; called for names that are allowed and types of enum recordtype only
 */
void stub_set_forward(struct stub *s, struct resolver *r, stub_forwards *forwards);

/** stub_set_rate() - questions a second, STUB_RATE at first; at least one each slice of 50 ms. */
void stub_set_rate(struct stub *s, unsigned rate);

/**
 * stub_set_part() - it is one of @n that somebody may have
 *
 * Each answers, and asks outside, so much less that all together are as one.
 */
void stub_set_part(struct stub *s, unsigned n);

/** stub_set_connections() - TCP connections at a time, STUB_TCP_MAX at first. */
void stub_set_connections(struct stub *s, size_t max);

/** stub_free() - closes its sockets and connections; NULL is allowed. */
void stub_free(struct stub *s);

/**
 * stub_add_udp() - answer on a bound UDP socket, IPv4 or IPv6
 * @fd: taken over in any case; made non-blocking
 *
 * Return: 0, or -1 with @err.
 */
int stub_add_udp(struct stub *s, int fd, struct error *err);

/** stub_add_tcp() - the same for a listening TCP socket. */
int stub_add_tcp(struct stub *s, int fd, struct error *err);

/** stub_connections() - how many TCP connections are open. */
size_t stub_connections(const struct stub *s);

#endif
