/*
 * Counters of the coverage build that need no flush. Theory of operation: clang's counters of a
 * program are one section, and each is incremented at a distance from its place that a variable
 * holds. Before main() we map a file that all processes of the program share, writable for
 * everybody, and set the distance to it. So whatever runs is counted: children that end with
 * _exit() or execve(), processes that SIGKILL ends, and those behind Landlock, seccomp, another
 * uid or a mount namespace without files, which could open nothing at their end. What is started
 * anew in there cannot open the file, and goes on with the counters in its own memory, silently.
 *
 * Files are named by the build id, so that a copy of a program counts as the program, and a new
 * build begins anew. With SBX_COVERAGE_OUT=FILE in its environment a program writes what its
 * counters are in LLVM's format, and does nothing else: see coverage.py.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* The runtime's own start, which writes a file at exit, is not linked if this is there. */
extern int __llvm_profile_runtime;
int __llvm_profile_runtime;
/* From LLVM's runtime and from the compiler. */
extern HIDDEN intptr_t __llvm_profile_counter_bias;
HIDDEN uint64_t *__llvm_profile_begin_counters(void);
HIDDEN uint64_t *__llvm_profile_end_counters(void);
HIDDEN void __llvm_profile_set_filename(const char *name);
HIDDEN int __llvm_profile_write_file(void);
/* From the linker. */
extern const ElfW(Ehdr) __ehdr_start HIDDEN;

/* counters_path() - the directory of the build and the program's build id; false without one */
static bool counters_path(char *path, size_t size)
{
	const char *base = (const char *)&__ehdr_start;
	const ElfW(Phdr) *ph = (const void *)(base + __ehdr_start.e_phoff);

	for (int i = 0; i < __ehdr_start.e_phnum; i++) {
		if (ph[i].p_type != PT_NOTE)
			continue;
		for (size_t at = 0; at < ph[i].p_memsz;) {
			const ElfW(Nhdr) *note = (const void *)(base + ph[i].p_vaddr + at);
			const unsigned char *id = (const unsigned char *)(note + 1) + 4;

			if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz >= 8) {
				int used = snprintf(path, size, "%s/", SBX_COVERAGE_DIR);

				for (int k = 0; k < 8; k++)
					used += snprintf(path + used, size - (size_t)used, "%02x",
							 id[k]);
				return true;
			}
			at += sizeof(*note) + ((note->n_namesz + 3U) & ~3U) +
			      ((note->n_descsz + 3U) & ~3U);
		}
	}
	return false;
}

/* open_counters() - of whoever runs the tests, and for every uid that they run as; -1 if not */
static int open_counters(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
		if (fd >= 0)
			(void)fchmod(fd, 0666); /* whatever the umask is */
	}
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && ((size_t)st.st_size == size || ftruncate(fd, (off_t)size) == 0))
		return fd;
	(void)close(fd);
	return -1;
}

/* write_profile() - what `counters` holds to the file `out` */
static _Noreturn void write_profile(const char *out, const void *counters, size_t size)
{
	memcpy(__llvm_profile_begin_counters(), counters, size);
	__llvm_profile_set_filename(out);
	_exit(__llvm_profile_write_file() == 0 ? 0 : 1);
}

__attribute__((constructor(101))) static void share_counters(void)
{
	char path[sizeof(SBX_COVERAGE_DIR) + 64];
	char *begin = (char *)__llvm_profile_begin_counters();
	size_t size = (size_t)((char *)__llvm_profile_end_counters() - begin);
	const char *out = getenv("SBX_COVERAGE_OUT");
	int before = errno;
	void *map;
	int fd;

	if (!counters_path(path, sizeof(path)))
		return;
	fd = open_counters(path, size);
	if (fd >= 0) {
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		(void)close(fd);
		if (map != MAP_FAILED && out)
			write_profile(out, map, size);
		if (map != MAP_FAILED)
			__llvm_profile_counter_bias = (char *)map - begin;
	}
	errno = before;
}
