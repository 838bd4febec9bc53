/*
 * probe_whole.c - is this sandbox all there? A sample of every layer, in one run
 *
 * For runs in which something has been made to fail: whatever did run must have run in all of it.
 */
#include "tests/escape/probe.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The words that @args are called by in the table below. */
enum { ARG_RAN, ARG_NETNS, ARG_PORT, ARG_FILE, ARG_SECRET, ARG_WHITEOUT };

#define WORKS (-1)

/* Each probe must end with @want; 0 is any errno. @arg: index of its last word. */
static const struct {
	const char *name, *first;
	int arg, want;
} samples[] = {
	{ "fds", NULL, -1, EBADF },    /* first: other probes leave theirs open */
	{ "status", NULL, -1, WORKS }, /* capabilities, no_new_privs, seccomp */
	{ "proc-pids", NULL, -1, EPERM },
	{ "ptrace", NULL, -1, EPERM },
	{ "unshare", "0x10000000", -1, EPERM },
	{ "unix-connect", "1", ARG_FILE, EPERM },
	{ "tcp-connect", "127.0.0.1", ARG_PORT, 0 },
	{ "open", "1", ARG_FILE, 0 },
	{ "chmod", "777", ARG_FILE, 0 },	    /* mounts alone refuse it */
	{ "whiteout", NULL, ARG_WHITEOUT, EACCES }, /* Landlock alone refuses it */
	{ "read", NULL, ARG_SECRET, 0 },
	{ "core-limit", NULL, -1, EPERM },
};

static bool sample_holds(size_t i, char *const *args)
{
	char first[16] = "";
	char *words[3] = { NULL };
	size_t n = 0;
	int got;

	if (samples[i].first) {
		(void)snprintf(first, sizeof(first), "%s", samples[i].first);
		words[n++] = first;
	}
	if (samples[i].arg >= 0)
		words[n] = args[samples[i].arg];
	got = probe_find(samples[i].name)->run(words);
	if (samples[i].want == 0)
		return got > 0;
	return got == (samples[i].want == WORKS ? 0 : samples[i].want);
}

/* In another network than the one that the driver named, in a session of its own. */
static bool apart(const char *netns)
{
	char own[64] = "";

	if (readlink("/proc/self/ns/net", own, sizeof(own) - 1) < 0)
		return false;
	return strcmp(own, netns) != 0 && getsid(0) == getpid();
}

/* whole RAN NETNS PORT FILE SECRET WHITEOUT: prints what is not as it should be; makes RAN. */
static int whole(char *const *args)
{
	int rc = 0;

	(void)close(open(args[ARG_RAN], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	if (!apart(args[ARG_NETNS])) {
		(void)puts("apart");
		rc = EPERM;
	}
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		if (!sample_holds(i, args)) {
			(void)puts(samples[i].name);
			rc = EPERM;
		}
	return rc;
}

const struct probe whole_probes[] = {
	{ "whole", whole },
	{ 0 },
};
