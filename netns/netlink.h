/*
 * netlink.h - the few rtnetlink requests that an empty network namespace needs, by hand
 */
#ifndef NETNS_NETLINK_H
#define NETNS_NETLINK_H

#include <stdint.h>
#include <sys/socket.h>

struct nlmsghdr;

/** netlink_open() - a NETLINK_ROUTE socket in the current namespace; @groups: RTMGRP_ or 0. */
int netlink_open(uint32_t groups);

/** netlink_lo_up() - set interface 1 up; the kernel then adds 127.0.0.1/8 and ::1. 0 or -1. */
int netlink_lo_up(int sock);

/**
 * netlink_lo_second() - give interface 1 the address 127.0.0.2, too. 0 or -1.
 *
 * Where 127.0.0.1 is the only IPv4 address there is, getaddrinfo() of glibc takes AI_ADDRCONFIG for "no
 * IPv4", and finds nothing for AF_INET; GLib's resolver, for one, asks so.
 */
int netlink_lo_second(int sock);

/** netlink_local_any() - "local default dev lo" in table local for @family (AnyIP). 0 or -1. */
int netlink_local_any(int sock, sa_family_t family);

/**
 * netlink_dump() - ask for a table and see each message of the answer
 * @type: RTM_GETADDR and the like
 * @each: called for every message but the last
 *
 * Return: 0, or -1 with errno (EINTR when the table changed meanwhile: ask again).
 */
int netlink_dump(int sock, uint16_t type, void (*each)(void *arg, const struct nlmsghdr *h),
		 void *arg);

/**
 * netlink_dump_local() - the same for the routes of table local, of one family
 *
 * Kernels before 4.20 send every table: @each must look at rtm_table itself.
 */
int netlink_dump_local(int sock, sa_family_t family,
		       void (*each)(void *arg, const struct nlmsghdr *h), void *arg);

#endif
