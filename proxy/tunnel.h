/*
 * tunnel.h - bytes between two stream sockets, in both directions
 *
 * No loop and no policy: whoever owns the sockets' events tells what became ready and calls
 * tunnel_pump(). A tunnel without pending bytes owns no pipe and no buffer.
 */
#ifndef PROXY_TUNNEL_H
#define PROXY_TUNNEL_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proxy/limits.h"
#include "proxy/pipepool.h"

struct tls;

#define TUNNEL_COPY (16 * 1024) /* bytes; less than this at a time is copied, not spliced */

/**
 * struct side - one socket and what is known of it
 * @ev: edge-triggered and persistent, EV_READ and EV_CLOSED; EV_WRITE joins at the first full send buffer
 * @tls: the bytes go through it, not to the socket as they are; or NULL
 * @fd: the socket, -1 when there is none
 * @readable, @writable: worth trying; cleared by EAGAIN, set by the event
 * @armed: @ev waits for EV_WRITE too
 * @watched: @ev has been added
 * @broken: an error was seen: what was sent to it last may be lost
 * @drained: the last side_recv() got less than it asked for
 * @ended: an event has told of the peer's end
 * @stirred: an event has told of something since side_notice()
 * @local: a unix socket; @held: the first byte in its receive queue has been read, see side_recv()
 */
struct side {
	struct event ev;
	struct tls *tls;
	int fd;
	bool readable, writable, watched, armed, broken, local, held, drained, ended, stirred;
};

/**
 * struct way - one direction, from side[i] to side[1 - i]
 * @keep: bytes to be sent before anything else, @keep_off of @keep_len sent, or NULL
 * @bytes: payload handed to the receiver's kernel
 * @pipe: holds @held bytes, or PIPE_NONE
 * @uncounted: so many of the bytes in @keep are ours and no payload
 * @bulk: the last turn moved much: splice at once
 * @shut: nothing is passed on and nothing read, until somebody opens it
 * @eof: the sender's end was read
 * @done: and passed on
 */
struct way {
	uint8_t *keep;
	uint64_t bytes;
	struct pipe pipe;
	uint32_t held, keep_off, keep_len, uncounted;
	bool bulk, shut, eof, done;
};

/** struct tunnel - side[0] is the client, way[0] leads upstream */
struct tunnel {
	struct side side[2];
	struct way way[2];
};

/** enum tunnel_status - what is to be done after a turn */
enum tunnel_status {
	TUNNEL_WAIT,  /* nothing until the next event */
	TUNNEL_AGAIN, /* a turn was used up, more could be moved: call again soon */
	TUNNEL_DONE,  /* both ends were read and passed on: close */
	TUNNEL_CUT,   /* one side is broken and what it sent is delivered: reset the other */
};

/** tunnel_init() - no sockets, nothing pending. */
void tunnel_init(struct tunnel *t);

/** tunnel_clear() - give up what is pending; the sockets are closed by their owner. */
void tunnel_clear(struct tunnel *t, struct pipepool *pool);

/**
 * side_open() - take a connected non-blocking socket
 * @cb: told of edges; it calls side_ready() first
 *
 * Return: false if the kernel cannot watch it (no memory); side_close() is still due.
 */
bool side_open(struct side *s, struct event_base *base, int fd, event_callback_fn cb, void *arg);

/**
 * side_take() - the same, but events come only after side_watch()
 *
 * A client that can be answered at once and is closed again need not be watched at all. What
 * becomes ready meanwhile is reported when watching begins.
 */
void side_take(struct side *s, struct event_base *base, int fd, event_callback_fn cb, void *arg);

/** side_watch() - begin, if that has not been done yet. Return: as side_open(). */
bool side_watch(struct side *s);

/** side_wrap() - the socket speaks TLS: from now on @tls is the side's. */
void side_wrap(struct side *s, struct tls *tls);

/** side_set_local() - it is a unix socket: it is to end in a reset, too, where TCP would. */
void side_set_local(struct side *s);

/**
 * side_recv() - recv(2) from a side, whichever it is
 * @flags: 0 or MSG_PEEK
 *
 * A unix socket knows no SO_LINGER; its peer sees ECONNRESET, after all that was sent, when the socket
 * is closed with something unread (unix_release_sock() in the kernel). So the last byte that was
 * read stays in the queue until the next is read behind it, or side_close() ends it cleanly.
 */
ssize_t side_recv(struct side *s, void *p, size_t n, int flags);

/**
 * side_settle() - the message that was read is whole: nothing more is expected now
 *
 * Saves the recv() that would only say EAGAIN. A stream that gave less than it was asked for is
 * empty, and whatever comes later makes an edge. Three things can hide behind a short read: the
 * end of the stream, but EV_CLOSED has told of that; a reset, which comes as EV_READ like anything
 * else, so that side_has_error() is for the caller to ask where it matters; and what follows a
 * byte out of band, where recv() stops. So a tunnel reads until EAGAIN.
 */
void side_settle(struct side *s);

/** side_ready() - note what the event said. */
void side_ready(struct side *s, short what);

/** side_want_write() - after a short send: have EV_WRITE reported, from now on. */
void side_want_write(struct side *s);

/** side_close() - close the socket; with @reset the peer sees one, never a clean end. */
void side_close(struct side *s, bool reset);

/** side_has_error() - an error waits to be told, a reset for example; it stays there. */
bool side_has_error(const struct side *s);

/**
 * side_notice() - where nothing is read for a while: has it failed meanwhile?
 *
 * Costs a system call if an event has come since the last time. Return: whether it is broken.
 */
bool side_notice(struct side *s);

/** side_has_ended() - the peer has sent its end, though bytes may stand before it. */
bool side_has_ended(const struct side *s);

/** side_unsent() - bytes that the peer has not acknowledged; SIZE_MAX when unknown. */
size_t side_unsent(const struct side *s);

/** side_unread() - bytes that the peer has sent and nobody has read. */
size_t side_unread(const struct side *s);

/**
 * tunnel_keep() - bytes that go before whatever comes from the sender
 * @i: the way
 * @uncounted: how many of them, from the first on, are no payload
 *
 * May be called more than once; the bytes are copied and queue up.
 */
void tunnel_keep(struct tunnel *t, unsigned i, const void *p, size_t n, size_t uncounted);

/** way_flush() - hand over what is pending to @to. Return: true when nothing is pending. */
bool way_flush(struct way *w, struct side *to);

/** way_read() - recv() from @from, whose end or failure is noted. Return: as recv(). */
ssize_t way_read(struct way *w, struct side *from, void *p, size_t n);

/** way_send() - nothing is pending: send, and keep what is not taken. A failure breaks @to. */
void way_send(struct way *w, struct side *to, const void *p, size_t n);

/**
 * way_fill() - nothing is pending: take at most @max bytes from @from into the way's pipe
 *
 * Return: as splice(2); 0 (the end) and EAGAIN (there is nothing) may be wrong: ask side_recv() then.
 */
ssize_t way_fill(struct way *w, struct side *from, size_t max);

/** tunnel_pump() - move what can be moved. @scratch: TUNNEL_COPY bytes shared by all tunnels. */
enum tunnel_status tunnel_pump(struct tunnel *t, struct pipepool *pool, uint8_t *scratch);

#endif
