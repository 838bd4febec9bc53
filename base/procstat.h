/*
 * procstat.h - what /proc tells of a process
 */
#ifndef BASE_PROCSTAT_H
#define BASE_PROCSTAT_H

#include <sys/types.h>

/**
 * procstat_parent() - the process that has started @pid, or that it was handed to
 *
 * 0 if there is none in this PID namespace, or nobody can tell.
 */
pid_t procstat_parent(pid_t pid);

#endif
