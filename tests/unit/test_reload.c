/* Changes of a file before and after its watch stands. */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "cli/reload.h"

struct fixture {
	char dir[64];
	char *path, *other;
	const char *paths[1];
	struct event_base *base;
	struct reload *reload;
	unsigned calls, retries;
	struct error said;
};

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	(void)snprintf(f->dir, sizeof(f->dir), "/tmp/test_reload.XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	f->path = xasprintf("%s/p.json", f->dir);
	f->other = xasprintf("%s/new.json", f->dir);
	f->paths[0] = f->path;
	f->base = event_base_new();
	write_file(f->path, "{}");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	CLEANUP_FREE char *command = xasprintf("rm -rf '%s'", f->dir);

	reload_free(f->reload);
	event_base_free(f->base);
	free(f->path);
	free(f->other);
	free(f);
	return system(command);
}

static void count_cb(void *arg)
{
	struct fixture *f = arg;

	f->calls++;
	(void)event_base_loopbreak(f->base);
}

static void open_watch(struct fixture *f, const struct timespec *since)
{
	f->reload = reload_new(f->base, f->paths, NULL, 1, since, count_cb, f);
}

static void enough_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	(void)event_base_loopbreak(arg);
}

/* Until there have been so many; if there have already, for long enough that one more would have come. */
static void expect_calls(struct fixture *f, unsigned n)
{
	const struct timeval limit = { .tv_sec = f->calls < n ? 60 : 1 };
	struct event *enough = evtimer_new(f->base, enough_cb, f->base);

	assert_int_equal(event_add(enough, &limit), 0);
	(void)event_base_dispatch(f->base);
	event_free(enough);
	assert_int_equal(f->calls, n);
}

static struct timespec later_than_the_file(void)
{
	struct timespec now = reload_now();

	now.tv_sec++;
	return now;
}

static void test_a_file_as_it_was_read_is_not_read_again(void **state)
{
	struct fixture *f = *state;
	const struct timespec since = later_than_the_file();

	open_watch(f, &since);
	expect_calls(f, 0);
	write_file(f->path, "{ }");
	expect_calls(f, 1);
}

static void test_a_change_before_the_watch_stands_is_seen(void **state)
{
	struct fixture *f = *state;
	const struct timespec since = reload_now();

	write_file(f->path, "{ }");
	open_watch(f, &since);
	expect_calls(f, 1);
}

/* Who asks hears of a change that the next look would find. */
static void test_is_due_looks_itself(void **state)
{
	struct fixture *f = *state;
	const struct timespec since = later_than_the_file();

	open_watch(f, &since);
	assert_false(reload_is_due(f->reload));
	write_file(f->path, "{ }");
	assert_true(reload_is_due(f->reload));
	assert_true(reload_is_due(f->reload));
	assert_int_equal(f->calls, 0);
	expect_calls(f, 1);
	assert_false(reload_is_due(f->reload));
}

/* By rename: the new file was written long ago, and keeps its own time of writing. */
static void test_a_replacement_before_the_watch_stands_is_seen(void **state)
{
	struct fixture *f = *state;
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct timespec since;

	write_file(f->other, "{ }");
	assert_int_equal(utimensat(-1, f->other, old, 0), 0);
	since = reload_now();
	assert_int_equal(rename(f->other, f->path), 0);
	open_watch(f, &since);
	expect_calls(f, 1);
}

static void test_a_removal_before_the_watch_stands_is_seen(void **state)
{
	struct fixture *f = *state;
	const struct timespec since = reload_now();

	assert_int_equal(unlink(f->path), 0);
	open_watch(f, &since);
	expect_calls(f, 1);
}

static void again_cb(void *arg)
{
	const struct error err = { .code = ENOMEM, .msg = "no memory" };
	struct fixture *f = arg;

	if (reload_is_retry(f->reload))
		f->retries++;
	if (++f->calls < 4)
		reload_tell(f->reload, -1, &err, "", &f->said);
	else
		(void)event_base_loopbreak(f->base);
}

static void test_what_has_failed_is_called_for_until_it_has_not(void **state)
{
	struct fixture *f = *state;
	const struct timespec since = later_than_the_file();

	f->reload = reload_new(f->base, f->paths, NULL, 1, &since, again_cb, f);
	write_file(f->path, "{ }");
	while (f->calls < 4)
		(void)event_base_loop(f->base, EVLOOP_ONCE);
	assert_int_equal(f->retries, 3); /* the first was for the change */
	expect_calls(f, 4);
	write_file(f->path, "{  }");
	expect_calls(f, 5);
	assert_int_equal(f->retries, 3);
}

/* A file that is held is watched whatever its name leads to; of the name, only whether it does. */
static void test_a_held_file_is_watched_wherever_it_is(void **state)
{
	struct fixture *f = *state;
	const struct timespec since = later_than_the_file();
	CLEANUP_CLOSE int fd = open(f->path, O_RDWR | O_CLOEXEC);
	CLEANUP_FREE char *away = xasprintf("%s/away", f->dir);

	f->reload = reload_new(f->base, f->paths, &fd, 1, &since, count_cb, f);
	assert_false(reload_is_due(f->reload));
	write_file(f->other, "other");
	assert_int_equal(rename(f->path, away), 0);
	assert_int_equal(rename(f->other, f->path), 0);
	expect_calls(f, 1);
	write_file(f->path, "another"); /* not what is held */
	expect_calls(f, 1);
	write_file(away, "{ }");
	expect_calls(f, 2);
}

static void fail_cb(void *arg)
{
	const struct error err = { .msg = "line 1" };
	struct fixture *f = arg;

	f->calls++;
	reload_tell(f->reload, f->calls < 3 ? 1 : 0, &err, "", &f->said);
	(void)event_base_loopbreak(f->base);
}

/* What a file says wrongly it says until it is changed. */
static void test_what_lasts_is_not_called_for_again(void **state)
{
	struct fixture *f = *state;
	const struct timespec since = later_than_the_file();

	f->reload = reload_new(f->base, f->paths, NULL, 1, &since, fail_cb, f);
	for (unsigned i = 1; i <= 3; i++) {
		write_file(f->path, i == 2 ? "{" : "{ }");
		expect_calls(f, i);
		assert_string_equal(f->said.msg, i < 3 ? "line 1" : "");
		expect_calls(f, i);
	}
}

/* A change on every turn of the loop must not put the call off. */
static void tick_cb(evutil_socket_t fd, short what, void *arg)
{
	struct fixture *f = arg;

	(void)fd, (void)what;
	reload_soon(f->reload);
}

static void test_a_steady_stream_does_not_postpone(void **state)
{
	struct fixture *f = *state;
	const struct timespec since = later_than_the_file();
	const struct timeval step = { .tv_usec = 5000 };
	struct event *tick;

	open_watch(f, &since);
	tick = event_new(f->base, -1, EV_PERSIST, tick_cb, f);
	assert_non_null(tick);
	(void)event_add(tick, &step);
	expect_calls(f, 1);
	event_free(tick);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_file_as_it_was_read_is_not_read_again, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_is_due_looks_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_change_before_the_watch_stands_is_seen,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_replacement_before_the_watch_stands_is_seen,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_removal_before_the_watch_stands_is_seen,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_has_failed_is_called_for_until_it_has_not,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_held_file_is_watched_wherever_it_is, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_what_lasts_is_not_called_for_again, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_steady_stream_does_not_postpone, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
