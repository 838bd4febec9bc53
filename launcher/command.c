/*
 * Theory of operation
 *
 * Pid 1 has done what needs capabilities and given them up; what is left here can be done by
 * anybody. Everything that may be slow (Landlock rules, the digest, the filter, most of the proof)
 * is done while the supervisor readies its proxy; only then does this process wait for its release,
 * so that nothing but its limits and execve(2) is left. The order is fixed, and each stage says
 * what it should and mustn't do; the filter comes late, since it forbids much of what came before,
 * and the proof behind it, since it is about the sandbox as the command will find it.
 */
#include "launcher/command.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/closefds.h"
#include "base/fd.h"
#include "base/forked.h"
#include "base/xalloc.h"
#include "launcher/caps.h"
#include "launcher/files/landlock.h"
#include "launcher/files/mounts.h"
#include "launcher/init_report.h"
#include "launcher/pin.h"
#include "launcher/program.h"
#include "launcher/proof.h"
#include "launcher/seccomp.h"
#include "launcher/weaker.h"

/* include/uapi/linux/ioprio.h, which Debian 12 does not have in full */
#define IOPRIO_PROCESS	1
#define IOPRIO_SHIFT	13 /* of the class */
#define IOPRIO_REALTIME 1

/* What the stages hand to each other; the descriptors are CLOEXEC and go with execve. */
struct command {
	const struct init *in;
	const struct launcher_plan *plan;
	char *path;
	int program; /* the pinned program, or -1 */
	int ruleset; /* -1 if there is nothing to enforce */
	struct seccomp_program filter;
	struct launcher_proof proof;
	int exit_code;
	struct error err;
};

/*
 * Should: leave the caller's session, so that no signal to the process group and no TIOCSTI on
 * its terminal reaches the caller; give up what a privileged caller's priority would lend.
 * Mustn't: undo a user's own `nice`, which takes nothing from anybody.
 */
static int enter_session(struct command *c)
{
	const struct sched_param param = { 0 };
	int policy = sched_getscheduler(0);

	if (setsid() < 0)
		return error_set(&c->err, errno, "cannot start a session");
	if (policy == SCHED_FIFO || policy == SCHED_RR)
		if (sched_setscheduler(0, SCHED_OTHER, &param) < 0)
			return error_set(&c->err, errno, "cannot leave real-time scheduling");
	if (getpriority(PRIO_PROCESS, 0) < 0 && setpriority(PRIO_PROCESS, 0, 0) < 0)
		return error_set(&c->err, errno, "cannot reset the priority");
	if (syscall(SYS_ioprio_get, IOPRIO_PROCESS, 0) >> IOPRIO_SHIFT == IOPRIO_REALTIME &&
	    syscall(SYS_ioprio_set, IOPRIO_PROCESS, 0, 0) < 0)
		return error_set(&c->err, errno, "cannot leave real-time input and output");
	return 0;
}

/*
 * Should: give an interactive command a terminal of its own to control.
 * Mustn't: touch a descriptor that the caller has redirected.
 */
static int take_terminal(struct command *c)
{
	int tty = c->in->tty;

	if (tty < 0)
		return 0;
	if (ioctl(tty, TIOCSCTTY, 0) < 0)
		return error_set(&c->err, errno, "cannot control the terminal");
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (isatty(fd) && dup2(tty, fd) < 0)
			return error_set(&c->err, errno, "cannot use the terminal");
	return 0;
}

/*
 * Should: find the program in the mount namespace in which it will run, and hash the very
 * descriptor that is executed.
 * Mustn't: look it, or where it starts, up again by name once it has been judged.
 */
static int find_program(struct command *c)
{
	CLEANUP_CLOSE int fd = -1;
	int code;

	if (fchdir(c->in->mounts->cwd) < 0)
		return error_set(&c->err, errno, "cannot enter %s", c->plan->cwd);
	code = program_find(c->plan->argv[0], c->plan->envp, &c->path, &c->err);
	if (code) {
		c->exit_code = code;
		return -1;
	}
	if (!c->plan->pinned)
		return 0;
	fd = open(c->path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return error_set(&c->err, errno, "cannot open %s", c->path);
	c->program = pin_check(fd, c->plan->pin, &c->err);
	return c->program < 0 ? -1 : 0;
}

/*
 * Should: take what a newer kernel would hold back as well for what it is.
 * Mustn't: do without it on the sly.
 */
static int check_scopes(struct command *c, const struct landlock_rights *rights)
{
	c->proof.weaker = c->in->mounts->weaker;
	if (rights->scoped)
		return 0;
	if (!(c->plan->accept_weaker & WEAKER_LANDLOCK_SCOPES))
		return error_set(
			&c->err, 0,
			"this kernel's Landlock has ABI %d, which holds back neither signals nor "
			"abstract sockets: use Linux 6.12 or newer, or accept that namespaces "
			"alone "
			"do it with --accept-weaker=landlock-scopes (see 'sbx-net doctor')",
			rights->abi);
	c->proof.weaker |= WEAKER_LANDLOCK_SCOPES;
	return 0;
}

/*
 * Should: build the ruleset after the last mount, from the descriptors that the mounts used.
 * Mustn't: resolve a grant's path again.
 */
static int build_rules(struct command *c)
{
	CLEANUP_CLOSE int program = open(c->path, O_PATH | O_CLOEXEC);
	CLEANUP_FREE int *read = NULL, *write = NULL, *exec = NULL, *scratch = NULL;
	const struct mounts *m = c->in->mounts;
	struct landlock_rights rights;
	struct landlock_plan rules = {
		.mode = c->plan->fs,
		.cwd = -1,
		.tmpdir = m->tmpdir,
		.program = program,
		.allow_unix_sockets = c->plan->allow_unix_sockets,
		.private_pts = m->private_pts,
		.hidden = { (const char *const *)m->hidden, m->nhidden },
		.covers = { m->covers, ARRAY_SIZE(m->covers) },
		.crowd = &c->proof.crowd,
	};

	if (program < 0)
		return error_set(&c->err, errno, "cannot open %s", c->path);
	if (landlock_abi_query(&rights, &c->err))
		return -1;
	c->proof.abi = rights.abi;
	if (m->second)
		(void)snprintf(c->proof.second, sizeof(c->proof.second), "%s", m->second);
	if (check_scopes(c, &rights))
		return -1;
	rules.read.n = mounts_roots(m, MOUNTS_READ, &read);
	rules.write.n = mounts_roots(m, MOUNTS_WRITE, &write);
	rules.exec.n = mounts_roots(m, MOUNTS_EXEC, &exec);
	rules.scratch.n = mounts_roots(m, MOUNTS_SCRATCH, &scratch);
	rules.scratch.v = scratch;
	rules.read.v = read;
	rules.write.v = write;
	rules.exec.v = exec;
	if (!landlock_needed(&rules, &rights))
		return 0;
	c->ruleset = landlock_build(&rules, &rights, &c->err);
	return c->ruleset < 0 ? -1 : 0;
}

/*
 * Should: keep 0, 1 and 2 as the caller gave them, and nothing else beyond execve.
 * Mustn't: come before the last use of a descriptor that pid 1 has opened for this process; what
 * was open outside, pid 1 closed as its first act.
 */
static int close_rest(struct command *c)
{
	const int keep[] = { c->in->status, c->in->release, c->program, c->ruleset };

	return closefds_except(keep, ARRAY_SIZE(keep), &c->err);
}

/*
 * Should: set a core limit of 1 byte: with 0 the kernel still starts a core_pattern helper outside
 * the sandbox, with 1 it does not (core(5), fs/coredump.c).
 * Mustn't: come behind the filter, which keeps this limit as it is.
 */
static int limit_core(struct command *c)
{
	const struct rlimit core = { 1, 1 };
	struct rlimit now;

	if (getrlimit(RLIMIT_CORE, &now) < 0)
		return error_set(&c->err, errno, "cannot read a limit");
	if (now.rlim_max >= 1 && setrlimit(RLIMIT_CORE, &core) < 0)
		return error_set(&c->err, errno, "cannot limit core dumps");
	return 0;
}

/*
 * Should: set what --limit asks for.
 * Mustn't: come before the stages that open files, which a small nofile would stop.
 */
static int set_limits(struct command *c)
{
	for (size_t i = 0; i < c->plan->nlimits; i++) {
		const struct launcher_limit *l = &c->plan->limits[i];
		const struct rlimit r = { l->value, l->value };

		if (setrlimit((__rlimit_resource_t)l->resource, &r) < 0)
			return error_set(&c->err, errno, "cannot set --limit %d to %llu",
					 l->resource, (unsigned long long)l->value);
	}
	return 0;
}

/*
 * Should: find all five capability sets empty, as pid 1 left them, then bar every way to new
 * privileges, then enforce the file rules.
 * Mustn't: go on if a single bit is left.
 */
static int confine(struct command *c)
{
	if (caps_check_none(&c->err))
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set(&c->err, errno, "cannot set no_new_privs");
	if (c->ruleset >= 0 && landlock_enforce(c->ruleset, &c->err))
		return -1;
	return 0;
}

/*
 * Should: put the last wall up.
 * Mustn't: let anything follow but the proof, and what the command itself may do.
 */
static int install_filter(struct command *c)
{
	const struct seccomp_options options = {
		.arch = SECCOMP_NATIVE,
		.allow_unix = c->plan->allow_unix_sockets,
		.allow_ptrace = c->plan->allow_ptrace,
		.no_async = c->proof.weaker & WEAKER_LANDLOCK_SCOPES,
		.no_alarm = c->plan->terminal_held,
		.no_modes = c->plan->terminal_of_others,
	};

	if (seccomp_build(&options, &c->filter, &c->err))
		return -1;
	return seccomp_install(&c->filter, &c->err);
}

/*
 * Should: try to get out, and tell the supervisor only of a success; a failure is any stage's.
 * Mustn't: leave the process in another state than it found it in.
 */
static int prove(struct command *c)
{
	struct init_report report = { .exit_code = 0 };

	if (!c->in->proof->plan)
		return 0;
	if (proof_run(c->in->proof, &c->proof.seen, &c->err))
		return -1;
	report.proof = c->proof;
	if (fd_write_all(c->in->status, &report, sizeof(report)) < 0)
		return error_set(&c->err, errno, "cannot report");
	return 0;
}

/*
 * Should: hold the command until the proxy answers and the supervisor has seen the proof's tracks.
 * Mustn't: take the end of the pipe for a release: the supervisor has died then.
 */
static int await_release(struct command *c)
{
	char byte;

	if (fd_read_full(c->in->release, &byte, 1) != 1)
		return error_set(&c->err, 0, "the supervisor ended before the command could start");
	return 0;
}

/* A text file without "#!" is a shell script, as for execvp(3) and every shell. */
static void execute_script(const struct command *c)
{
	CLEANUP_FREE char **argv = NULL;
	size_t n = 0;

	while (c->plan->argv[n])
		n++;
	argv = xcalloc(n + 2, sizeof(*argv));
	argv[0] = c->plan->argv[0];
	argv[1] = c->path;
	for (size_t i = 1; i < n; i++)
		argv[i + 1] = c->plan->argv[i];
	(void)execve("/bin/sh", argv, c->plan->envp);
}

/*
 * Should: run the descriptor that was hashed, or the path that was found.
 * Mustn't: do anything but execve, save reporting that it failed.
 */
static int execute(struct command *c)
{
	char *const *argv = c->plan->argv;
	int code;

	if (c->program >= 0)
		(void)syscall(SYS_execveat, c->program, "", argv, c->plan->envp, AT_EMPTY_PATH);
	else
		(void)execve(c->path, argv, c->plan->envp);
	code = errno;
	if (code == ENOEXEC && c->program < 0)
		execute_script(c);
	c->exit_code = program_exit_code(code);
	return error_set(&c->err, code, "cannot run %s", argv[0]);
}

void command_run(const struct init *in)
{
	static int (*const stages[])(struct command *) = {
		enter_session, take_terminal,  find_program, build_rules,   close_rest, limit_core,
		confine,       install_filter, prove,	     await_release, set_limits, execute,
	};
	struct command c = {
		.in = in,
		.plan = in->plan,
		.program = -1,
		.ruleset = -1,
		.exit_code = LAUNCHER_EXIT_SETUP,
	};

	forked_fresh_signals(); /* no handler of the supervisor's must run in this process */
	forked_ignore(&in->ignored);
	for (size_t i = 0; i < ARRAY_SIZE(stages); i++)
		if (stages[i](&c))
			break;
	init_fail(in->status, c.exit_code, &c.err);
}
