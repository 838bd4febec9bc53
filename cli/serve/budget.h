/*
 * budget.h - how the descriptors of `serve` are divided
 *
 * There are as many as the hard limit says (`ulimit -Hn`, or LimitNOFILE= of a unit). Each use has a
 * part that no other can take, so that control.sock answers whatever is connected, and a session that
 * may begin finds what it needs. Inside a part, peers share by base/fairshare.h.
 */
#ifndef CLI_SERVE_BUDGET_H
#define CLI_SERVE_BUDGET_H

#include <stddef.h>

#define CLIENTS_MAX	512 /* control connections; sessions are among them */
#define SESSIONS_MAX	384 /* of all peers */
#define DNS_CONNECTIONS 16  /* by TCP, to the name server of one session */
#define OWN_DESCRIPTORS \
	200 /* the loop's, the resolver's, logs, what is kept back, one batch of accepts */
#define DESCRIPTORS_LEAST 1024

/**
 * struct budget
 * @clients, @sessions: how many there may be; a session is a client, with a descriptor more
 * @listeners: of all sessions, and DNS_CONNECTIONS for each
 * @pipes: of two descriptors
 * @connections: descriptors for connections
 */
struct budget {
	size_t clients, sessions, listeners, pipes, connections;
};

/** budget_of() - @files descriptors, divided. With less than DESCRIPTORS_LEAST it gives more than there are. */
struct budget budget_of(size_t files);

#endif
