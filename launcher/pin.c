/*
 * pin.c - run a program only if its bytes have a given SHA-256
 *
 * Should: execute the very bytes that were hashed. Mustn't: open a path twice, trust a file that
 * its reader can still change, or take an empty pin for none.
 */
#include "launcher/pin.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"

#if defined(__x86_64__)
#define NATIVE EM_X86_64
#elif defined(__aarch64__)
#define NATIVE EM_AARCH64
#endif

#define PIN_HEX	  (2 * PIN_BYTES)
#define CHUNK	  ((size_t)64 * 1024)
#define MFD_EXEC_ 0x10U /* Linux 6.3: wanted where vm.memfd_noexec is 1 */
#define PIN_SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

int pin_parse_hex(const char *text, uint8_t out[PIN_BYTES], struct error *err)
{
	uint8_t bytes[PIN_BYTES];

	if (strlen(text) != PIN_HEX)
		goto bad;
	for (size_t i = 0; i < PIN_BYTES; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			goto bad;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	memcpy(out, bytes, sizeof(bytes));
	return 0;
bad:
	return error_set(err, 0, "needs %d lower-case hex digits, as sha256sum prints them",
			 PIN_HEX);
}

/* A new open file description of the same inode: an O_PATH one cannot be read. */
static int reopen(int fd, struct error *err)
{
	char path[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
	struct stat st;
	int again;

	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "cannot look at the pinned program");
	if (!S_ISREG(st.st_mode))
		return error_set(err, 0, "the pinned program is not a regular file");
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	if (again < 0)
		return error_set(err, errno, "cannot read the pinned program");
	return again;
}

/*
 * Whether somebody with this process's identity could write to the file, now or after a chmod.
 * The kernel has no objection to a write between our reading and execve(2).
 */
static bool could_change(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 || st.st_uid == geteuid() || geteuid() == 0 ||
	       (st.st_mode & (S_IWGRP | S_IWOTH)) ||
	       faccessat(fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) == 0 ||
	       (errno != EACCES && errno != EROFS); /* an outer filter that refuses to tell */
}

static int open_memfd(struct error *err)
{
	int fd = memfd_create("sbx-net-pinned", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC_);

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
		fd = memfd_create("sbx-net-pinned", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return error_set(err, errno,
				 "cannot make a sealed copy of the pinned program (vm.memfd_noexec "
				 "must be 0 or 1)");
	return fd;
}

/*
 * Whatever is no program of this machine has another one run it, which nobody has pinned: a script's
 * interpreter, or what binfmt_misc has registered for archives, byte code and foreign processors.
 */
static int check_head(const char *head, size_t n, struct error *err)
{
	Elf64_Ehdr elf;

	if (n >= 2 && memcmp(head, "#!", 2) == 0)
		return error_set(err, EACCES,
				 "the pinned program is a script: its interpreter would run "
				 "unpinned; pin and run the interpreter instead");
	if (n >= sizeof(elf)) {
		memcpy(&elf, head, sizeof(elf));
		if (memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0 &&
		    elf.e_ident[EI_CLASS] == ELFCLASS64 && elf.e_machine == NATIVE)
			return 0;
	}
	return error_set(err, EACCES,
			 "the pinned program is no ELF program of this machine: what this system "
			 "runs in its place would be unpinned; pin and run that instead");
}

/* Hash @fd to its end; @copy, unless -1, receives the bytes that were hashed. */
static int sha256(int fd, int copy, uint8_t out[PIN_BYTES], struct error *err)
{
	struct sha256_ctx ctx;
	CLEANUP_FREE char *chunk = xmalloc(CHUNK);
	bool first = true;
	ssize_t n;

	sha256_init(&ctx);
	while ((n = fd_read_full(fd, chunk, CHUNK)) > 0) {
		if (first && check_head(chunk, (size_t)n, err) < 0)
			return -1;
		first = false;
		sha256_update(&ctx, (size_t)n, (const uint8_t *)chunk);
		if (copy >= 0 && fd_write_all(copy, chunk, (size_t)n) < 0)
			return error_set(err, errno, "cannot copy the pinned program");
	}
	if (n < 0)
		return error_set(err, errno, "cannot read the pinned program");
	if (first)
		return error_set(err, 0, "the pinned program is empty");
	sha256_digest(&ctx, PIN_BYTES, out);
	return 0;
}

static int compare(const uint8_t have[PIN_BYTES], const uint8_t want[PIN_BYTES], struct error *err)
{
	char hex[PIN_HEX + 1];

	if (memeql_sec(have, want, PIN_BYTES))
		return 0;
	for (size_t i = 0; i < PIN_BYTES; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", have[i]);
	return error_set(err, 0, "the program does not match its pin: its SHA-256 is %s", hex);
}

/* execve(2) refuses a file that is open for writing: what runs is opened anew, for reading. */
static int seal(int copy, struct error *err)
{
	if (fchmod(copy, 0500) < 0 || fcntl(copy, F_ADD_SEALS, PIN_SEALS) < 0 ||
	    fcntl(copy, F_GET_SEALS) < PIN_SEALS)
		return error_set(err, errno, "cannot seal the copy of the pinned program");
	return reopen(copy, err);
}

int pin_check(int fd, const uint8_t want[PIN_BYTES], struct error *err)
{
	CLEANUP_CLOSE int file = reopen(fd, err);
	CLEANUP_CLOSE int copy = -1;
	uint8_t have[PIN_BYTES];

	if (file < 0)
		return -1;
	if (could_change(file)) {
		copy = open_memfd(err);
		if (copy < 0)
			return -1;
	}
	if (sha256(file, copy, have, err) < 0 || compare(have, want, err) < 0)
		return -1;
	return copy < 0 ? take_fd(&file) : seal(copy, err);
}
