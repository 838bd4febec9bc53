/*
 * fd.h - descriptors: flags, whole writes, and sending them over a unix socket
 */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/error.h"

/* SCM_MAX_FD of the kernel is 253 (include/net/scm.h); more are sent in several messages. */
#define FD_BATCH_MAX 64

/** fd_set_nonblock() - set O_NONBLOCK. Return: 0, or -1 with errno. */
int fd_set_nonblock(int fd);

/**
 * fd_linger() - what close(2) does to a TCP connection, and the kernel when this process dies
 * @fd: any socket; what is no socket is left alone
 * @reset: true: the peer sees a reset. false: an orderly end, and close(2) does not wait for the
 *         peer to take what was sent, whatever somebody else who had the socket asked for
 *
 * A connection has @reset from its first byte and loses it where its end is a true one, so that a
 * process that is killed never makes half a transfer look whole. Accepted sockets have what their
 * listener had.
 */
void fd_linger(int fd, bool reset);

/**
 * fd_close_foreign() - close(2) a descriptor that somebody else had, or one accepted from such
 *
 * As far as it can be told, without waiting: a socket may have been given SO_LINGER and bytes that
 * nobody takes. Who changes that back at the same moment makes it wait for a signal.
 */
void fd_close_foreign(int fd);

/**
 * fd_pass_rights() - whether descriptors may be sent to a unix socket
 * @sock: connected; or listening, and then for all that connect from now on
 *
 * Descriptors that were sent and that nobody takes are closed by the kernel in our name, which may
 * wait as in fd_close_foreign(). Return: 0, or -1 with errno (before Linux 6.16).
 */
int fd_pass_rights(int sock, bool allowed);

/**
 * fd_netns() - which network namespace a socket belongs to: SO_NETNS_COOKIE
 * @sock: an accepted unix socket belongs to that of who has connected, not to ours
 *
 * Return: a number that no other namespace has had since the boot; 0 if the kernel does not tell.
 */
uint64_t fd_netns(int sock);

/**
 * fd_is_its_own_peer() - whether a connected socket has connected to itself
 *
 * The kernel lets it: to an address of this machine, where nobody listens, from a port that it chose
 * for the socket and that happens to be the one wanted (RFC 9293 3.5). Nobody has answered then.
 */
bool fd_is_its_own_peer(int sock);

/** fd_is_regular() - whether a descriptor is of a regular file. */
bool fd_is_regular(int fd);

/** fd_write_all() - write all of (@p, @n) to a blocking descriptor. Return: 0, or -1 with errno. */
int fd_write_all(int fd, const void *p, size_t n);

/** fd_read_full() - read until @n bytes or EOF; EINTR is retried. Return: bytes read, or -1. */
ssize_t fd_read_full(int fd, void *p, size_t n);

/**
 * fd_path() - where an open descriptor leads, as a canonical path
 *
 * Return: the path, which the caller frees; NULL with errno (ENAMETOOLONG too for what has none, ENOENT
 * for what has been removed, or renamed over).
 */
char *fd_path(int fd);

/**
 * fd_opendir() - list an open directory
 * @dir: O_PATH will do; it stays as it is, and the caller's
 *
 * Return: to be closed by closedir(3); NULL with errno.
 */
DIR *fd_opendir(int dir);

/**
 * fd_readdir() - readdir(3), but an error is none of the end
 * @whole: cleared on an error
 */
struct dirent *fd_readdir(DIR *d, bool *whole);

/**
 * fd_open_plain() - open(2), but no component of the path may be a symbolic link
 * @dir: AT_FDCWD, or the directory beneath which @path must stay
 * @flags: O_CLOEXEC is added
 *
 * Return: the descriptor, which the caller owns; -1 with errno (ELOOP for a link, EXDEV for a way
 * out of @dir).
 */
int fd_open_plain(int dir, const char *path, int flags);

/**
 * fd_open_regular() - open a regular file for reading by a name from outside
 * @dir: AT_FDCWD, or the directory in which @path is looked for
 * @flags: O_NOFOLLOW or 0
 *
 * Anything but a regular file is an error, and is not even opened: that would let the writer of a named pipe
 * go, or start what a device does. Return: the descriptor, which the caller owns; -1 with @err and errno
 * (EINVAL or EISDIR for what is no regular file).
 */
int fd_open_regular(int dir, const char *path, int flags, struct error *err);

/**
 * fd_read_file() - the whole of a file
 * @fd: opened for reading
 * @max: the largest size accepted, in bytes
 * @len: its length
 *
 * Return: the contents with a zero byte behind them, which the caller frees; NULL with errno
 * (EFBIG when it is larger than @max, EISDIR for a directory).
 */
char *fd_read_file(int fd, size_t max, size_t *len);

/**
 * fd_raise_limit() - let this process have as many descriptors open as its hard limit says
 * @was: NULL, or receives the limits for setrlimit(2) to put back
 */
void fd_raise_limit(struct rlimit *was);

/**
 * fd_send() - send bytes and descriptors over a unix socket in one message
 * @sock: a connected AF_UNIX stream or seqpacket socket
 * @p: at least one byte (a stream message without bytes carries no descriptors)
 * @n: how many bytes
 * @fds: descriptors to send; they stay open here
 * @nfds: how many, at most FD_BATCH_MAX
 *
 * Return: 0, or -1 with errno.
 */
int fd_send(int sock, const void *p, size_t n, const int *fds, size_t nfds);

/**
 * fd_recv() - receive bytes and descriptors
 * @sock: a connected AF_UNIX socket
 * @p: buffer of @n bytes
 * @fds: receives the descriptors, CLOEXEC, which the caller owns; unused ones are -1
 * @max: size of @fds, at most FD_BATCH_MAX; if more arrive, all are closed and EMSGSIZE is returned
 * @nfds: how many arrived
 *
 * Return: bytes received (0 is EOF), or -1 with errno.
 */
ssize_t fd_recv(int sock, void *p, size_t n, int *fds, size_t max, size_t *nfds);

#endif
