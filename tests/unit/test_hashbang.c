#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/hashbang.h"

static char path[] = "/tmp/sbx-net-hashbang-XXXXXX";

static bool read_text(const char *text, struct hashbang *out)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	return hashbang_read(path, out);
}

static void test_read(void **state)
{
	static const struct {
		const char *text, *interpreter, *argument;
	} rows[] = {
		{ "#!/bin/sh\nexit", "/bin/sh", "" },
		{ "#!/bin/sh", "/bin/sh", "" },
		{ "#! \t /bin/sh \t -e  x \t\n", "/bin/sh", "-e  x" },
		{ "#!bin/sh\n", "bin/sh", "" },
		{ "#!\n/bin/sh", "", "" },
	};
	struct hashbang h;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_true(read_text(rows[i].text, &h));
		assert_string_equal(h.interpreter, rows[i].interpreter);
		assert_string_equal(h.argument, rows[i].argument);
	}
}

static void test_read_finds_none(void **state)
{
	struct hashbang h;

	(void)state;
	assert_false(read_text("", &h));
	assert_false(read_text("#", &h));
	assert_false(read_text(" #!/bin/sh\n", &h));
	assert_false(read_text("\177ELF", &h));
	assert_false(hashbang_read("/nonexistent", &h));
	assert_false(hashbang_read("/dev/zero", &h));
}

static void test_read_takes_what_the_kernel_takes(void **state)
{
	char line[1000], name[HASHBANG_MAX];
	struct hashbang h;

	(void)state;
	memset(line, 'x', sizeof(line));
	memcpy(line, "#!/", 3);
	line[sizeof(line) - 1] = '\0';
	assert_true(read_text(line, &h));
	assert_int_equal(strlen(h.interpreter), HASHBANG_MAX - 2);
	memcpy(line, "#!/usr/bin/env ", 15);
	assert_true(read_text(line, &h));
	assert_true(hashbang_env(&h, name));
	assert_int_equal(strlen(name), HASHBANG_MAX - 15);
}

static void test_env(void **state)
{
	static const struct {
		const char *text, *name;
	} rows[] = {
		{ "#!/usr/bin/env python3\n", "python3" },
		{ "#!/usr/bin/env -S A=b -i python3 -u\n", "python3" },
		{ "#!/bin/env\n", "" },
		{ "#!env -S\n", "" },
	};
	char name[HASHBANG_MAX];
	struct hashbang h;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_true(read_text(rows[i].text, &h));
		assert_true(hashbang_env(&h, name));
		assert_string_equal(name, rows[i].name);
	}
	assert_true(read_text("#!/bin/environment x\n", &h));
	assert_false(hashbang_env(&h, name));
}

static int make(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int tidy(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_read_finds_none),
		cmocka_unit_test(test_read_takes_what_the_kernel_takes),
		cmocka_unit_test(test_env),
	};

	return cmocka_run_group_tests(tests, make, tidy);
}
