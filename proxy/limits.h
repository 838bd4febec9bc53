/*
 * limits.h - every limit of the proxy, as a number with its unit and its reason
 *
 * What a stranger sends is bounded before it is understood. Each number has a test:
 * tests/lint/limits.sh holds this file to that.
 */
#ifndef PROXY_LIMITS_H
#define PROXY_LIMITS_H

#include <stddef.h>

/* Heads of requests: what popular servers accept by default, and far above what clients send. */
#define HTTP_HEAD_MAX		   (16 * 1024) /* bytes, request line and final empty line included */
#define HTTP_FIELDS_MAX		   100	       /* header lines of one request */
#define HTTP_CONNECTION_TOKENS_MAX 64	       /* names in Connection, all its lines together */
#define HEAD_TIMEOUT_MS		   (10 * 1000) /* ms for a whole head or handshake, not per read */

/* Heads of responses: servers send more (cookies, content policies). */
#define HTTP_RESPONSE_HEAD_MAX	 (64 * 1024) /* bytes */
#define HTTP_RESPONSE_FIELDS_MAX 256	     /* header lines */
#define HTTP_INTERIM_MAX	 64	     /* 1xx responses before the final one */

/* Bodies */
#define CHUNKED_SIZE_DIGITS_MAX 16	   /* hex digits, leading zeros included: 64 bits */
#define CHUNKED_LINE_MAX	256	   /* bytes of a size line, extensions included */
#define CHUNKED_TRAILERS_MAX	(8 * 1024) /* bytes of all trailers, which are dropped */

/* SOCKS */
#define SOCKS5_GREETING_MAX 257		      /* bytes: version, count, 255 methods (RFC 1928) */
#define SOCKS5_REQUEST_MAX  (4 + 1 + 255 + 2) /* bytes: head, length, name, port (RFC 1928) */
#define SOCKS4_USERID_MAX   255		      /* bytes; the protocol names no bound */
#define SOCKS4_HOST_MAX	    255		      /* bytes; what SOCKS5 could carry */
#define SOCKS4_REQUEST_MAX  (8 + SOCKS4_USERID_MAX + 1 + SOCKS4_HOST_MAX + 1)

/* TLS: a ClientHello with post-quantum key shares has 2 KiB; padding may add much more. */
#define TLS_HELLO_MAX (64 * 1024) /* bytes on the wire, record headers included */

/* Connections */
#define SESSION_CONNECTIONS_MAX	 4096  /* client connections of one session */
#define LONE_CONNECTIONS_MAX	 9900  /* of a session that has the process to itself */
#define PROXY_CONNECTIONS_MAX	 20000 /* of all sessions */
#define CONNECTION_DESCRIPTORS	 2     /* of one: the client's and the server's; pipes are lent */
#define ACCEPT_BATCH		 64    /* accepts per wake-up, so that others get their turn */
#define ACCEPT_BACKOFF_MS	 100   /* ms not listening after EMFILE, ENFILE, ENOBUFS */
#define CONNECT_TIMEOUT_MS	 (10 * 1000) /* ms for all addresses of a target together */
#define CONNECT_ATTEMPTS_MAX	 6	     /* addresses tried at a time */
#define CONNECT_AAAA_WAIT_MS	 50 /* ms that IPv4 waits for the AAAA answer (RFC 8305 section 3) */
#define CONNECT_ATTEMPT_DELAY_MS 250	     /* ms before the next address (RFC 8305 section 8) */
#define EARLY_DATA_MAX		 (64 * 1024) /* bytes kept before the target is connected */
#define REPLY_TIMEOUT_MS	 (5 * 1000)  /* ms to take a refusal before the socket is closed */

/*
 * Tunnels, and messages under way: idle is normal (long polls, ssh), so the one clock that both
 * directions wind up is as slow as what routers on the way have to bear: RFC 5382 REQ-5, 2 h 4 min.
 * It is looked at IDLE_TICKS times in that time, for all connections together. Probes find dead
 * peers long before.
 */
#define IDLE_TIMEOUT_MS	     (124 * 60 * 1000) /* ms without a byte either way */
#define IDLE_TICKS	     8		      /* looks: the end comes up to 1/8 late, never early */
#define KEEPALIVE_IDLE_S     60		      /* s before the first probe */
#define KEEPALIVE_INTERVAL_S 15		      /* s between probes */
#define KEEPALIVE_COUNT	     4		      /* probes unanswered: the peer is dead */
#define TCP_USER_TIMEOUT_MS  (15 * 60 * 1000) /* ms unacknowledged, or of a reader that stopped */
#define TUNNEL_TURN	     (1024 * 1024) /* bytes moved one way before others have their turn */
#define PIPE_SIZE	     (1024 * 1024) /* bytes of a splice pipe; the kernel's usual cap */
#define PIPE_SIZE_MIN	     (64 * 1024)   /* bytes; less is not worth a splice */
#define PIPE_BIG_MAX	     24	  /* pipes of PIPE_SIZE, of the 64 MiB that a user may have */
#define PIPE_POOL_MAX	     32	  /* idle pipes kept for the next burst */
#define PIPES_MAX	     4096 /* kept and lent; without one, bytes are copied */

/* The proxy that we ourselves must go through */
#define UPSTREAM_HEAD_MAX	(16 * 1024) /* bytes of its answer to CONNECT */
#define UPSTREAM_TLS_TIMEOUT_MS (10 * 1000) /* ms for TLS with it */
#define UPSTREAM_TIMEOUT_MS	(30 * 1000) /* ms for its whole handshake: it connects meanwhile */

/* Forwarding of plain HTTP */
#define FORWARD_BUFFER_MAX    (64 * 1024) /* bytes held each way: the high-water mark */
#define KEEP_ALIVE_TIMEOUT_MS (60 * 1000) /* ms between two requests of a client */
#define RESPONSE_TIMEOUT_MS \
	(5 * 60 * 1000) /* ms without a byte for a client that has half-closed */

/**
 * struct limits - those that hold for a proxy and that a test may want smaller
 * @head_ms, @reply_ms, @keep_alive_ms, @response_ms, @upstream_tls_ms, @upstream_ms, @idle_ms: the *_TIMEOUT_MS
 * @session_connections, @connections: SESSION_CONNECTIONS_MAX and PROXY_CONNECTIONS_MAX
 * @descriptors: of all connections, dials included
 * @pipes: PIPES_MAX
 */
struct limits {
	unsigned head_ms, reply_ms, keep_alive_ms, response_ms, upstream_tls_ms, upstream_ms,
		idle_ms;
	size_t session_connections, connections, descriptors, pipes;
};

/** limits_default() - the numbers above. */
struct limits limits_default(void);

#endif
