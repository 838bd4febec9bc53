#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/files/mountinfo.h"

static void test_read_finds_proc(void **state)
{
	static char none[] = "";
	struct mountinfo_mount proc = { none, none, none, none, none };
	struct mountinfo m;

	(void)state;
	assert_int_equal(mountinfo_read(&m), 0);
	for (size_t i = 0; i < m.n; i++)
		if (strcmp(m.v[i].point, "/proc") == 0)
			proc = m.v[i];
	assert_string_equal(proc.type, "proc");
	assert_string_equal(proc.root, "/");
	assert_non_null(strchr(proc.device, ':'));
	assert_true(strncmp(proc.options, "rw", 2) == 0 || strncmp(proc.options, "ro", 2) == 0);
	mountinfo_clear(&m);
	assert_int_equal(m.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_finds_proc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
