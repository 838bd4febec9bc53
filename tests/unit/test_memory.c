#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fdreserve.h"
#include "cli/ask/memory.h"

static char dir[] = "/tmp/test_memory.XXXXXX";

static int setup(void **state)
{
	(void)state;
	memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
	return mkdtemp(dir) && setenv("XDG_STATE_HOME", dir, 1) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	static const char *const files[] = { "sbx-net/answers", "sbx-net/lock", "sbx-net", "." };
	int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		(void)unlinkat(at, files[i], i < 2 ? 0 : AT_REMOVEDIR);
	(void)close(at);
	return rmdir(dir);
}

static struct grant grant(const char *pattern, bool allow, const char *project)
{
	struct grant g = { .allow = allow, .when = memory_now(), .by = "tester" };

	(void)snprintf(g.pattern, sizeof(g.pattern), "%s", pattern);
	(void)snprintf(g.project, sizeof(g.project), "%s", project);
	g.scope = *project ? GRANT_PROJECT : GRANT_FOREVER;
	return g;
}

static void save(const char *pattern, bool allow, const char *project)
{
	struct grant g = grant(pattern, allow, project);
	struct error err;

	assert_int_equal(memory_save(&g, &err), 0);
}

/* How many answers hold in a project. */
static size_t loaded(const char *project)
{
	struct grants *g = grants_new(memory_now);
	struct error err;
	size_t n;

	assert_int_equal(memory_load(g, project, &err), 0);
	n = grants_count(g);
	grants_free(g);
	return n;
}

static void test_nothing_is_no_error(void **state)
{
	(void)state;
	assert_int_equal(loaded("/a"), 0);
}

static void test_project_and_forever(void **state)
{
	struct stat st;
	CLEANUP_FREE char *path = memory_path(&(struct error){ 0 });

	(void)state;
	save("a.example:443", true, "");
	save("b.example:443", false, "/a");
	save("c.example:443", true, "/b");
	assert_int_equal(loaded("/a"), 2);
	assert_int_equal(loaded("/b"), 2);
	assert_int_equal(loaded("/c"), 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

/* As after a power failure on some file systems: the answers behind it hold, and none is lost. */
static void test_what_stands_behind_a_nul_holds(void **state)
{
	CLEANUP_FREE char *path = memory_path(&(struct error){ 0 });
	CLEANUP_CLOSE int fd = -1;
	char text[4096] = { 0 };
	ssize_t n;

	(void)state;
	save("a.example:443", true, "");
	save("b.example:443", false, "");
	fd = open(path, O_RDWR | O_CLOEXEC);
	text[3] = '\n';
	n = read(fd, text + 4, sizeof(text) - 4);
	assert_true(n > 0);
	assert_int_equal(pwrite(fd, text, (size_t)n + 4, 0), n + 4);
	assert_int_equal(loaded("/a"), 2);
	save("c.example:443", false, "");
	assert_int_equal(loaded("/a"), 3);
}

static bool count(void *arg, const struct grant *g)
{
	(void)g;
	++*(unsigned *)arg;
	return false;
}

static unsigned stored(void)
{
	struct error err;
	unsigned n = 0;

	assert_int_equal(memory_each(count, &n, &err), 0);
	return n;
}

static void test_newer_answer_replaces_and_expired_ones_go(void **state)
{
	struct grant old = grant("old.example:1", true, "");
	struct error err;

	(void)state;
	old.until = memory_now() - 1;
	assert_int_equal(memory_save(&old, &err), 0);
	assert_int_equal(loaded("/a"), 0);
	save("a.example:443", true, "");
	save("a.example:443", false, "");
	assert_int_equal(stored(), 1);
}

static bool is_a(void *arg, const struct grant *g)
{
	(void)arg;
	return strcmp(g->pattern, "a.example:443") == 0;
}

static void test_forgetting(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(memory_forget(is_a, NULL, &err), 0);
	save("a.example:443", true, "");
	save("a.example:443", true, "/p");
	save("b.example:443", true, "");
	assert_int_equal(memory_forget(is_a, NULL, &err), 2);
	assert_int_equal(stored(), 1);
	assert_int_equal(memory_forget(is_a, NULL, &err), 0);
}

static void test_writers_at_once_lose_nothing(void **state)
{
	enum { WRITERS = 4, EACH = 10 };
	pid_t pid[WRITERS];

	(void)state;
	for (unsigned w = 0; w < WRITERS; w++) {
		pid[w] = fork();
		if (pid[w] == 0) {
			for (unsigned i = 0; i < EACH; i++) {
				char name[32];

				(void)snprintf(name, sizeof(name), "h%u-%u.example:443", w, i);
				save(name, true, "");
			}
			_exit(0);
		}
	}
	for (unsigned w = 0; w < WRITERS; w++)
		assert_int_equal(waitpid(pid[w], NULL, 0), pid[w]);
	assert_int_equal(stored(), WRITERS * EACH);
}

static void test_unreadable_file_is_an_error(void **state)
{
	CLEANUP_FREE char *path = memory_path(&(struct error){ 0 });
	struct grants *g = grants_new(memory_now);
	struct error err;

	(void)state;
	save("a.example:443", true, "");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(memory_load(g, "/a", &err), -1);
	assert_int_equal(rmdir(path), 0);
	grants_free(g);
}

/* Whoever takes every descriptor takes no answer with them. */
static void test_descriptors_are_kept_back_for_answers(void **state)
{
	struct grants *g = grants_new(memory_now);
	struct rlimit was, few;
	struct error err;
	int taken[64], n = 0, without, with;

	(void)state;
	save("a.example:443", false, "");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = (struct rlimit){ 64, was.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	while (n < 64 && (taken[n] = open("/", O_PATH | O_CLOEXEC)) >= 0)
		n++;
	without = memory_load(g, "/a", &err);
	while (n > 0)
		(void)close(taken[--n]);
	fdreserve_fill();
	while (n < 64 && (taken[n] = open("/", O_PATH | O_CLOEXEC)) >= 0)
		n++;
	with = memory_load(g, "/a", &err);
	while (n > 0)
		(void)close(taken[--n]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(without, -1);
	assert_int_equal(with, 0);
	assert_int_equal(grants_count(g), 1);
	grants_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_is_no_error, setup, teardown),
		cmocka_unit_test_setup_teardown(test_project_and_forever, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_stands_behind_a_nul_holds, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_newer_answer_replaces_and_expired_ones_go,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_forgetting, setup, teardown),
		cmocka_unit_test_setup_teardown(test_descriptors_are_kept_back_for_answers, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_writers_at_once_lose_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreadable_file_is_an_error, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
