/*
 * faultrun.c - run sbx-net, and make one of its system calls fail or kill one of its processes there
 *
 *   faultrun LOG list -- PROGRAM...                         write every call to LOG: "ROLE CALL"
 *   faultrun LOG sites -- PROGRAM...                        the same with where: "ROLE CALL SITE"
 *   faultrun LOG error ROLE CALL N ERRNO -- PROGRAM...      the Nth CALL of ROLE answers ERRNO
 *   faultrun LOG kill VICTIM ROLE N -- PROGRAM...           at the Nth call of ROLE, VICTIM dies
 *
 * The exit status is PROGRAM's as a shell gives it; LOG says "hit" if the fault was made.
 *
 * Theory of operation: ptrace(2) stops every process of ours at each call. Roles are told apart by
 * how a process was born: "supervisor" is PROGRAM; "init" came from a clone with CLONE_NEWPID,
 * "command" from init, "helper" from the supervisor otherwise; "other" are the rest. The command is
 * let go at its execve: what runs inside is never traced, so that it sees its sandbox as it is.
 * Ordinals count within a role, over all its processes. A preloaded filter cannot do that: it
 * cannot count, and every process inherits it.
 *
 * A site is the place in PROGRAM's own text that a call returns to: the first word up the stack
 * that points there, less where the text begins; 0 if there is none. To read the stack of those
 * that would be dumpable no more, "sites" lets them stay so.
 */
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACEES_MAX 64
#define STACK_WORDS 1024 /* that are looked through for a site */
#define OPTIONS                                                                                   \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | \
	 PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)

enum role {
	ROLE_UNKNOWN, /* stopped before its parent's event told where it comes from */
	ROLE_SUPERVISOR,
	ROLE_HELPER,
	ROLE_INIT,
	ROLE_COMMAND,
	ROLE_OTHER,
	NUM_ROLES,
};

static const char *const role_name[] = { "unknown", "supervisor", "helper",
					 "init",    "command",	  "other" };

/**
 * struct tracee - @flags: of the clone that it is in; @failing: its call is the one to fail;
 * @skipped: its call is not made and seems to work
 */
struct tracee {
	pid_t pid;
	enum role role;
	unsigned long flags;
	bool stopped, failing, skipped;
};

enum mode { MODE_LIST, MODE_SITES, MODE_ERROR, MODE_KILL };

static struct {
	enum mode mode;
	enum role role, victim;
	long nr, n;
	int code;
	FILE *log;
	struct tracee tracee[TRACEES_MAX];
	size_t ntracees;
	pid_t main;
	int status;
	unsigned long text, text_end; /* of PROGRAM in memory */
} run;

static const struct {
	const char *name;
	int nr[2];
} calls[] = {
#define CALL(name, x86_64, aarch64, verdict) { #name, { x86_64, aarch64 } },
#include "launcher/seccomp_calls.h"
#undef CALL
};

#if defined(__x86_64__)
#define NATIVE 0
#else
#define NATIVE 1
#endif

static void fail(const char *what) __attribute__((noreturn));

static void fail(const char *what)
{
	perror(what);
	exit(99);
}

static const char *call_name(long nr)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].nr[NATIVE] == nr)
			return calls[i].name;
	return "unknown";
}

static long call_number(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].nr[NATIVE];
	fail(name);
}

static enum role role_of(const char *name)
{
	for (size_t i = 0; i < NUM_ROLES; i++)
		if (strcmp(role_name[i], name) == 0)
			return (enum role)i;
	fail(name);
}

static struct tracee *find(pid_t pid)
{
	for (size_t i = 0; i < run.ntracees; i++)
		if (run.tracee[i].pid == pid)
			return &run.tracee[i];
	if (run.ntracees == TRACEES_MAX)
		fail("too many processes");
	run.tracee[run.ntracees] = (struct tracee){ .pid = pid };
	return &run.tracee[run.ntracees++];
}

static void forget(pid_t pid)
{
	*find(pid) = run.tracee[run.ntracees - 1];
	run.ntracees--;
}

/* A tracee that a SIGKILL has taken meanwhile is no fault. */
static void resume(struct tracee *t, int sig)
{
	t->stopped = false;
	if (ptrace(PTRACE_SYSCALL, t->pid, 0, sig) < 0 && errno != ESRCH)
		fail("PTRACE_SYSCALL");
}

/* The kernel skips a call with the number -1. */
static void skip_call(pid_t pid)
{
#if defined(__x86_64__)
	(void)ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, orig_rax), -1L);
#else
	int none = -1;
	struct iovec iov = { &none, sizeof(none) };

	(void)ptrace(PTRACE_SETREGSET, pid, 0x404, &iov); /* NT_ARM_SYSTEM_CALL */
#endif
}

static void set_result(pid_t pid, long value)
{
#if defined(__x86_64__)
	(void)ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, rax), value);
#else
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof(regs) };

	(void)ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov);
	regs.regs[0] = (unsigned long)value;
	(void)ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &iov);
#endif
}

static void kill_victim(void)
{
	for (size_t i = 0; i < run.ntracees; i++)
		if (run.tracee[i].role == run.victim && kill(run.tracee[i].pid, SIGKILL) == 0)
			(void)fprintf(run.log, "hit\n");
}

/* Where the text of PROGRAM lies, once it has begun. Its children are copies. */
static void find_text(pid_t pid)
{
	char path[64], exe[4096], line[4096 + 256];
	unsigned long begin, end;
	ssize_t n;
	FILE *maps;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (n <= 0 || !maps)
		fail(path);
	exe[n] = '\0';
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx r-x", &begin, &end) == 2 && strstr(line, " r-xp ") &&
		    strstr(line, exe)) {
			run.text = begin;
			run.text_end = end;
		}
	(void)fclose(maps);
}

static unsigned long site(pid_t pid, unsigned long stack)
{
	for (size_t i = 0; i < STACK_WORDS; i++) {
		unsigned long word;

		errno = 0;
		word = (unsigned long)ptrace(PTRACE_PEEKDATA, pid, stack + i * sizeof(word), 0);
		if (errno)
			return 0;
		if (word > run.text && word < run.text_end)
			return word - run.text;
	}
	return 0;
}

static void note(struct tracee *t, const struct __ptrace_syscall_info *info)
{
	long nr = (long)info->entry.nr;

	(void)fprintf(run.log, "%s %s", role_name[t->role], call_name(nr));
	if (run.mode == MODE_SITES)
		(void)fprintf(run.log, " %lx", site(t->pid, (unsigned long)info->stack_pointer));
	(void)fputc('\n', run.log);
	if (run.mode == MODE_SITES && nr == SYS_prctl && info->entry.args[0] == PR_SET_DUMPABLE &&
	    info->entry.args[1] == 0) {
		skip_call(t->pid);
		t->skipped = true;
	}
}

/* One call begins. */
static void enter(struct tracee *t, const struct __ptrace_syscall_info *info)
{
	long nr = (long)info->entry.nr;
	bool counts = run.mode == MODE_KILL || nr == run.nr;

	t->flags = nr == SYS_clone ? (unsigned long)info->entry.args[0] : 0;
	if (run.mode == MODE_LIST || run.mode == MODE_SITES) {
		note(t, info);
		return;
	}
	if (t->role != run.role || !counts || --run.n != 0)
		return;
	if (run.mode == MODE_KILL) {
		kill_victim();
		return;
	}
	(void)fprintf(run.log, "hit\n");
	if (nr != SYS_close) /* which closes whatever it answers */
		skip_call(t->pid);
	t->failing = true;
}

static void at_call(struct tracee *t)
{
	struct __ptrace_syscall_info info = { 0 };

	if (ptrace(PTRACE_GET_SYSCALL_INFO, t->pid, sizeof(info), &info) <= 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		enter(t, &info);
	if (info.op == PTRACE_SYSCALL_INFO_EXIT && t->skipped) {
		set_result(t->pid, 0);
		t->skipped = false;
	}
	if (info.op == PTRACE_SYSCALL_INFO_EXIT && t->failing) {
		set_result(t->pid, -run.code);
		t->failing = false;
	}
}

static enum role role_of_child(const struct tracee *parent)
{
	if (parent->role == ROLE_SUPERVISOR)
		return parent->flags & CLONE_NEWPID ? ROLE_INIT : ROLE_HELPER;
	return parent->role == ROLE_INIT ? ROLE_COMMAND : ROLE_OTHER;
}

static void at_birth(const struct tracee *parent)
{
	unsigned long pid = 0;
	struct tracee *child;

	if (ptrace(PTRACE_GETEVENTMSG, parent->pid, 0, &pid) < 0)
		return;
	child = find((pid_t)pid);
	child->role = role_of_child(parent);
	if (child->stopped)
		resume(child, 0);
}

/* A stop of any kind; whoever may go on goes on. */
static void at_stop(pid_t pid, int status)
{
	struct tracee *t = find(pid);
	int sig = WSTOPSIG(status), event = status >> 16;

	t->stopped = true;
	if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
	    event == PTRACE_EVENT_VFORK)
		at_birth(t);
	if (event == PTRACE_EVENT_EXEC && t->role == ROLE_COMMAND) {
		(void)ptrace(PTRACE_DETACH, pid, 0, 0);
		forget(pid);
		return;
	}
	if (event == PTRACE_EVENT_EXEC && run.mode == MODE_SITES && pid == run.main)
		find_text(pid);
	if (sig == (SIGTRAP | 0x80))
		at_call(t);
	if (t->role == ROLE_UNKNOWN)
		return; /* its parent's event resumes it */
	resume(t, event || sig == SIGSTOP || sig == (SIGTRAP | 0x80) ? 0 : sig);
}

static void trace(void)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return;
		if (WIFSTOPPED(status)) {
			at_stop(pid, status);
			continue;
		}
		forget(pid);
		if (pid == run.main)
			run.status =
				WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
}

static void start(char *const argv[])
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, 0, 0);
		(void)raise(SIGSTOP);
		(void)execv(argv[0], argv);
		fail(argv[0]);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, 0, OPTIONS) < 0)
		fail("cannot trace");
	run.main = pid;
	find(pid)->role = ROLE_SUPERVISOR;
	resume(find(pid), 0);
}

/* Return: where PROGRAM's own words begin. */
static int parse(int argc, char *argv[])
{
	if (argc > 4 && (strcmp(argv[2], "list") == 0 || strcmp(argv[2], "sites") == 0)) {
		run.mode = argv[2][0] == 'l' ? MODE_LIST : MODE_SITES;
		return 4;
	}
	if (argc > 8 && strcmp(argv[2], "error") == 0) {
		run.mode = MODE_ERROR;
		run.role = role_of(argv[3]);
		run.nr = call_number(argv[4]);
		run.n = atol(argv[5]);
		run.code = atoi(argv[6]);
		return 8;
	}
	if (argc > 7 && strcmp(argv[2], "kill") == 0) {
		run.mode = MODE_KILL;
		run.victim = role_of(argv[3]);
		run.role = role_of(argv[4]);
		run.n = atol(argv[5]);
		return 7;
	}
	(void)fprintf(stderr, "usage: see the head of faultrun.c\n");
	exit(64);
}

int main(int argc, char *argv[])
{
	int first = parse(argc, argv);

	run.log = fopen(argv[1], "we");
	if (!run.log)
		fail(argv[1]);
	start(argv + first);
	trace();
	return run.status;
}
