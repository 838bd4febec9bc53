/*
 * seccomp_supervisor.h - the filter that the supervisor puts itself under once it is set up
 *
 * An allow-list: the event loop, sockets, DNS, splice, and its own files. A call that can start or
 * alter a process or the mount tree kills the supervisor (SIGSYS); any other unlisted call is EPERM
 * or ENOSYS, so that a library's probe for a feature is not fatal.
 */
#ifndef LAUNCHER_SECCOMP_SUPERVISOR_H
#define LAUNCHER_SECCOMP_SUPERVISOR_H

#include "base/error.h"
#include "launcher/seccomp.h"

/** seccomp_supervisor_build() - the filter for @arch. Return: 0, or -1 with @err. */
int seccomp_supervisor_build(enum seccomp_arch arch, struct seccomp_program *out,
			     struct error *err);

/**
 * seccomp_supervisor_install() - set no_new_privs and put the calling process under the filter
 *
 * To be called when nothing is left to be forked or exec'd. Return: 0, or -1 with @err.
 */
int seccomp_supervisor_install(struct error *err);

#endif
