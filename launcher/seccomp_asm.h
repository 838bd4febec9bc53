/*
 * seccomp_asm.h - a small assembler for seccomp filters: a binary search over call numbers
 *
 * Private to the filters of this directory. A filter is one verdict for each call number; equal
 * neighbours become one range, the ranges cover all of 0..2^32-1, and the program is a balanced
 * tree of comparisons over them with the code of a verdict at each leaf.
 */
#ifndef LAUNCHER_SECCOMP_ASM_H
#define LAUNCHER_SECCOMP_ASM_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "launcher/seccomp.h"

#define SECCOMP_NR_MAX 471 /* the highest number in seccomp_calls.h; a test compares them */

/** enum seccomp_verdict - what a filter does with a call; 0 is what an unlisted call gets */
enum seccomp_verdict {
	SECCOMP_V_ENOSYS,
	SECCOMP_V_ALLOW,
	SECCOMP_V_EPERM,
	SECCOMP_V_KILL,
	SECCOMP_V_SOCKET, /* from here on the arguments count */
	SECCOMP_V_SOCKETPAIR,
	SECCOMP_V_SETSOCKOPT,
	SECCOMP_V_PTRACE, /* with seccomp_options.allow_ptrace */
	SECCOMP_V_CLONE,
	SECCOMP_V_UNSHARE,
	SECCOMP_V_IOCTL,
	SECCOMP_V_PRCTL,
	SECCOMP_V_PERSONALITY,
	SECCOMP_V_SETRLIMIT,
	SECCOMP_V_PRLIMIT,
	SECCOMP_V_MEMFD,
	SECCOMP_V_OPEN,	       /* flags in the second argument, mode in the third */
	SECCOMP_V_OPENAT,      /* flags in the third, mode in the fourth */
	SECCOMP_V_MODE1,       /* mode in the second argument */
	SECCOMP_V_MODE2,       /* mode in the third */
	SECCOMP_V_PROCESS,     /* a process in the first argument */
	SECCOMP_V_SETPRIORITY, /* what kind of process in the first, which in the second */
	SECCOMP_V_IOPRIO_SET,  /* the same */
	SECCOMP_V_TIMER,       /* unless seccomp_options.no_alarm */
	SECCOMP_V_FCNTL,       /* no leases; no O_ASYNC with seccomp_options.no_async */
	SECCOMP_V_EXEC_MEMORY, /* mmap, mprotect: no PROT_EXEC */
	SECCOMP_V_PIDFD,       /* a process by its descriptor in the first argument */
	SECCOMP_NUM_VERDICTS
};

/** enum seccomp_call - an index for each row of seccomp_calls.h */
enum seccomp_call {
#define CALL(name, x86_64, aarch64, verdict) SECCOMP_CALL_##name,
#include "launcher/seccomp_calls.h"
#undef CALL
	SECCOMP_NUM_CALLS
};

/** struct seccomp_row - one row of seccomp_calls.h */
struct seccomp_row {
	const char *name;
	int16_t nr[2]; /* by enum seccomp_arch; -1: no such call */
	uint8_t verdict;
};

/** seccomp_rows - the table, indexed by enum seccomp_call. */
extern const struct seccomp_row seccomp_rows[SECCOMP_NUM_CALLS];

/**
 * struct seccomp_asm - a program being written
 * @out: where
 * @failed: an instruction did not fit or a jump was too long
 */
struct seccomp_asm {
	struct seccomp_program *out;
	bool failed;
};

/** seccomp_leaf - writes the code of a verdict that depends on arguments; it must end in RET. */
typedef void seccomp_leaf(struct seccomp_asm *a, enum seccomp_verdict v, const void *context);

/**
 * seccomp_assemble() - architecture check, search tree and leaves
 * @verdicts: by enum seccomp_call
 * @leaf: for verdicts from SECCOMP_V_SOCKET on
 *
 * Return: 0, or -1 with @err.
 */
int seccomp_assemble(enum seccomp_arch arch, const uint8_t verdicts[SECCOMP_NUM_CALLS],
		     seccomp_leaf *leaf, const void *context, struct seccomp_program *out,
		     struct error *err);

/** seccomp_asm_arg() - load the low 32 bits of argument @i, the half that the kernel looks at. */
void seccomp_asm_arg(struct seccomp_asm *a, unsigned int i);

/** seccomp_asm_arg_high() - load the high 32 bits: only for pointers, which are 64 bits wide. */
void seccomp_asm_arg_high(struct seccomp_asm *a, unsigned int i);

/** seccomp_asm_and() - mask the accumulator. */
void seccomp_asm_and(struct seccomp_asm *a, uint32_t mask);

/** seccomp_asm_ret() - end with a SECCOMP_RET_ value. */
void seccomp_asm_ret(struct seccomp_asm *a, uint32_t action);

/** seccomp_asm_errno() - end with an errno. */
void seccomp_asm_errno(struct seccomp_asm *a, int code);

/** seccomp_asm_ret_if_eq() - end with @action if the accumulator is @k. */
void seccomp_asm_ret_if_eq(struct seccomp_asm *a, uint32_t k, uint32_t action);

/** seccomp_asm_ret_if_any() - end with @action if the accumulator has a bit of @mask. */
void seccomp_asm_ret_if_any(struct seccomp_asm *a, uint32_t mask, uint32_t action);

/** seccomp_asm_unless_eq() - jump to the matching seccomp_asm_here() unless it is @k. */
uint16_t seccomp_asm_unless_eq(struct seccomp_asm *a, uint32_t k);

/** seccomp_asm_unless_any() - jump unless the accumulator has a bit of @mask. */
uint16_t seccomp_asm_unless_any(struct seccomp_asm *a, uint32_t mask);

/** seccomp_asm_here() - where the jump of seccomp_asm_unless_*() at @from leads. */
void seccomp_asm_here(struct seccomp_asm *a, uint16_t from);

#endif
