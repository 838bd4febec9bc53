/* Links are followed where they are the user's own, and nowhere else. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/guard.h"

static char top[] = "/tmp/sbx-net-guard-XXXXXX";

static int result(const char *path, int flags)
{
	CLEANUP_CLOSE int fd = guard_open(path, flags, 0600);

	return fd < 0 ? errno : 0;
}

static int create(const char *path)
{
	return result(path, O_WRONLY | O_CREAT | O_EXCL);
}

static void test_open_follows_the_users_own_links(void **state)
{
	(void)state;
	assert_int_equal(create("link/f"), 0);
	assert_int_equal(access("real/f", F_OK), 0);
	assert_int_equal(result("abs/f", O_RDONLY), 0);
	assert_int_equal(result("./work/../real//f", O_RDONLY), 0);
	assert_int_equal(result("real", O_RDONLY | O_DIRECTORY), 0);
	assert_int_equal(result("real/", O_RDONLY | O_DIRECTORY), 0);
	assert_int_equal(result("/etc/passwd", O_RDONLY), 0);
	assert_int_equal(result("no/f", O_RDONLY), ENOENT);
	assert_int_equal(result("loop/f", O_RDONLY), ELOOP);
	assert_int_equal(result("last", O_RDONLY), ELOOP); /* never the last one */
	assert_int_equal(unlink("real/f"), 0);
}

static void test_open_distrusts_what_a_command_may_have_left(void **state)
{
	(void)state;
	assert_int_equal(create("work/d/out/f"), 0); /* the control */
	assert_int_equal(unlink("real/f"), 0);
	guard_distrust("missing");
	guard_distrust("work");
	assert_int_equal(create("work/d/out/f"), ELOOP);
	assert_int_equal(create("work/up/real/f"), ELOOP);
	assert_int_equal(create("towork/d/out/f"), ELOOP);
	assert_int_equal(access("real/f", F_OK), -1);
	assert_int_equal(create("work/d/f"), 0);
	assert_int_equal(create("towork/f"), 0); /* the link is outside */
	assert_int_equal(create("work/../link/f"), 0);
	assert_int_equal(unlink("work/d/f") | unlink("work/f") | unlink("real/f"), 0);
}

static bool trusts_nothing(int dir)
{
	(void)dir;
	return false;
}

static bool trusts_all(int dir)
{
	(void)dir;
	return true;
}

/* Of other directories, too: only to what lies beside the link or below. */
static void test_open_asks_the_judge(void **state)
{
	(void)state;
	guard_judge_by(trusts_all);
	assert_int_equal(create("far/out/f"), 0); /* the control */
	assert_int_equal(unlink("real/f"), 0);
	guard_judge_by(trusts_nothing);
	assert_int_equal(create("far/out/f"), ELOOP);
	assert_int_equal(create("far/two/f"), ELOOP);
	assert_int_equal(access("real/f", F_OK), -1);
	assert_int_equal(create("far/in/f"), 0);
	assert_int_equal(create("link/g"), 0);
	assert_int_equal(create("far/../abs/h"), 0);
	assert_int_equal(create("far/file/f"), ENOTDIR);
	assert_int_equal(create("far/none/f"), ENOENT);
	assert_int_equal(unlink("far/d/f") | unlink("real/g") | unlink("real/h"), 0);
	guard_judge_by(NULL);
}

static int enter_top(void **state)
{
	(void)state;
	if (!mkdtemp(top) || chdir(top) < 0)
		return -1;
	return system(
		"mkdir -p real work/d && ln -s real link && ln -s $PWD/real abs && "
		"ln -s ../../real work/d/out && ln -s .. work/up && ln -s work towork && "
		"ln -s loop loop && ln -s real/f last && mkdir -p far/d && echo > far/plain && "
		"ln -s ../real far/out && ln -s in/../../real far/two && ln -s d far/in && "
		"ln -s plain far/file && ln -s missing far/none");
}

static int leave_top(void **state)
{
	(void)state;
	if (system("rm -r real work link abs towork loop last far") != 0)
		return -1;
	return chdir("/") < 0 ? -1 : rmdir(top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_follows_the_users_own_links),
		cmocka_unit_test(test_open_asks_the_judge),
		cmocka_unit_test(test_open_distrusts_what_a_command_may_have_left),
	};

	return cmocka_run_group_tests(tests, enter_top, leave_top);
}
