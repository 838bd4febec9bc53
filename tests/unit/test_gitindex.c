/* Names in git's index: which lead elsewhere, and what git would read in another way than from the front. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "launcher/files/gitindex.h"

static char heard[256];

static void hear(void *arg, const char *name, const uint8_t *tree)
{
	(void)arg;
	strcat(strcat(heard, name), tree ? ":|" : "|");
}

/* An index that is made byte by byte. */
static struct made {
	uint8_t v[8192];
	size_t n, begin, hash;
	unsigned version;
	char last[512];
} m;

static void put(const void *p, size_t n)
{
	assert_true(m.n + n <= sizeof(m.v));
	memcpy(m.v + m.n, p, n);
	m.n += n;
}

static void put8(unsigned v)
{
	const uint8_t b = (uint8_t)v;

	put(&b, 1);
}

static void put32(size_t v)
{
	put8((unsigned)(v >> 24));
	put8(v >> 16 & 255);
	put8(v >> 8 & 255);
	put8(v & 255);
}

static void begin(unsigned version, size_t hash, unsigned entries)
{
	memset(&m, 0, sizeof(m));
	m.version = version;
	m.hash = hash;
	put("DIRC", 4);
	put32(version);
	put32(entries);
}

/* @keep: of the last name, version 4; @flags: besides the length */
static void add_entry(const char *name, size_t keep, unsigned flags)
{
	static const uint8_t zeros[80];
	size_t n = strlen(name), strip = strlen(m.last) - keep;

	m.begin = m.n;
	put(zeros, 40 + m.hash);
	put8((flags | (unsigned)(keep + n > 4095 ? 4095 : keep + n)) >> 8);
	put8((unsigned)(keep + n) & 255);
	if (flags & 0x4000)
		put(zeros, 2);
	if (m.version == 4)
		put8((unsigned)strip);
	put(name, n + 1);
	while (m.version < 4 && (m.n - m.begin) % 8)
		put8(0);
	strcpy(m.last + keep, name);
}

static enum gitindex check(char **name)
{
	static const uint8_t zeros[32];
	enum gitindex found;

	put(zeros, m.hash);
	found = gitindex_check(m.v, m.n, m.hash, false, hear, NULL, name);
	m.n -= m.hash;
	return found;
}

static void expect(enum gitindex want)
{
	CLEANUP_FREE char *name = NULL;

	assert_int_equal(check(&name), want);
	assert_int_equal(name != NULL, want == GITINDEX_ELSEWHERE);
}

static void test_check_reads_every_version(void **state)
{
	(void)state;
	for (unsigned version = 2; version <= 4; version++) {
		for (size_t hash = GITINDEX_SHA1; hash <= GITINDEX_SHA256; hash += 12) {
			begin(version, hash, 3);
			add_entry("a/b", 0, 0);
			add_entry(version == 4 ? "c" : "a/c", version == 4 ? 2 : 0, 0);
			add_entry("long/name/of.file", 0, 0x4000);
			expect(GITINDEX_OK);
			begin(version, hash, 0);
			expect(GITINDEX_OK);
		}
	}
}

static void test_check_finds_names_that_lead_elsewhere(void **state)
{
	static const char *const names[] = { "../a", "a/../b", "/etc/x", ".git/config", "a/.GIT/x",
					     "..",   "a//b",   "a/./b",	 ".git",	"./a" };
	static const char *const harmless[] = { "",	     "a/",	   "..a",
						"a../b",     ".gitignore", ".github/x",
						"a/.gitx/b", "git/b",	   "..." };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		CLEANUP_FREE char *name = NULL;

		begin(2, GITINDEX_SHA1, 3);
		add_entry("a", 0, 0);
		add_entry(names[i], 0, 0);
		add_entry("z", 0, 0);
		assert_int_equal(check(&name), GITINDEX_ELSEWHERE);
		assert_string_equal(name, names[i]);
	}
	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++) {
		begin(3, GITINDEX_SHA1, 1);
		add_entry(harmless[i], 0, 0);
		expect(GITINDEX_OK);
	}
}

static void test_check_puts_names_together(void **state)
{
	CLEANUP_FREE char *name = NULL;

	(void)state;
	begin(4, GITINDEX_SHA1, 2);
	add_entry("a/.gitignore", 0, 0);
	add_entry("/config", 6, 0);
	assert_int_equal(check(&name), GITINDEX_ELSEWHERE);
	assert_string_equal(name, "a/.git/config");
}

static void test_check_tells_of_repositories(void **state)
{
	char *name;

	(void)state;
	begin(4, GITINDEX_SHA1, 3);
	add_entry("sub/a", 0, 0);
	m.v[m.begin + 26] = 0160000 >> 8;
	add_entry("file", 0, 0);
	m.v[m.begin + 26] = 0100644 >> 8;
	add_entry("x", 0, 0);
	m.v[m.begin + 26] = 0160000 >> 8;
	heard[0] = '\0';
	expect(GITINDEX_OK);
	assert_string_equal(heard, "sub/a|x|");
	heard[0] = '\0';
	assert_int_equal(gitindex_check(m.v, m.n + m.hash, m.hash, true, hear, NULL, &name),
			 GITINDEX_OK);
	assert_string_equal(heard, "sub/a|file|x|");
}

static void test_check_tells_of_directories(void **state)
{
	static const struct {
		const char *name, *heard;
		enum gitindex want;
	} cases[] = {
		{ "sub/a/", "sub/a/:|", GITINDEX_OK },
		{ "sub/a", "", GITINDEX_BAD },
		{ "", "", GITINDEX_BAD },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(2, GITINDEX_SHA1, 1);
		add_entry(cases[i].name, 0, 0);
		m.v[m.begin + 26] = 0040000 >> 8;
		heard[0] = '\0';
		expect(cases[i].want);
		assert_string_equal(heard, cases[i].heard);
	}
}

static void test_check_refuses_what_is_cut_short(void **state)
{
	CLEANUP_FREE char *name = NULL;

	(void)state;
	begin(2, GITINDEX_SHA1, 1);
	add_entry("a", 0, 0);
	for (size_t n = 0; n < m.n + m.hash; n++)
		assert_int_equal(gitindex_check(m.v, n, m.hash, false, NULL, NULL, &name),
				 GITINDEX_BAD);
	begin(5, GITINDEX_SHA1, 0);
	expect(GITINDEX_BAD);
	begin(1, GITINDEX_SHA1, 0);
	expect(GITINDEX_BAD);
}

/* What git takes for the name is as long as the flags say. */
static void test_check_refuses_another_length(void **state)
{
	(void)state;
	for (int off = -1; off <= 1; off++) {
		begin(2, GITINDEX_SHA1, 1);
		add_entry("abc", 0, 0);
		m.v[m.begin + 61] = (uint8_t)(3 + off);
		expect(off ? GITINDEX_BAD : GITINDEX_OK);
	}
}

/* Extensions that say where the entries end and where blocks of them begin. */
static void add_ends(size_t end, size_t offset, size_t entries, size_t hash)
{
	static const uint8_t zeros[32];

	put("TREE", 4);
	put32(3);
	put("abc", 3);
	put("IEOT", 4);
	put32(20);
	put32(1);
	put32(12);
	put32(1);
	put32(offset);
	put32(entries);
	put("EOIE", 4);
	put32(4 + hash);
	put32(end);
	put(zeros, hash);
}

static void make_blocks(unsigned version, size_t keep)
{
	begin(version, GITINDEX_SHA256, 2);
	add_entry("aa/b", 0, 0);
	add_entry("../x" + (keep ? 0 : 3), keep, 0);
}

static void test_check_reads_blocks_in_one_way(void **state)
{
	(void)state;
	for (int twist = 0; twist < 5; twist++) {
		size_t end, offset;

		make_blocks(twist == 4 ? 4 : 2, twist == 4 ? 4 : 0);
		end = m.n;
		offset = m.begin;
		add_ends(end + (twist == 1), offset + (twist == 2), twist == 3 ? 2 : 1,
			 GITINDEX_SHA256);
		/* "aa/b../x" is harmless; a thread that begins there would read "../x" */
		expect(twist ? GITINDEX_BAD : GITINDEX_OK);
	}
	make_blocks(4, 0);
	add_ends(m.n, m.begin, 1, GITINDEX_SHA256);
	expect(GITINDEX_OK);
	make_blocks(2, 0);
	add_ends(m.n + 1, m.begin, 1, GITINDEX_SHA1); /* as some versions of git write it */
	expect(GITINDEX_BAD);
	make_blocks(2, 0);
	add_ends(m.n, m.begin, 1, GITINDEX_SHA1);
	expect(GITINDEX_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check_reads_every_version),
		cmocka_unit_test(test_check_finds_names_that_lead_elsewhere),
		cmocka_unit_test(test_check_puts_names_together),
		cmocka_unit_test(test_check_tells_of_repositories),
		cmocka_unit_test(test_check_tells_of_directories),
		cmocka_unit_test(test_check_refuses_what_is_cut_short),
		cmocka_unit_test(test_check_refuses_another_length),
		cmocka_unit_test(test_check_reads_blocks_in_one_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
