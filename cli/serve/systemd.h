/*
 * systemd.h - sockets that a service manager has opened for us, and word to it that we are ready
 */
#ifndef CLI_SERVE_SYSTEMD_H
#define CLI_SERVE_SYSTEMD_H

#include <stddef.h>

#include "base/error.h"

#define SYSTEMD_SOCKETS_MAX 8

/** enum systemd_kind - what a socket is for, by its name: "control" or "control.sock", or not */
enum systemd_kind { SYSTEMD_PROXY, SYSTEMD_CONTROL };

/** struct systemd_socket - one socket that was passed in */
struct systemd_socket {
	int fd;
	enum systemd_kind kind;
};

/**
 * systemd_sockets() - take what sd_listen_fds(3) would, and take the variables away
 * @out: SYSTEMD_SOCKETS_MAX entries; the descriptors are the caller's, CLOEXEC and non-blocking
 *
 * The name is FileDescriptorName= or, without, the last part of the path. Anything but a listening
 * unix stream socket is an error. Return: 0, or -1 with @err.
 */
int systemd_sockets(struct systemd_socket *out, size_t *n, struct error *err);

/** systemd_notify_open() - a socket to $NOTIFY_SOCKET, or -1 when nobody listens there. */
int systemd_notify_open(void);

/** systemd_notify() - send a state ("READY=1"); @fd may be -1. */
void systemd_notify(int fd, const char *state);

#endif
