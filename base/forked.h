/*
 * forked.h - the first acts of a process of ours that was forked
 *
 * It has a copy of everything: descriptors of the host's network, handlers of an event loop, what
 * that loop has blocked.
 */
#ifndef BASE_FORKED_H
#define BASE_FORKED_H

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/** forked_default_signals() - give every signal its default disposition; the mask stays. */
void forked_default_signals(void);

/**
 * forked_limits_are_errors() - have what goes beyond a limit fail, and not end us
 *
 * SIGXFSZ and SIGXCPU end a process that handles neither (setrlimit(2)). A write beyond RLIMIT_FSIZE,
 * which may be a few kilobytes that a command has us write, is EFBIG then, and goes the way of a full
 * disk; RLIMIT_CPU still ends us at its hard limit.
 */
void forked_limits_are_errors(void);

/**
 * forked_ignored() - which of the signals by which a process is ended or stopped are ignored now
 *
 * What nohup(1), or a shell for what it starts in the background, has set: it is meant for whatever
 * is started.
 */
void forked_ignored(sigset_t *out);

/** forked_ignore() - ignore them (again). */
void forked_ignore(const sigset_t *ignored);

/** forked_fresh_signals() - the same, and none blocked: the state of a fresh login. */
void forked_fresh_signals(void);

/**
 * forked_with_socket() - fork a helper that is spoken to by a SOCK_SEQPACKET pair
 * @sock: receives the caller's end, or in the child the child's; the other is closed there
 *
 * Return: as fork(2), 0 in the child; -1 with @err.
 */
pid_t forked_with_socket(int *sock, struct error *err);

/**
 * forked_helper() - begin a helper, which stays and runs our code
 * @keep, @n: its descriptors above 2; every other is closed
 * @ignored, @nignored: signals that are not for it, such as those of the user's keys
 *
 * Signals are as for forked_fresh_signals() otherwise, but for forked_limits_are_errors(); a handler is set afterwards. It is not
 * dumpable: nobody looks into it or traces it. Return: 0, or -1 with @err; the helper must end then.
 */
int forked_helper(const int *keep, size_t n, const int *ignored, size_t nignored,
		  struct error *err);

#endif
