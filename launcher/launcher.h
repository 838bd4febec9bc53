/*
 * launcher.h - start a command in namespaces of its own, confined, with our pid 1 above it
 *
 * Theory of operation stands in launcher.c: the order of the stages, and what each should and
 * must not do. Whatever fails, fails before the command runs.
 */
#ifndef LAUNCHER_LAUNCHER_H
#define LAUNCHER_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "netns/netns.h"

#define LAUNCHER_SOCKETS_MAX 4 /* of ten messages that a queue takes (net.unix.max_dgram_qlen) */

#define LAUNCHER_TMPDIR "/tmp" /* TMPDIR inside: private to the run */

#define LAUNCHER_EXIT_TIMEOUT  124
#define LAUNCHER_EXIT_SETUP    125
#define LAUNCHER_EXIT_NOEXEC   126
#define LAUNCHER_EXIT_NOTFOUND 127

/** enum fs_mode - how files are confined (--fs) */
enum fs_mode {
	FS_WORKSPACE, /* read everywhere but credentials, write the working directory and TMPDIR */
	FS_STRICT,    /* default-deny; read, write and execute granted separately */
	FS_OFF,
};

/**
 * struct file_id - which file or directory a path led to when it was judged
 *
 * Whoever has judged it keeps it open, so that no other one can come by the same number.
 */
struct file_id {
	dev_t dev;
	ino_t ino;
};

/**
 * struct path_list - paths from options or settings, not owned
 * @ids: what each of them must lead to; NULL where nobody has judged them
 */
struct path_list {
	const char *const *v;
	size_t n;
	const struct file_id *ids;
};

/** struct launcher_limit - one --limit: an RLIMIT_ constant and its value, soft and hard */
struct launcher_limit {
	int resource;
	uint64_t value;
};

struct proof_plan;
struct pty;

/**
 * struct launcher_plan - everything the launcher needs; nothing is owned
 * @argv: the command, NULL-terminated; argv[0] is looked up in PATH of @envp
 * @envp: its whole environment (childenv_build())
 * @cwd: canonical path where it starts; the workspace
 * @cwd_id: what it must lead to; NULL where nobody has judged it
 * @unlocked: canonical paths right in writable roots of names that would be locked (protect_is_name()),
 *            do not exist and are granted for writing
 * @private_paths: files and directories of ours that no grant may reach
 * @pty: NULL, or what pty_start() gave: the command gets a terminal of its own, which takes the
 *       place of those of 0, 1 and 2 that are terminals
 * @publish: pid 1 makes sockets inside on demand (launcher_ask_socket())
 * @allow_ptrace: processes may trace one another
 * @terminal_held: the command reads the caller's terminal itself, and launcher_freeze() is to last
 * @terminal_of_others: it writes to a terminal that is not its input, so that others may read there
 * @accept_weaker: WEAKER_ bits (weaker.h) of what may be missing
 * @proof: what the sandbox must stop before the command is let go; NULL to try nothing
 */
struct launcher_plan {
	char *const *argv;
	char *const *envp;
	const char *cwd;
	const struct file_id *cwd_id;
	struct netns_plan net;
	enum fs_mode fs;
	struct path_list read, write, exec, deny_read, deny_write;
	struct path_list unlocked;
	struct path_list private_paths;
	const struct pty *pty;
	bool publish;
	unsigned accept_weaker;
	const struct proof_plan *proof;
	bool allow_unix_sockets;
	bool allow_ptrace;
	bool terminal_held;
	bool terminal_of_others;
	bool pinned;
	uint8_t pin[32];
	const struct launcher_limit *limits;
	size_t nlimits;
};

struct launcher;

/** enum launcher_state - what launcher_status() found */
enum launcher_state {
	LAUNCHER_PENDING, /* nothing yet */
	LAUNCHER_PROVEN,  /* the proof has held: launcher_proof(), and launcher_release() is due */
	LAUNCHER_RUNNING, /* the command has been exec'd */
	LAUNCHER_FAILED,  /* it never ran: @err and an exit status of 125, 126 or 127 */
};

/**
 * launcher_start() - make the namespaces and pid 1, and wait for its listeners
 * @listeners: receives them (NETNS_LISTENERS_MAX entries); the caller owns the descriptors
 *
 * The command is held until launcher_release(), which is for after LAUNCHER_PROVEN where the plan
 * has a proof; the proxy must answer meanwhile. Must be called while single-threaded.
 *
 * Return: the launcher, or NULL with @err (exit status 125).
 */
struct launcher *launcher_start(const struct launcher_plan *plan, struct netns_listener *listeners,
				size_t *nlisteners, struct error *err);

/**
 * launcher_release() - the proxy is listening: let the command go
 *
 * A command that has failed already (not found, a grant that cannot be mounted) is no error here:
 * launcher_status() tells. Return: 0, or -1 with @err.
 */
int launcher_release(struct launcher *l, struct error *err);

/** launcher_status_fd() - readable when launcher_status() has news; owned by the launcher. */
int launcher_status_fd(const struct launcher *l);

/** launcher_status() - whether the command runs; does not block. @exit_code set when FAILED. */
enum launcher_state launcher_status(struct launcher *l, int *exit_code, struct error *err);

/** struct launcher_crowd - a directory with too much in it to be granted; @path is "" if there is none */
struct launcher_crowd {
	char path[256];
	bool all; /* nothing right in it is granted, else no files that are right in it */
};

/**
 * struct launcher_proof - what the finished sandbox is, by its own account
 * @seen: PROOF_ bits (proof.h) for what the probe did and the caller must have seen, too
 * @abi: the Landlock ABI that is in force
 * @weaker: WEAKER_ bits of what is missing
 * @crowd: the first of such directories (landlock_tree.h)
 * @second: a file with credentials that has a second name, by which it can be read; "" if there is none
 */
struct launcher_proof {
	unsigned seen;
	int abi;
	unsigned weaker;
	struct launcher_crowd crowd;
	char second[256];
};

/** launcher_proof() - valid from LAUNCHER_PROVEN on; owned by the launcher. */
const struct launcher_proof *launcher_proof(const struct launcher *l);

/** launcher_pid() - pid 1 of the sandbox as seen from here; 0 once it has been reaped. */
pid_t launcher_pid(const struct launcher *l);

/** launcher_pidfd() - readable when pid 1 has ended; owned by the launcher. */
int launcher_pidfd(const struct launcher *l);

/** launcher_tidy_dirs() - open directories in which placeholders go at the end; @n of them. */
const int *launcher_tidy_dirs(const struct launcher *l, size_t *n);

/** launcher_wait() - reap pid 1. Return: the command's status as a shell gives it (n, 128+sig). */
int launcher_wait(struct launcher *l);

/**
 * launcher_left() - lines for the user about what is, or was, left in git directories; @n of them
 *
 * Some may be there when the command is released, the others when pid 1 has been reaped. They stay
 * the launcher's.
 */
const char *const *launcher_left(const struct launcher *l, size_t *n);

/** launcher_signal() - pass a signal on to the command (its process group), by way of pid 1. */
void launcher_signal(struct launcher *l, int sig);

/**
 * launcher_freeze() - stop all of the command's processes, by the signal that none can ignore; waits
 *
 * Return: whether none runs now. If not, pid 1 may still obey later: launcher_thaw() is due as well.
 */
bool launcher_freeze(struct launcher *l) __attribute__((warn_unused_result));

/** launcher_thaw() - let them go on. */
void launcher_thaw(struct launcher *l);

/** launcher_stopped_fd() - readable when launcher_take_stops() has something; the launcher's. */
int launcher_stopped_fd(const struct launcher *l);

/**
 * launcher_take_stops() - whether the command has stopped since the last call
 *
 * Only one at a terminal of its own is heard of. It leads a session there, so it has stopped itself, by
 * SIGSTOP, and nobody in the sandbox would wake it. Return: 1 or 0; -1 when pid 1 has ended.
 */
int launcher_take_stops(struct launcher *l);

/**
 * launcher_ask_socket() - have pid 1 make a TCP socket inside and pass it out
 * @family: AF_INET or AF_INET6
 *
 * Answers come in the order of the questions; ask for LAUNCHER_SOCKETS_MAX at most at a time, lest
 * a signal find the queue full. Return: false if it cannot be asked.
 */
bool launcher_ask_socket(struct launcher *l, int family);

/** launcher_socket_fd() - readable when launcher_take_socket() has an answer; the launcher's. */
int launcher_socket_fd(const struct launcher *l);

/**
 * launcher_take_socket() - the next answer
 * @fd: the socket, non-blocking, which the caller owns; -1 when pid 1 could not make one, or we
 *      have no room for it
 *
 * Return: 1; 0 if none has come; -1 when pid 1 has gone.
 */
int launcher_take_socket(struct launcher *l, int *fd);

/** launcher_kill() - SIGKILL pid 1 and with it the whole PID namespace. */
void launcher_kill(struct launcher *l);

/** launcher_free() - kills what still runs, reaps it; NULL is allowed. */
void launcher_free(struct launcher *l);

#endif
