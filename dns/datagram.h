/*
 * datagram.h - one UDP message, answered from the address that was asked
 *
 * The sandbox makes every address local, and a client believes an answer only from the address
 * that it asked. A wildcard socket would answer from an address of the kernel's choice, so the
 * destination is taken from the packet and put on the answer as its source.
 */
#ifndef DNS_DATAGRAM_H
#define DNS_DATAGRAM_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/error.h"
#include "dns/wire.h"

#define DATAGRAM_MAX WIRE_EDNS_MAX /* a question takes 275 bytes, its EDNS options the rest */

/** struct datagram - where from, where to, and the bytes; open, but to be copied by function */
struct datagram {
	struct sockaddr_storage peer;
	struct iovec iov;
	struct msghdr msg;
	union {
		char buf[CMSG_SPACE(sizeof(struct in6_pktinfo))];
		struct cmsghdr align;
	} control;
	uint8_t data[DATAGRAM_MAX];
};

/** datagram_prepare() - have a bound socket tell destinations; 0, or -1 with @err. */
int datagram_prepare(int fd, struct error *err);

/**
 * datagram_receive() - the next one, without waiting
 * @n: its length; a longer one than DATAGRAM_MAX is told as empty
 *
 * Return: false when there is none, or when the socket was shut down.
 */
bool datagram_receive(int fd, struct datagram *d, size_t *n);

/** datagram_copy() - where it came from and went to, for an answer later on. */
void datagram_copy(struct datagram *to, const struct datagram *from);

/**
 * datagram_reply() - send an answer to the peer, from the address that it asked
 * @d: received or copied; not for another use afterwards
 *
 * A full send queue loses the answer, as UDP may; the client asks again.
 */
void datagram_reply(int fd, struct datagram *d, uint8_t *p, size_t n);

#endif
