/*
 * sockopt.h - what every TCP socket of the proxy gets
 */
#ifndef PROXY_SOCKOPT_H
#define PROXY_SOCKOPT_H

/**
 * sockopt_stream() - no Nagle delay, keepalive probes, and an end for a peer that has vanished
 *
 * Set on a listening socket, Linux passes all of them on to the accepted ones. Other kinds of
 * sockets are left as they are.
 */
void sockopt_stream(int fd);

#endif
