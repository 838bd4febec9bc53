/*
 * probe.h - one attempt to reach outside, by name
 *
 * A probe returns 0 if the attempt worked, else the errno that stopped it; PROBE_SKIP if it cannot
 * be made on this machine at all. main() prints the outcome as a word: OK, EPERM, SKIP.
 */
#ifndef TESTS_ESCAPE_PROBE_H
#define TESTS_ESCAPE_PROBE_H

#include <errno.h>

#define PROBE_SKIP (-1)

/**
 * struct probe - one row of the registry
 * @name: what the driver calls it by
 * @run: @args is NULL-terminated
 */
struct probe {
	const char *name;
	int (*run)(char *const *args);
};

/* Each ends with an empty row. */
extern const struct probe net_probes[];
extern const struct probe process_probes[];
extern const struct probe file_probes[];
extern const struct probe whole_probes[];

/** probe_find() - the row of that name; NULL if there is none. */
const struct probe *probe_find(const char *name);

/** outcome() - 0 or errno, from the result of a system call. */
static inline int outcome(long rc)
{
	return rc < 0 ? errno : 0;
}

#endif
