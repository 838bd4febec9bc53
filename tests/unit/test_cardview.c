/*
 * The card on a terminal of the test's own: which keys are an answer, by what was in sight when
 * they were typed and not by when they are read.
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/ask/cardview.h"

static const struct question question = {
	.id = 7,
	.target = "cdn.example.com:443",
	.via = "connect",
	.program = "npm",
	.argv = "npm",
	.command = "npm",
	.waiting = 1,
	.deadline = UINT64_MAX,
};

static const struct card_rest none;

/* A terminal as prompt_tty and approvals keep it: a key is there at once, and echoes nothing. */
struct terminal {
	int master;
	struct cardview view;
};

static void resize(const struct terminal *t, unsigned short columns, unsigned short rows)
{
	const struct winsize size = { .ws_col = columns, .ws_row = rows };

	assert_int_equal(ioctl(t->master, TIOCSWINSZ, &size), 0);
}

static void start(struct terminal *t, unsigned short columns, unsigned short rows)
{
	struct termios mode;
	int slave;

	*t = (struct terminal){ .master = posix_openpt(O_RDWR | O_NOCTTY) };
	assert_true(t->master >= 0);
	assert_int_equal(grantpt(t->master), 0);
	assert_int_equal(unlockpt(t->master), 0);
	slave = open(ptsname(t->master), O_RDWR | O_NOCTTY);
	assert_true(slave >= 0);
	assert_int_equal(tcgetattr(slave, &mode), 0);
	cfmakeraw(&mode);
	assert_int_equal(tcsetattr(slave, TCSANOW, &mode), 0);
	t->view = (struct cardview){ .in = slave, .out = slave };
	resize(t, columns, rows);
}

static void stop(struct terminal *t)
{
	(void)close(t->view.in);
	(void)close(t->master);
}

/* What was drawn must not fill the terminal. */
static void draw(struct terminal *t, bool fresh)
{
	char text[CARD_MAX];

	cardview_draw(&t->view, &question, &none, fresh);
	assert_true(read(t->master, text, sizeof(text)) > 0);
}

/* The quiet that lets keys count, without the wait. */
static void be_quiet(struct terminal *t)
{
	t->view.quiet_ms = clock_ms() - CARDVIEW_QUIET_MS;
	cardview_listen(&t->view, &question);
	assert_int_equal(cardview_wait(&t->view), -1);
}

static void type(const struct terminal *t, const char *keys)
{
	assert_int_equal(write(t->master, keys, strlen(keys)), strlen(keys));
}

/* What the terminal has for us, if anything. */
static enum cardview_said keys(struct terminal *t, struct prompt_answer *out)
{
	struct pollfd p = { .fd = t->view.in, .events = POLLIN };
	char text[64];
	ssize_t n = poll(&p, 1, 0) == 1 ? read(t->view.in, text, sizeof(text)) : 0;

	return cardview_keys(&t->view, &question, &none, text, (size_t)n, out);
}

static void expect_allowed(struct terminal *t)
{
	struct prompt_answer out = { .allow = false };

	type(t, "ao");
	assert_int_equal(keys(t, &out), CARDVIEW_ANSWER);
	assert_true(out.allow);
}

static void test_keys_count_after_a_while(void **state)
{
	struct terminal t;
	struct prompt_answer out;

	(void)state;
	start(&t, 80, 24);
	draw(&t, true);
	type(&t, "ao");
	assert_int_equal(keys(&t, &out), CARDVIEW_NOTHING);
	be_quiet(&t);
	expect_allowed(&t);
	stop(&t);
}

/* Another size of a card that stays in sight is the same card: half an answer may wait. */
static void test_a_resize_leaves_what_is_typed(void **state)
{
	struct terminal t;
	struct prompt_answer out = { .allow = false };

	(void)state;
	start(&t, 80, 24);
	draw(&t, true);
	be_quiet(&t);
	type(&t, "ao");
	resize(&t, 100, 30);
	draw(&t, false);
	assert_int_equal(keys(&t, &out), CARDVIEW_ANSWER);
	assert_true(out.allow);
	stop(&t);
}

static void test_keys_for_a_host_out_of_sight_never_count(void **state)
{
	static const unsigned short sizes[][2] = { { 39, 24 }, { 80, 2 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct terminal t;
		struct prompt_answer out;

		start(&t, sizes[i][0], sizes[i][1]);
		draw(&t, true);
		be_quiet(&t);
		assert_true(t.view.small);
		type(&t, "ao"); /* read at once, and read late */
		assert_int_equal(keys(&t, &out), CARDVIEW_NOTHING);
		type(&t, "ao");
		resize(&t, 80, 24);
		draw(&t, false);
		assert_false(t.view.small);
		assert_int_equal(keys(&t, &out), CARDVIEW_NOTHING);
		type(&t, "ao"); /* too soon */
		assert_int_equal(keys(&t, &out), CARDVIEW_NOTHING);
		be_quiet(&t);
		expect_allowed(&t);
		stop(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_count_after_a_while),
		cmocka_unit_test(test_a_resize_leaves_what_is_typed),
		cmocka_unit_test(test_keys_for_a_host_out_of_sight_never_count),
	};

	(void)setenv("TERM", "xterm", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
