/*
 * seccomp.h - the command's system call filter, as a BPF program made by our own assembler
 *
 * Every system call that has been reviewed has a row in seccomp_calls.h; what has none, and every
 * number above the last, is ENOSYS. Foreign architectures are killed. Arguments are compared as
 * 32-bit words after masking, since the kernel ignores the upper halves of int arguments.
 */
#ifndef LAUNCHER_SECCOMP_H
#define LAUNCHER_SECCOMP_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define SECCOMP_PROGRAM_MAX 2048 /* instructions; the kernel's limit is BPF_MAXINSNS, 4096 */

/** enum seccomp_arch - what the filter is made for */
enum seccomp_arch {
	SECCOMP_X86_64,
	SECCOMP_AARCH64,
};

#if defined(__x86_64__)
#define SECCOMP_NATIVE SECCOMP_X86_64
#elif defined(__aarch64__)
#define SECCOMP_NATIVE SECCOMP_AARCH64
#else
#error "no system call table for this architecture"
#endif

/**
 * struct seccomp_options - what differs between runs
 * @arch: SECCOMP_NATIVE, except in tests
 * @allow_unix: AF_UNIX sockets and socketpairs of every type are allowed
 * @allow_ptrace: processes may trace those that Landlock lets them: of the command's own domain.
 *   A tracer gets no call past the filter, which is asked after it (Linux 4.8).
 * @no_async: no descriptor may ask for signals (O_ASYNC): where Landlock holds no signal back. A
 *   terminal sends them to whoever is in its foreground, outside, and which one can be chosen.
 * @no_alarm: the kernel sends no signal of the command's choice by itself: SIGCONT would have a process
 *   go on that was stopped so that it does not read the terminal.
 * @no_modes: no terminal's modes may be set: it holds one that other programs read.
 */
struct seccomp_options {
	enum seccomp_arch arch;
	bool allow_unix;
	bool allow_ptrace;
	bool no_async;
	bool no_alarm;
	bool no_modes;
};

/**
 * struct seccomp_program - a finished filter; a value
 * @len: instructions used
 */
struct seccomp_program {
	uint16_t len;
	struct sock_filter insn[SECCOMP_PROGRAM_MAX];
};

/** seccomp_build() - the command's filter. Return: 0, or -1 with @err (it would be too long). */
int seccomp_build(const struct seccomp_options *options, struct seccomp_program *out,
		  struct error *err);

/**
 * seccomp_install() - put the calling thread under @program, for good
 *
 * no_new_privs must be set and the process be single-threaded. Whether the filter is in force is
 * read back. Return: 0, or -1 with @err.
 */
int seccomp_install(const struct seccomp_program *program, struct error *err);

#endif
