/*
 * faulty - run a program on a kernel that answers some system calls wrongly
 *
 *	faulty CALL=ERRNO | CALL:ARG=VALUE[/MASK]=ERRNO ... -- PROGRAM [ARG]...
 *
 * CALL is a name of launcher/seccomp_calls.h, ERRNO a name as below or a number; 0 makes the call
 * seem to have worked, and +N makes it return N. ARG is the number of an argument, of which the low 32 bits, masked, are
 * compared. The filter is inherited by everything that the program starts; it plays old kernels and
 * containers that refuse calls, and outer sandboxes that lie.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define RULES_MAX 64
#define RULE_SIZE 6

static const struct {
	const char *name;
	int x86_64, aarch64;
} calls[] = {
#define CALL(name, x86_64, aarch64, verdict) { #name, x86_64, aarch64 },
#include "launcher/seccomp_calls.h"
#undef CALL
};

static const struct {
	const char *name;
	int code;
} codes[] = {
	{ "EPERM", EPERM },   { "ENOSYS", ENOSYS }, { "EINVAL", EINVAL },
	{ "EACCES", EACCES }, { "ENOMEM", ENOMEM }, { "EOPNOTSUPP", EOPNOTSUPP },
	{ "ENOENT", ENOENT }, { "ENOSPC", ENOSPC }, { "EMFILE", EMFILE },
};

/* What a call returns that is not to fail: the kernel has no action for that but to ask us. */
struct answer {
	int nr;
	long value;
};

static struct answer answers[RULES_MAX];
static size_t nanswers;

static void usage(const char *rule) __attribute__((noreturn));

static void usage(const char *rule)
{
	(void)fprintf(stderr, "faulty: '%s' is no CALL[:ARG=VALUE[/MASK]]=ERRNO\n", rule);
	exit(99);
}

static uint32_t call_number(const char *name, size_t n, const char *rule)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		int nr = calls[i].x86_64;

#ifdef __aarch64__
		nr = calls[i].aarch64;
#endif
		if (strlen(calls[i].name) == n && memcmp(calls[i].name, name, n) == 0 && nr >= 0)
			return (uint32_t)nr;
	}
	usage(rule);
}

static uint32_t error_number(const char *name, const char *rule)
{
	char *end;
	unsigned long n;

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strcmp(codes[i].name, name) == 0)
			return (uint32_t)codes[i].code;
	n = strtoul(name, &end, 0);
	if (end == name || *end || n > 4095)
		usage(rule);
	return (uint32_t)n;
}

static void add(struct sock_filter *insn, const char *rule)
{
	uint32_t arg = 0, value = 0, mask = 0, action;
	const char *code = strrchr(rule, '=');
	size_t n = strcspn(rule, ":=");
	char *end;

	if (!code || !rule[n])
		usage(rule);
	if (rule[n] == ':') {
		arg = (uint32_t)strtoul(rule + n + 1, &end, 10);
		if (*end != '=' || end == code || arg > 5)
			usage(rule);
		value = (uint32_t)strtoul(end + 1, &end, 0);
		mask = *end == '/' ? (uint32_t)strtoul(end + 1, &end, 0) : UINT32_MAX;
		if (end != code)
			usage(rule);
	}
	if (code[1] == '+') {
		answers[nanswers++] = (struct answer){ (int)call_number(rule, n, rule),
						       strtol(code + 2, NULL, 10) };
		action = SECCOMP_RET_USER_NOTIF;
	} else {
		action = SECCOMP_RET_ERRNO | error_number(code + 1, rule);
	}
	const struct sock_filter one[RULE_SIZE] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call_number(rule, n, rule), 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t)offsetof(struct seccomp_data, args) + 8 * arg),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
	};
	memcpy(insn, one, sizeof(one));
}

static void run(char **argv) __attribute__((noreturn));

static void run(char **argv)
{
	(void)execvp(argv[0], argv);
	perror("faulty: cannot run the program");
	_exit(99);
}

/* Answers until nobody is left who could ask. */
static void answer_all(int listener)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	while (poll(&p, 1, -1) > 0 && !(p.revents & POLLHUP)) {
		struct seccomp_notif asked = { 0 };
		struct seccomp_notif_resp answer = { 0 };

		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) < 0)
			continue;
		answer.id = asked.id;
		for (size_t i = 0; i < nanswers; i++)
			if (answers[i].nr == asked.data.nr)
				answer.val = answers[i].value;
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

/* Until its execve the child shares our descriptors, so that its listener is ours as well. */
static int run_answered(const struct sock_fprog *program, char **argv)
{
	int ready[2], listener = -1, status;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC))
		return 99;
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, 0L);
	if (pid == 0) {
		listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
					SECCOMP_FILTER_FLAG_NEW_LISTENER, program);
		(void)!write(ready[1], &listener, sizeof(listener));
		run(argv);
	}
	if (pid < 0 || read(ready[0], &listener, sizeof(listener)) != sizeof(listener) ||
	    listener < 0) {
		(void)fprintf(stderr, "faulty: cannot answer calls\n");
		return 99;
	}
	answer_all(listener);
	if (waitpid(pid, &status, 0) != pid)
		return 99;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	static struct sock_filter insn[RULES_MAX * RULE_SIZE + 1];
	struct sock_fprog program = { .filter = insn };
	int i = 1;

	for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (i > RULES_MAX)
			usage(argv[i]);
		add(insn + program.len, argv[i]);
		program.len = (unsigned short)(program.len + RULE_SIZE);
	}
	if (i + 1 >= argc)
		usage("nothing to run");
	insn[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 99;
	if (nanswers)
		return run_answered(&program, argv + i + 1);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("faulty: cannot install the filter");
		return 99;
	}
	run(argv + i + 1);
}
