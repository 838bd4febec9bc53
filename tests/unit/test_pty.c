/*
 * An interactive run: the test plays the user's terminal (the master of an outer pair), a child
 * plays the supervisor on its slave.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/launcher.h"
#include "launcher/pty.h"

#define OUTPUT_MAX 8192

static char output[OUTPUT_MAX];
static size_t output_len;

static int supervise(const char *script)
{
	char *argv[] = { (char[]){ "bash" }, (char[]){ "-c" }, strdup(script), NULL };
	char *envp[] = { (char[]){ "PATH=/usr/bin:/bin" }, NULL };
	struct netns_listener v[NETNS_LISTENERS_MAX];
	struct launcher_plan plan = { .argv = argv, .envp = envp };
	struct launcher *l;
	struct termios modes;
	struct pty pty;
	size_t n;
	int status;

	if (!pty_wanted())
		return 90;
	if (tcgetattr(STDIN_FILENO, &modes) || pty_start(&pty, &modes, NULL))
		return 91;
	plan.cwd = "/";
	plan.fs = FS_OFF;
	plan.pty = &pty;
	l = launcher_start(&plan, v, &n, NULL);
	pty_started(&pty);
	if (!l || launcher_release(l, NULL)) {
		pty_finish(&pty);
		return 92;
	}
	status = launcher_wait(l);
	pty_finish(&pty);
	return status;
}

/* Forks the supervisor as a shell forks a job: leader of a session on the terminal. */
static pid_t start(const char *script, int *terminal)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct winsize size = { .ws_row = 33, .ws_col = 77 };
	pid_t pid;

	assert_true(master >= 0);
	assert_int_equal(grantpt(master) | unlockpt(master), 0);
	assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int slave;

		(void)setsid();
		slave = open(ptsname(master), O_RDWR);
		for (int fd = 0; fd < 3; fd++)
			(void)dup2(slave, fd);
		(void)close(slave);
		_exit(supervise(script));
	}
	*terminal = master;
	output_len = 0;
	output[0] = '\0';
	return pid;
}

/* Reads the terminal until @text has been seen. */
static void await_output(int terminal, const char *text)
{
	while (!strstr(output, text)) {
		struct pollfd p = { .fd = terminal, .events = POLLIN };
		ssize_t n;

		if (poll(&p, 1, 10000) != 1)
			fail_msg("no \"%s\" in \"%s\"", text, output);
		n = read(terminal, output + output_len, sizeof(output) - 1 - output_len);
		if (n <= 0)
			fail_msg("end without \"%s\" in \"%s\"", text, output);
		output_len += (size_t)n;
		output[output_len] = '\0';
	}
}

static int finish(pid_t pid, int terminal)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)close(terminal);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void type(int terminal, const char *text)
{
	assert_int_equal(write(terminal, text, strlen(text)), (ssize_t)strlen(text));
}

static void test_the_command_controls_a_terminal(void **state)
{
	int terminal;
	pid_t pid = start("test -t 0 -a -t 1 -a -t 2 && echo isatty; stty size; tty; "
			  "echo ok > /dev/tty; exit 5",
			  &terminal);

	(void)state;
	await_output(terminal, "isatty\r\n33 77\r\n/dev/pts/0\r\nok\r\n");
	assert_int_equal(finish(pid, terminal), 5);
}

static void test_input_and_window_size_go_through(void **state)
{
	struct winsize size = { .ws_row = 11, .ws_col = 22 };
	int terminal;
	pid_t pid = start("trap 'stty size; exit' WINCH; echo ready; read -r x; echo got-$x; "
			  "while :; do sleep 0.02; done",
			  &terminal);

	(void)state;
	await_output(terminal, "ready");
	type(terminal, "hello\r");
	await_output(terminal, "got-hello");
	assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
	await_output(terminal, "11 22");
	assert_int_equal(finish(pid, terminal), 0);
}

/* the control character goes to the command's terminal, and there it is one signal. */
static void test_ctrl_c_arrives_once(void **state)
{
	int terminal;
	/* Both before the word: while bash sets a trap it ignores the signal. */
	pid_t pid = start("n=0; trap 'exit 9' QUIT; trap 'n=$((n+1)); echo int-$n' INT; "
			  "echo ready; while :; do sleep 0.02; done",
			  &terminal);

	(void)state;
	await_output(terminal, "ready");
	type(terminal, "\003");
	await_output(terminal, "int-1");
	type(terminal, "\034");
	assert_int_equal(finish(pid, terminal), 9);
	assert_null(strstr(output, "int-2"));
}

static void test_the_terminal_is_restored(void **state)
{
	struct termios before, during, after;
	int terminal;
	pid_t pid = start("stty raw -echo; echo ready; read -r -n 1 x", &terminal);

	(void)state;
	await_output(terminal, "ready");
	assert_int_equal(tcgetattr(terminal, &during), 0);
	assert_false(during.c_lflag & ICANON);
	type(terminal, "x");
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(tcgetattr(terminal, &after), 0);
	(void)close(terminal);
	terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_int_equal(tcgetattr(terminal, &before), 0);
	(void)close(terminal);
	assert_int_equal(before.c_lflag, after.c_lflag);
	assert_int_equal(before.c_iflag, after.c_iflag);
	assert_int_equal(before.c_oflag, after.c_oflag);
}

/* Everything that was written before the end must reach the user. */
static void test_no_output_is_lost_at_the_end(void **state)
{
	static char chunk[65536];
	size_t total = 0;
	int terminal;
	pid_t pid = start("head -c 300000 /dev/zero | tr '\\0' x; printf END", &terminal);
	char tail[4] = "";

	(void)state;
	for (;;) {
		ssize_t n = read(terminal, chunk, sizeof(chunk));

		if (n <= 0)
			break;
		total += (size_t)n;
		for (ssize_t i = 0; i < n; i++) { /* the last three bytes, however they come */
			tail[0] = tail[1];
			tail[1] = tail[2];
			tail[2] = chunk[i];
		}
		if (total >= 300003)
			break;
	}
	assert_int_equal(total, 300003);
	assert_string_equal(tail, "END");
	assert_int_equal(finish(pid, terminal), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_command_controls_a_terminal),
		cmocka_unit_test(test_input_and_window_size_go_through),
		cmocka_unit_test(test_ctrl_c_arrives_once),
		cmocka_unit_test(test_the_terminal_is_restored),
		cmocka_unit_test(test_no_output_is_lost_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
