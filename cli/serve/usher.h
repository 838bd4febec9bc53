/*
 * usher.h - descriptors from sandboxes are looked at before the server has them
 *
 * To receive a descriptor is to have to close it, and close(2) of a file may wait for ever: that of a
 * FUSE file system waits for the file system's program, whatever signal comes. So a client's listeners are
 * received by a process of their own, which passes on what is a listening socket, and may wait.
 * Theory of operation stands in usher.c.
 */
#ifndef CLI_SERVE_USHER_H
#define CLI_SERVE_USHER_H

#include "base/error.h"

/* What it means that it has ended: no new one can be forked after lockdown_enter(). */
#define USHER_GONE                                                                          \
	"the process that receives the listeners of sandboxes has ended, so that none can " \
	"attach; start serve again"

struct usher;

/**
 * usher_start() - fork it
 *
 * Must be called while single-threaded, and before lockdown_enter().
 * Return: to be freed by usher_free(); NULL with @err.
 */
struct usher *usher_start(struct error *err);

/** usher_free() - it ends, and those that receive with it, unless they wait; NULL is allowed. */
void usher_free(struct usher *u);

/** usher_fd() - what becomes readable when the usher has ended, by whose hand ever: it never says a word. */
int usher_fd(const struct usher *u);

/**
 * usher_receive() - have what a client sends come by way of a process
 * @client: stays the caller's, who reads nothing of it meanwhile
 *
 * The process takes messages of the client until shutdown(SHUT_WR) of the socket that is returned, and
 * passes each on; one with a descriptor that is no listener is its end. Once it is gone, with all that it
 * had, the socket is at its end, and not before.
 *
 * Return: a non-blocking socket that the caller owns, or -1 with @err.
 */
int usher_receive(struct usher *u, int client, struct error *err);

#endif
