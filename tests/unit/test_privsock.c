/* Private sockets: nobody else's directory, no living process's name, no stranger's peer. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "cli/privsock.h"

static char top[] = "/tmp/sbx-net-privsock-XXXXXX";

static char *at(const char *name)
{
	return xasprintf("%s/%s", top, name);
}

static void listen_ok(struct privsock *s, const char *dir)
{
	struct error err = { 0 };

	*s = PRIVSOCK_NONE;
	if (privsock_listen(s, dir, "x.sock", &err) < 0)
		fail_msg("%s", err.msg);
}

static void listen_fails(const char *dir, const char *name, const char *reason)
{
	struct privsock s = PRIVSOCK_NONE;
	struct error err = { 0 };

	assert_int_equal(privsock_listen(&s, dir, name, &err), -1);
	if (!strstr(err.msg, reason))
		fail_msg("%s", err.msg);
	assert_int_equal(s.fd, -1);
}

static void test_listen_makes_a_private_place(void **state)
{
	CLEANUP_FREE char *dir = at("a/b");
	CLEANUP_FREE char *path = at("a/b/x.sock");
	struct privsock s;
	struct stat st;
	int c, fd;

	(void)state;
	listen_ok(&s, dir);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	c = privsock_connect(path, NULL);
	assert_true(c >= 0);
	fd = privsock_accept(s.fd);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	(void)close(fd);
	(void)close(c);
	privsock_close(&s);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_listen_replaces_what_is_dead_only(void **state)
{
	CLEANUP_FREE char *dir = at("stale");
	CLEANUP_FREE char *path = at("stale/x.sock");
	struct privsock s;
	int c;

	(void)state;
	if (fork() == 0) {
		listen_ok(&s, dir);
		_exit(0); /* as after SIGKILL: the name stays */
	}
	(void)wait(NULL);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(privsock_connect(path, NULL), -1);
	listen_ok(&s, dir);
	listen_fails(dir, "x.sock", path); /* which one it is */
	listen_fails(dir, "x.sock", "another process listens");
	c = privsock_connect(path, NULL); /* the failed attempt has not hurt it */
	assert_true(c >= 0);
	(void)close(c);
	privsock_close(&s);
}

static void test_listen_refuses_unsafe_places(void **state)
{
	CLEANUP_FREE char *open_to_all = at("open");
	CLEANUP_FREE char *file = at("file");
	CLEANUP_FREE char *taken = at("open/x.sock");
	char longer[200];

	(void)state;
	assert_int_equal(mkdir(open_to_all, 0755), 0);
	listen_fails(open_to_all, "x.sock", "nobody else may read or write");
	assert_int_equal(chmod(open_to_all, 0722), 0);
	listen_fails(open_to_all, "x.sock", "nobody else may read or write");
	assert_int_equal(chmod(open_to_all, 0711), 0);
	(void)close(open(taken, O_CREAT | O_WRONLY, 0600));
	listen_fails(open_to_all, "x.sock", "is no socket");
	(void)close(open(file, O_CREAT | O_WRONLY, 0600));
	listen_fails(file, "x.sock", "file");
	listen_fails("", "x.sock", "cannot make");
	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	listen_fails(top, longer, "at most 107 bytes");
}

static void test_connect_tells_what_is_wrong(void **state)
{
	CLEANUP_FREE char *missing = at("none.sock");
	struct error err = { 0 };

	(void)state;
	assert_int_equal(privsock_connect(missing, &err), -1);
	assert_non_null(strstr(err.msg, "none.sock"));
	assert_int_equal(err.code, ENOENT);
}

/* Needs root: a child of another user connects through a directory opened up for the test. */
static void test_accept_turns_strangers_away(void **state)
{
	CLEANUP_FREE char *dir = at("strangers");
	CLEANUP_FREE char *path = at("strangers/x.sock");
	struct privsock s;
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	listen_ok(&s, dir);
	assert_int_equal(chmod(top, 0755) | chmod(dir, 0755) | chmod(path, 0666), 0);
	if (fork() == 0) {
		struct sockaddr_un sa = { .sun_family = AF_UNIX };
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		(void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%.100s", path);
		if (setresuid(65534, 65534, 65534) < 0 ||
		    connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
			_exit(2);
		/* and a server of another user is not trusted either */
		_exit(privsock_connect(path, NULL) == -1 ? 0 : 3);
	}
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
	errno = 0;
	assert_int_equal(privsock_accept(s.fd), -1);
	assert_int_equal(errno, EPERM);
	privsock_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listen_makes_a_private_place),
		cmocka_unit_test(test_listen_replaces_what_is_dead_only),
		cmocka_unit_test(test_listen_refuses_unsafe_places),
		cmocka_unit_test(test_connect_tells_what_is_wrong),
		cmocka_unit_test(test_accept_turns_strangers_away),
	};
	CLEANUP_FREE char *remove = NULL;
	int failed;

	if (!mkdtemp(top))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	remove = xasprintf("rm -rf '%s'", top);
	return system(remove) || failed;
}
