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

#include "dns/hostsfile.h"

static size_t find(const struct hostsfile *h, const char *name, struct addr *out, size_t max)
{
	struct hostname host = { .len = (uint8_t)strlen(name) };

	memcpy(host.s, name, host.len);
	return hostsfile_lookup(h, &host, out, max);
}

/* The addresses of @name in @text, as one string: "192.0.2.1 ::1". */
static const char *answer(const char *text, const char *name)
{
	static char out[1024];
	struct error err = { 0 };
	struct hostsfile *h = hostsfile_parse(text, strlen(text), &err);
	char buf[ADDR_TEXT_MAX];
	struct addr v[8];
	size_t n;

	assert_non_null(h);
	n = find(h, name, v, 8);
	out[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		strcat(out, i ? " " : "");
		strcat(out, addr_format(&v[i], buf));
	}
	hostsfile_close(h);
	return out;
}

static void test_names_of_an_address(void **state)
{
	static const char text[] = "192.0.2.1 a.example b.example\n192.0.2.2 c.example\n"
				   "::1 d.example\n192.0.2.1 e.example a.example\n";
	static const struct {
		const char *addr, *names;
		size_t n;
	} rows[] = {
		{ "192.0.2.1", "a.example b.example e.example a.example", 4 },
		{ "192.0.2.2", "c.example", 1 },
		{ "::1", "d.example", 1 },
		{ "192.0.2.3", "", 0 },
		{ "::2", "", 0 },
	};
	struct error err = { 0 };
	struct hostsfile *h = hostsfile_parse(text, strlen(text), &err);

	(void)state;
	assert_non_null(h);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hostname v[4];
		char got[256] = "";
		struct addr a;

		assert_true(addr_parse(rows[i].addr, strlen(rows[i].addr), &a));
		assert_int_equal(hostsfile_names(h, &a, v, 4), rows[i].n);
		for (size_t k = 0; k < rows[i].n; k++) {
			strcat(got, k ? " " : "");
			strncat(got, v[k].s, v[k].len);
		}
		assert_string_equal(got, rows[i].names);
		if (rows[i].n > 1)
			assert_int_equal(hostsfile_names(h, &a, v, 1), 2);
	}
	hostsfile_close(h);
}

static void test_lookup_accepts(void **state)
{
	static const char *const rows[][3] = {
		{ "192.0.2.1 a.example", "a.example", "192.0.2.1" },
		{ "192.0.2.1 a.example\n", "a.example", "192.0.2.1" },
		{ "192.0.2.1 a.example\r\n", "a.example", "192.0.2.1" },
		{ "\t 192.0.2.1\t\ta.example  b \n", "b", "192.0.2.1" },
		{ "192.0.2.1 A.Example\n", "a.example", "192.0.2.1" },
		{ "192.0.2.1 a b # c d\n", "b", "192.0.2.1" },
		{ "# x\n\n192.0.2.1 a#b\n", "a", "192.0.2.1" },
		{ "192.0.2.1 a\n::1 a\n192.0.2.2 a\n", "a", "192.0.2.1 ::1 192.0.2.2" },
		{ "192.0.2.1 a\n192.0.2.1 a\n", "a", "192.0.2.1" },
		{ "2001:DB8::1 a\n", "a", "2001:db8::1" },
		{ "0.0.0.0 ads.example\n", "ads.example", "0.0.0.0" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(answer(rows[i][0], rows[i][1]), rows[i][2]);
}

static void test_lookup_skips(void **state)
{
	static const char *const rows[][2] = {
		{ "192.0.2.1 a b # c d\n", "c" },
		{ "192.0.2.1 a b # c d\n", "192.0.2.1" },
		{ "127.1 a\n", "a" },
		{ "0x7f000001 a\n", "a" },
		{ "192.0.2.01 a\n", "a" },
		{ "192.0.2.1/24 a\n", "a" },
		{ "fe80::1%lo a\n", "a" },
		{ "[::1] a\n", "a" },
		{ "a 192.0.2.1\n", "a" },
		{ "192.0.2.1\n", "192.0.2.1" },
		{ "192.0.2.1 192.0.2.2\n", "192.0.2.2" },
		{ "192.0.2.1 a..b\n", "a..b" },
		{ "192.0.2.1 a/b\n", "a/b" },
		{ "192.0.2.1 \x01\n", "\x01" },
		{ "192.0.2.1 b.a\n", "a" },
		{ "192.0.2.1 ab\n", "a" },
		{ "", "a" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(answer(rows[i][0], rows[i][1]), "");
}

static void test_parse_takes_nul_as_part_of_a_word(void **state)
{
	static const char text[] = "192.0.2.1 a\0b c\n192.0.2.2\0 d\n";
	struct error err;
	struct hostsfile *h = hostsfile_parse(text, sizeof(text) - 1, &err);
	struct addr v[2];

	(void)state;
	assert_non_null(h);
	assert_int_equal(find(h, "a", v, 2), 0);
	assert_int_equal(find(h, "c", v, 2), 1);
	assert_int_equal(find(h, "d", v, 2), 0);
	hostsfile_close(h);
}

static void test_lookup_is_bounded_by_the_caller(void **state)
{
	static const char text[] = "192.0.2.1 a\n192.0.2.2 a\n192.0.2.3 a\n";
	struct error err;
	struct hostsfile *h = hostsfile_parse(text, sizeof(text) - 1, &err);
	struct addr v[3] = { 0 };

	(void)state;
	assert_non_null(h);
	assert_int_equal(find(h, "a", v, 2), 2);
	assert_int_equal(v[2].family, 0);
	assert_int_equal(find(h, "a", v, 3), 3);
	hostsfile_close(h);
}

static void test_parse_takes_large_block_lists(void **state)
{
	enum { N = 200000 };
	char *text = malloc(N * 40u);
	struct error err;
	struct hostsfile *h;
	struct addr v[2];
	size_t len = 0;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < N; i++)
		len += (size_t)sprintf(text + len, "0.0.0.0 h%d.ads.example\n", i);
	h = hostsfile_parse(text, len, &err);
	assert_non_null(h);
	assert_int_equal(hostsfile_count(h), N);
	assert_int_equal(find(h, "h0.ads.example", v, 2), 1);
	assert_int_equal(find(h, "h199999.ads.example", v, 2), 1);
	assert_int_equal(find(h, "h200000.ads.example", v, 2), 0);
	hostsfile_close(h);
	free(text);
}

static void test_parse_refuses_too_much(void **state)
{
	size_t len = (HOSTSFILE_ENTRIES_MAX + 1) * 2 + 8;
	char *text = malloc(HOSTSFILE_SIZE_MAX + 1);
	struct error err = { 0 };
	struct hostsfile *h;

	(void)state;
	assert_non_null(text);
	memset(text, '#', HOSTSFILE_SIZE_MAX + 1);
	assert_null(hostsfile_parse(text, HOSTSFILE_SIZE_MAX + 1, &err));
	h = hostsfile_parse(text, HOSTSFILE_SIZE_MAX, &err);
	assert_non_null(h);
	hostsfile_close(h);

	memcpy(text, "0.0.0.0 ", 8);
	for (size_t i = 8; i < len; i += 2)
		memcpy(text + i, "a ", 2);
	assert_null(hostsfile_parse(text, len, &err));
	h = hostsfile_parse(text, len - 2, &err);
	assert_non_null(h);
	hostsfile_close(h);
	free(text);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void test_refresh_follows_the_file(void **state)
{
	char dir[] = "/tmp/test-hostsfile-XXXXXX";
	char path[64], other[64];
	struct error err;
	struct hostsfile *h;
	struct addr v[2];

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/hosts", dir);
	(void)snprintf(other, sizeof(other), "%s/new", dir);

	h = hostsfile_open(path, &err); /* not there yet: empty */
	assert_non_null(h);
	assert_int_equal(find(h, "a", v, 2), 0);

	write_file(path, "192.0.2.1 a\n");
	hostsfile_refresh(h);
	assert_int_equal(find(h, "a", v, 2), 1);

	write_file(other, "192.0.2.1 b\n"); /* same size, another inode */
	assert_int_equal(rename(other, path), 0);
	hostsfile_refresh(h);
	assert_int_equal(find(h, "a", v, 2), 0);
	assert_int_equal(find(h, "b", v, 2), 1);

	assert_int_equal(unlink(path), 0); /* gone: empty again */
	hostsfile_refresh(h);
	assert_int_equal(find(h, "b", v, 2), 0);
	hostsfile_close(h);
	(void)rmdir(dir);
}

static void test_refresh_keeps_old_contents_when_reading_fails(void **state)
{
	char dir[] = "/tmp/test-hostsfile-XXXXXX";
	struct error err = { 0 };
	struct hostsfile *h;
	struct addr v[2];
	char path[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/hosts", dir);
	write_file(path, "192.0.2.1 a\n");
	h = hostsfile_open(path, &err);
	assert_non_null(h);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	hostsfile_refresh(h);
	hostsfile_refresh(h);
	assert_int_equal(find(h, "a", v, 2), 1);
	assert_null(hostsfile_open(path, &err)); /* and a start with it fails */
	assert_non_null(strstr(err.msg, path));
	hostsfile_close(h);
	(void)rmdir(path);
	(void)rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_an_address),
		cmocka_unit_test(test_lookup_accepts),
		cmocka_unit_test(test_lookup_skips),
		cmocka_unit_test(test_parse_takes_nul_as_part_of_a_word),
		cmocka_unit_test(test_lookup_is_bounded_by_the_caller),
		cmocka_unit_test(test_parse_takes_large_block_lists),
		cmocka_unit_test(test_parse_refuses_too_much),
		cmocka_unit_test(test_refresh_follows_the_file),
		cmocka_unit_test(test_refresh_keeps_old_contents_when_reading_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
