/*
 * server.h - what the origin, the relays and the forwarder of the benchmarks have in common
 */
#ifndef TESTS_BENCH_SERVER_H
#define TESTS_BENCH_SERVER_H

#include <stdbool.h>

/** server_begin() - end with the parent, take as many descriptors as there may be, no SIGPIPE. */
void server_begin(void);

/**
 * server_listen() - what listens, non-blocking
 * @where: ADDR:PORT (IPv4), or fd:N for a socket that was handed over, as a sandbox's is
 * @shared: each process may have one of its own (SO_REUSEPORT)
 *
 * Return: the descriptor, or -1 with errno.
 */
int server_listen(const char *where, bool shared);

#endif
