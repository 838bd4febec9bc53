/*
 * tproxy.h - every TCP connection that leaves the loopback addresses arrives at one listener
 *
 * Theory of operation: in the empty namespace every address is local (AnyIP), so a packet to
 * 8.8.8.8:5432 comes back in over lo. One nf_tables rule at the prerouting hook gives it to a
 * transparent listener; getsockname() on the accepted socket is the address that was dialled. No
 * NAT and no connection tracking take part, no port needs a listener of its own, and 127.0.0.0/8
 * and ::1 stay the command's: it may run a server on the very port that it dials elsewhere.
 * Needs nf_tables and nft_tproxy in the kernel (Linux 4.19), and CAP_NET_ADMIN over the namespace.
 */
#ifndef NETNS_TPROXY_H
#define NETNS_TPROXY_H

#include <stdint.h>

/**
 * tproxy_install() - the table, chain and rules, in one transaction
 * @port: of the transparent listeners (IP_TRANSPARENT), IPv4 and IPv6
 *
 * Return: 0, or -1 with errno; then nothing has been changed.
 */
int tproxy_install(uint16_t port);

#endif
