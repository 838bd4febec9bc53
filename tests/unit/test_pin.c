/*
 * test_pin.c - L-005 to L-010: strict pins, and that what was hashed is what runs
 */
#include "launcher/pin.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"

#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char dir[] = "/tmp/test_pin.XXXXXX";
static char path[sizeof(dir) + 16];

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/program", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(dir);
}

static void write_file(const void *p, size_t n)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, p, n), 0);
}

static void sha256_of(const void *p, size_t n, uint8_t out[PIN_BYTES])
{
	assert_int_equal(EVP_Digest(p, n, out, NULL, EVP_sha256(), NULL), 1);
}

static char *read_program(const char *name, size_t *n)
{
	CLEANUP_CLOSE int fd = open(name, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd_read_file(fd, (size_t)64 << 20, n);
}

static void test_parse_hex_takes_64_digits(void **state)
{
	uint8_t out[PIN_BYTES];

	(void)state;
	assert_int_equal(pin_parse_hex(DIGITS, out, NULL), 0);
	for (size_t i = 0; i < PIN_BYTES; i++) {
		size_t digit = 2 * i % 16;

		assert_int_equal(out[i], digit << 4 | (digit + 1));
	}
}

static void test_parse_hex_refuses_all_else(void **state)
{
	static const char *const bad[] = {
		"",
		DIGITS "0",
		"123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		" 123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdef",
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeg",
		"0x23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"sha256:" DIGITS,
		DIGITS "\n",
	};
	uint8_t out[PIN_BYTES] = { 7 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err;

		assert_int_equal(pin_parse_hex(bad[i], out, &err), -1);
		assert_int_equal(out[0], 7);
	}
}

static void test_check_takes_the_right_program_only(void **state)
{
	size_t n = 0;
	CLEANUP_FREE char *program = read_program("/bin/true", &n);
	uint8_t want[PIN_BYTES];
	struct error err;

	(void)state;
	assert_non_null(program);
	write_file(program, n);
	sha256_of(program, n, want);
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	CLEANUP_CLOSE int run = pin_check(fd, want, &err);

	assert_true(run >= 0);
	assert_int_equal(fcntl(run, F_GETFD), FD_CLOEXEC);
	want[31] ^= 1;
	assert_int_equal(pin_check(fd, want, &err), -1);
	assert_int_equal(err.code, 0); /* no call failed, so no errno is told */
	want[31] ^= 1;
	want[0] ^= 0x80;
	assert_int_equal(pin_check(fd, want, &err), -1);
}

static void test_check_refuses_scripts_empty_files_and_directories(void **state)
{
	static const char script[] = "#!/bin/sh\n";
	uint8_t want[PIN_BYTES];
	struct error err;

	(void)state;
	write_file(script, sizeof(script) - 1);
	sha256_of(script, sizeof(script) - 1, want);
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);

	assert_int_equal(pin_check(fd, want, &err), -1);
	assert_non_null(strstr(err.msg, "script"));
	write_file("", 0);
	sha256_of("", 0, want);
	assert_int_equal(pin_check(fd, want, &err), -1);
	assert_non_null(strstr(err.msg, "empty"));
	CLEANUP_CLOSE int d = open(dir, O_PATH | O_CLOEXEC);

	assert_int_equal(pin_check(d, want, &err), -1);
	assert_non_null(strstr(err.msg, "regular"));
}

/* What binfmt_misc would have another program run, which nobody has pinned. L-007 */
static void test_check_refuses_programs_of_others(void **state)
{
	static const struct {
		size_t at, n;
		const char *bytes;
	} changes[] = {
		{ 0, 4, "PK\3\4" },  /* an archive that Java would run */
		{ 4, 1, "\1" },	     /* 32 bits */
		{ 18, 2, "\363\0" }, /* another processor: RISC-V */
		{ 0, 1, "\176" },
	};
	size_t n = 0;
	CLEANUP_FREE char *program = read_program("/bin/true", &n);

	(void)state;
	assert_non_null(program);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		CLEANUP_FREE char *other = xmalloc(n);
		CLEANUP_CLOSE int fd = -1;
		uint8_t want[PIN_BYTES];
		struct error err;

		memcpy(other, program, n);
		memcpy(other + changes[i].at, changes[i].bytes, changes[i].n);
		write_file(other, n);
		sha256_of(other, n, want);
		fd = open(path, O_PATH | O_CLOEXEC);
		assert_int_equal(pin_check(fd, want, &err), -1);
		assert_non_null(strstr(err.msg, "ELF"));
	}
}

static void test_check_refuses_what_cannot_be_read(void **state)
{
	struct error err;
	uint8_t want[PIN_BYTES] = { 0 };

	(void)state;
	if (geteuid() == 0 && (setegid(65534) < 0 || seteuid(65534) < 0))
		skip();
	CLEANUP_CLOSE int fd = open("/etc/shadow", O_PATH | O_CLOEXEC);
	int rc = pin_check(fd, want, &err);

	if (getuid() == 0)
		assert_int_equal(seteuid(0) | setegid(0), 0);
	assert_int_equal(rc, -1);
	assert_int_equal(err.code, EACCES);
	assert_non_null(strstr(err.msg, "read"));
}

/* L-006: a write after the hash changes nothing that runs. */
static void test_check_yields_bytes_that_no_writer_reaches(void **state)
{
	size_t n = 0;
	CLEANUP_FREE char *program = read_program("/bin/true", &n);
	uint8_t want[PIN_BYTES];
	struct error err;
	int status;

	(void)state;
	assert_non_null(program);
	write_file(program, n);
	sha256_of(program, n, want);
	CLEANUP_CLOSE int writer = open(path, O_RDWR | O_CLOEXEC);
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	CLEANUP_CLOSE int run = pin_check(fd, want, &err);

	assert_true(run >= 0);
	assert_int_equal(pwrite(writer, "garbage", 7, 0), 7);
	assert_int_equal(pwrite(run, "x", 1, 0), -1);
	assert_int_equal(ftruncate(run, 0), -1);
	pid_t pid = fork();

	if (pid == 0) {
		char *const argv[] = { (char[]){ "true" }, NULL };
		char *const envp[] = { NULL };

		(void)execveat(run, "", argv, envp, AT_EMPTY_PATH);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_hex_takes_64_digits),
		cmocka_unit_test(test_parse_hex_refuses_all_else),
		cmocka_unit_test(test_check_takes_the_right_program_only),
		cmocka_unit_test(test_check_refuses_scripts_empty_files_and_directories),
		cmocka_unit_test(test_check_refuses_programs_of_others),
		cmocka_unit_test(test_check_refuses_what_cannot_be_read),
		cmocka_unit_test(test_check_yields_bytes_that_no_writer_reaches),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
