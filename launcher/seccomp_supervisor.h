/*
 * seccomp_supervisor.h - the filter that the supervisor puts itself under once it is set up
 *
 * An allow-list: the event loop, sockets, DNS, splice, and its own files. A call that can start or
 * alter a process or the mount tree kills the supervisor (SIGSYS); any other unlisted call is EPERM
 * or ENOSYS, so that a library's probe for a feature is not fatal. Signals go to itself and to the
 * processes that it is told of, by their numbers.
 */
#ifndef LAUNCHER_SECCOMP_SUPERVISOR_H
#define LAUNCHER_SECCOMP_SUPERVISOR_H

#include <sys/types.h>

#include "base/error.h"
#include "launcher/seccomp.h"

/**
 * struct seccomp_peers - to whom the supervisor may send signals, beside itself
 * @self: the supervisor; seccomp_supervisor_install() knows it
 * @relay: a child, whose number is its own until we reap it; 0: none
 * @pidfd: a descriptor of pid 1; 0: none
 */
struct seccomp_peers {
	pid_t self, relay;
	int pidfd;
};

/** seccomp_supervisor_build() - the filter for @arch. Return: 0, or -1 with @err. */
int seccomp_supervisor_build(enum seccomp_arch arch, const struct seccomp_peers *peers,
			     struct seccomp_program *out, struct error *err);

/**
 * seccomp_supervisor_install() - set no_new_privs and put the calling process under the filter
 *
 * To be called when nothing is left to be forked or exec'd. Return: 0, or -1 with @err.
 */
int seccomp_supervisor_install(const struct seccomp_peers *peers, struct error *err);

#endif
