/*
 * init.h - pid 1 of the sandbox: sets it up, starts the command, reaps, forwards signals
 */
#ifndef LAUNCHER_INIT_H
#define LAUNCHER_INIT_H

#include <signal.h>
#include <sys/types.h>

#include "base/error.h"
#include "launcher/launcher.h"
#include "launcher/files/mounts.h"
#include "launcher/proof.h"
#include "launcher/files/protect.h"

/* Messages of one byte on @sock: a signal to pass on, a socket to make and to pass out, or these. */
#define INIT_SOCKET4 0xf4
#define INIT_SOCKET6 0xf6
#define INIT_FREEZE  0xf7 /* all of the command's processes, whatever they do about it */
#define INIT_THAW    0xf8

/**
 * struct init - what pid 1 starts with
 * @plan: the caller's plan
 * @uid, @gid: effective ids outside
 * @sock: SOCK_SEQPACKET to the supervisor: listeners go out, signal numbers and
 *        INIT_ messages come in; its end is the end of the run
 * @status: write end of the status pipe: a struct init_report, or just EOF once the command runs
 * @release: a socket; the command goes when one byte comes, never at its end
 * @stopped: write end of a pipe: a byte when the command, at a terminal of its own, has stopped
 * @protect: what is locked in writable roots
 * @proof: what the command's process tries before it becomes the command
 * @mounts: set by pid 1 for the command
 * @tty: set by pid 1: the command's terminal, or -1
 * @ignored: signals that the caller has us ignore; so does the command
 */
struct init {
	const struct launcher_plan *plan;
	uid_t uid;
	gid_t gid;
	int sock;
	int status;
	int release;
	int stopped;
	const struct protect *protect;
	const struct proof *proof;
	const struct mounts *mounts;
	int tty;
	sigset_t ignored;
};

/** init_run() - the whole life of pid 1, entered with every signal blocked. */
void init_run(struct init *in) __attribute__((noreturn));

#endif
