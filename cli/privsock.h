/*
 * privsock.h - unix sockets for our own user only: in a 0700 directory, and each peer looked at
 */
#ifndef CLI_PRIVSOCK_H
#define CLI_PRIVSOCK_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/**
 * struct privsock - a listening socket with a name
 * @fd: listening, non-blocking; -1 when there is none
 * @lock: held for as long as the name is ours
 * @dir: the directory that it lies in
 * @name: its name there, owned
 * @dev, @ino: of that name
 */
struct privsock {
	int fd, lock, dir;
	char *name;
	dev_t dev;
	ino_t ino;
};

/** PRIVSOCK_NONE - none yet */
#define PRIVSOCK_NONE ((struct privsock){ .fd = -1, .lock = -1, .dir = -1 })

/** privsock_dir() - $XDG_RUNTIME_DIR/sbx-net, else the state directory; the caller frees. */
char *privsock_dir(struct error *err);

/**
 * privsock_listen() - bind a socket that only our user reaches
 * @dir: made (0700) if it is missing; refused if somebody else owns it or may enter it
 * @name: of the socket; what a dead process left there is replaced, a living one's is not
 * @out: to be closed by privsock_close()
 *
 * The socket has mode 0600; a lock file NAME.lock beside it says whether its owner lives. A path
 * that does not fit a socket address (107 bytes) is an error that says so. Return: 0, or -1 with
 * @err.
 */
int privsock_listen(struct privsock *out, const char *dir, const char *name, struct error *err);

/** privsock_is_named() - whether its name still leads to it: nobody has removed or replaced it. */
bool privsock_is_named(const struct privsock *s);

/** privsock_close() - close it and remove its name, which the lock keeps ours; none is fine. */
void privsock_close(struct privsock *s);

/** privsock_peer_is_ours() - whether the other end of a connected unix socket is our user. */
bool privsock_peer_is_ours(int fd);

/**
 * privsock_accept() - the next client, non-blocking
 *
 * Return: a descriptor, or -1 with errno: EPERM when it was somebody else and has been turned away.
 */
int privsock_accept(int fd);

/** privsock_connect() - connect to a path that our own user serves or owns. -1 with @err. */
int privsock_connect(const char *path, struct error *err);

/** privsock_connect_any() - the same, whoever answers. */
int privsock_connect_any(const char *path, struct error *err);

#endif
