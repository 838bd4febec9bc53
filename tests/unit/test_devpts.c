/*
 * test_devpts.c - X-045: the host's terminals are out of sight, and new ones work
 */
#include "launcher/files/devpts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CHILD_SKIP 77

static int open_pair(int *master)
{
	*master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*master < 0 || grantpt(*master) < 0 || unlockpt(*master) < 0)
		return -1;
	return open(ptsname(*master), O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static int look(const char *host)
{
	char byte = 0;
	int master, slave;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return CHILD_SKIP;
	if (access(host, F_OK) < 0)
		return 1; /* the control: it can be seen before */
	if (!devpts_mount())
		return errno == EPERM ? CHILD_SKIP : 2;
	if (access(host, F_OK) == 0)
		return 3;
	slave = open_pair(&master);
	if (slave < 0 || write(slave, "x", 1) != 1 || read(master, &byte, 1) != 1 || byte != 'x')
		return 4;
	return 0;
}

static void test_mount_hides_the_hosts_terminals(void **state)
{
	int held[8], slave = -1, status;
	pid_t pid;

	(void)state;
	/* Several, so that the number looked for is not the first of the new instance. */
	for (size_t i = 0; i < 8; i++) {
		slave = open_pair(&held[i]);
		if (slave < 0) {
			print_message("SKIP: no pseudo-terminals here\n");
			skip();
		}
	}
	pid = fork();
	if (pid == 0)
		_exit(look(ptsname(held[7])));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == CHILD_SKIP) {
		print_message("SKIP: no namespaces here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mount_hides_the_hosts_terminals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
