/*
 * sockopt.h - what every TCP socket of the proxy gets
 */
#ifndef PROXY_SOCKOPT_H
#define PROXY_SOCKOPT_H

/**
 * sockopt_stream() - no Nagle delay, keepalive probes, an end for a peer that has vanished, and a
 * reset if we are killed (fd_linger())
 *
 * Set on a listening socket, Linux passes all of them on to the accepted ones. Other kinds of
 * sockets are left as they are.
 */
void sockopt_stream(int fd);

/**
 * sockopt_near() - the peer is on this machine: there is no network whose congestion matters
 *
 * For what sockopt_stream() has been called on, and inherited as well.
 */
void sockopt_near(int fd);

/**
 * sockopt_client_first() - on a listener whose clients speak first: accept them when they have spoken
 *
 * A client that says nothing is accepted after about a second.
 */
void sockopt_client_first(int fd);

#endif
