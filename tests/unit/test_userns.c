/* A host that refuses namespaces is played by a user namespace whose limits are zero (L-016). */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "launcher/launcher.h"
#include "launcher/userns.h"

static struct error *shared;

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int rc = fd < 0 ? -1 : fd_write_all(fd, text, strlen(text));

	if (fd >= 0)
		(void)close(fd);
	return rc;
}

/* In a namespace in which @limit is 0: whether and how the launcher fails. */
static int try_with_limit(const char *limit)
{
	char *argv[] = { (char[]){ "true" }, NULL };
	char *envp[] = { NULL };
	struct launcher_plan plan = { .argv = argv, .envp = envp, .cwd = "/", .fs = FS_OFF };
	struct netns_listener v[NETNS_LISTENERS_MAX];
	uid_t uid = geteuid();
	gid_t gid = getegid();
	size_t n;

	if (unshare(CLONE_NEWUSER) < 0)
		return 77;
	if (userns_map_self(uid, gid, shared) || write_text(limit, "0") < 0)
		return 2;
	return launcher_start(&plan, v, &n, shared) ? 3 : 0;
}

static void expect_named(const char *limit, const char *remedy)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(try_with_limit(limit));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	if (WEXITSTATUS(status) != 0 || !strstr(shared->msg, remedy))
		fail_msg("%s: %d, %s", limit, WEXITSTATUS(status), shared->msg);
}

static void test_the_limit_that_refuses_is_named(void **state)
{
	(void)state;
	expect_named("/proc/sys/user/max_user_namespaces", "sysctl -w user.max_user_namespaces=");
	expect_named("/proc/sys/user/max_net_namespaces", "sysctl -w user.max_net_namespaces=");
	expect_named("/proc/sys/user/max_pid_namespaces", "sysctl -w user.max_pid_namespaces=");
	expect_named("/proc/sys/user/max_mnt_namespaces", "sysctl -w user.max_mnt_namespaces=");
}

static void test_explain_has_words_for_each_errno(void **state)
{
	static const struct {
		int code;
		const char *words;
	} cases[] = {
		{ ENOSPC, "limit" },
		{ EUSERS, "limit" },
		{ EINVAL, "lacks" },
		{ EPERM, "container" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct error err = { 0 };

		assert_int_equal(userns_explain(cases[i].code, &err), -1);
		assert_int_equal(err.code, cases[i].code);
		/* the remedy is the end, to be copied: the kernel's word stands before it, once */
		assert_non_null(strstr(err.msg, strerror(cases[i].code)));
		assert_int_not_equal(
			strcmp(err.msg + strlen(err.msg) - strlen(strerror(cases[i].code)),
			       strerror(cases[i].code)),
			0);
		/* a host whose switches are off gets their names whatever the errno */
		if (!strstr(err.msg, cases[i].words))
			assert_non_null(strstr(err.msg, "sysctl"));
	}
}

static int share_memory(void **state)
{
	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	return shared == MAP_FAILED ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_limit_that_refuses_is_named),
		cmocka_unit_test(test_explain_has_words_for_each_errno),
	};

	return cmocka_run_group_tests(tests, share_memory, NULL);
}
