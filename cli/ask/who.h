/*
 * who.h - which program inside the sandbox holds the other end of a connection
 *
 * Only to be shown: a process can call itself what it likes, and may be gone by now.
 */
#ifndef CLI_ASK_WHO_H
#define CLI_ASK_WHO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/addr.h"

#define WHO_CHAIN_MAX 256
#define WHO_ARGV_MAX  512

/**
 * struct who - a process and how it came to be; a value without pointers
 * @pid: as seen outside; 0 if nobody was found
 * @chain: "npm > node > sh", oldest first; printable ASCII
 * @argv: its command line; printable ASCII, cut
 */
struct who {
	pid_t pid;
	char chain[WHO_CHAIN_MAX];
	char argv[WHO_ARGV_MAX];
};

/**
 * struct who_socket - a socket inside, by its own end
 * @udp: of that kind; else TCP
 */
struct who_socket {
	bool udp;
	struct addr addr;
	uint16_t port;
};

/**
 * who_find() - look for the owner of a socket
 * @init: pid 1 of the sandbox, as seen from here, or whatever all its processes are below
 *
 * Reads /proc: by the same user, not confined by Landlock. Takes a fraction of a millisecond and is
 * bounded by the number of the sandbox's processes. Return: whether it was found.
 */
bool who_find(pid_t init, const struct who_socket *socket, struct who *out);

#endif
