/*
 * trial.h - what this host lets a sandbox be made of, found by making one
 *
 * For `sbx-net doctor`. Each part is tried by the very functions that a run uses, in a child that
 * ends; a sysctl is read only to explain a failure.
 */
#ifndef LAUNCHER_TRIAL_H
#define LAUNCHER_TRIAL_H

#include <stdbool.h>

#include "base/error.h"

/** enum trial_part - what is tried, in the order of a run */
enum trial_part {
	TRIAL_LANDLOCK,	  /* Landlock of the least ABI */
	TRIAL_SCOPES,	  /* and one that keeps signals and abstract sockets back */
	TRIAL_SECCOMP,	  /* a filter */
	TRIAL_NAMESPACES, /* all of them in one call */
	TRIAL_IDS,	  /* the maps of the user namespace */
	TRIAL_NETWORK,	  /* lo, and every address local */
	TRIAL_MOUNTS,	  /* the mount calls that a run makes */
	TRIAL_PROC,	  /* a /proc of the PID namespace */
	TRIAL_TPROXY,	  /* captures every port by one rule */
	TRIAL_IPV6,	  /* inside */
	TRIAL_TERMINALS,  /* pseudo-terminals of the run's own */
	TRIAL_NUM
};

/** enum trial_need - what it means that a part is missing */
enum trial_need {
	TRIAL_NEEDED,	/* nothing runs */
	TRIAL_WEAKER,	/* runs are weaker, and only if that is accepted by name */
	TRIAL_OPTIONAL, /* a convenience less; what is confined is confined all the same */
};

/**
 * struct trial_result - how it went
 * @tried: false if a part before it, without which it cannot be tried, has failed
 * @ok: it worked
 * @explained: @err says what to do about it, whatever trial_about() says
 * @err: why it did not
 */
struct trial_result {
	bool tried, ok, explained;
	struct error err;
};

/** struct trial_about - what a part is; see trial_about() */
struct trial_about {
	const char *name;
	enum trial_need need;
	const char *what;   /* it is for */
	const char *remedy; /* when it is missing; NULL: the error has it */
};

/** trial_about() - valid for ever. */
const struct trial_about *trial_about(enum trial_part part);

/**
 * trial_run() - try every part
 * @out: TRIAL_NUM results
 *
 * To be called while single-threaded. Changes nothing in the caller. Return: 0; -1 with @err if
 * not even a child could be started.
 */
int trial_run(struct trial_result out[TRIAL_NUM], struct error *err);

#endif
