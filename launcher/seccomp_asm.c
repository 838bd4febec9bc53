/*
 * seccomp_asm.c - a small assembler for seccomp filters
 *
 * libseccomp is not used: it cannot give one answer to "every number above n", its merging of
 * argument comparisons has had faults that weakened filters, and building a filter with it costs
 * milliseconds at every start. This costs some ten microseconds, and a test runs the result in an
 * interpreter over every call number and architecture.
 */
#include "launcher/seccomp_asm.h"

#include <assert.h>
#include <errno.h>
#include <linux/audit.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

#ifndef EM_AARCH64
#define EM_AARCH64 183
#endif

const struct seccomp_row seccomp_rows[SECCOMP_NUM_CALLS] = {
#define CALL(name, x86_64, aarch64, verdict) { #name, { x86_64, aarch64 }, SECCOMP_V_##verdict },
#include "launcher/seccomp_calls.h"
#undef CALL
};

/** struct range - call numbers from @start to the next range's start */
struct range {
	uint32_t start;
	uint8_t verdict;
};

/** struct tree - what the recursion needs */
struct tree {
	struct seccomp_asm *a;
	const struct range *ranges;
	seccomp_leaf *leaf;
	const void *context;
};

static uint16_t emit(struct seccomp_asm *a, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	struct seccomp_program *p = a->out;

	if (p->len == SECCOMP_PROGRAM_MAX) {
		a->failed = true;
		return 0;
	}
	p->insn[p->len] = (struct sock_filter){ code, jt, jf, k };
	return p->len++;
}

void seccomp_asm_arg(struct seccomp_asm *a, unsigned int i)
{
	static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "low half comes first");
	emit(a, BPF_LD | BPF_W | BPF_ABS, 0, 0,
	     (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (size_t)i));
}

void seccomp_asm_arg_high(struct seccomp_asm *a, unsigned int i)
{
	emit(a, BPF_LD | BPF_W | BPF_ABS, 0, 0,
	     (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (size_t)i + 4));
}

void seccomp_asm_and(struct seccomp_asm *a, uint32_t mask)
{
	emit(a, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
}

void seccomp_asm_ret(struct seccomp_asm *a, uint32_t action)
{
	emit(a, BPF_RET | BPF_K, 0, 0, action);
}

void seccomp_asm_errno(struct seccomp_asm *a, int code)
{
	seccomp_asm_ret(a, SECCOMP_RET_ERRNO | (uint32_t)code);
}

void seccomp_asm_ret_if_eq(struct seccomp_asm *a, uint32_t k, uint32_t action)
{
	emit(a, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, k);
	seccomp_asm_ret(a, action);
}

void seccomp_asm_ret_if_any(struct seccomp_asm *a, uint32_t mask, uint32_t action)
{
	emit(a, BPF_JMP | BPF_JSET | BPF_K, 0, 1, mask);
	seccomp_asm_ret(a, action);
}

uint16_t seccomp_asm_unless_eq(struct seccomp_asm *a, uint32_t k)
{
	return emit(a, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, k);
}

uint16_t seccomp_asm_unless_any(struct seccomp_asm *a, uint32_t mask)
{
	return emit(a, BPF_JMP | BPF_JSET | BPF_K, 0, 0, mask);
}

void seccomp_asm_here(struct seccomp_asm *a, uint16_t from)
{
	int distance = a->out->len - from - 1;

	if (distance < 0 || distance > UINT8_MAX) { /* jt and jf are bytes */
		a->failed = true;
		return;
	}
	a->out->insn[from].jf = (uint8_t)distance;
}

static void emit_verdict(const struct tree *t, enum seccomp_verdict v)
{
	if (v == SECCOMP_V_ENOSYS)
		seccomp_asm_errno(t->a, ENOSYS);
	else if (v == SECCOMP_V_ALLOW)
		seccomp_asm_ret(t->a, SECCOMP_RET_ALLOW);
	else if (v == SECCOMP_V_EPERM)
		seccomp_asm_errno(t->a, EPERM);
	else if (v == SECCOMP_V_KILL)
		seccomp_asm_ret(t->a, SECCOMP_RET_KILL_PROCESS);
	else
		t->leaf(t->a, v, t->context);
}

/* Makes room for one instruction; jumps from before @at to behind it are the caller's to mend. */
static void insert(struct seccomp_asm *a, uint16_t at, struct sock_filter insn)
{
	struct sock_filter *v = a->out->insn;
	size_t behind = (size_t)(a->out->len - at) * sizeof(*v);

	emit(a, 0, 0, 0, 0);
	if (a->failed)
		return;
	memmove(v + at + 1, v + at, behind);
	v[at] = insn;
}

/*
 * The accumulator holds the call number, which lies in ranges lo..hi. A jump to the upper half is one
 * instruction where a byte holds its distance; only the few near the root need a second one. The kernel
 * checks and compiles each at every start.
 */
static void emit_tree(const struct tree *t, size_t lo, size_t hi)
{
	size_t mid = lo + (hi - lo + 1) / 2;
	uint16_t jump;
	uint32_t distance;

	if (lo == hi) {
		emit_verdict(t, t->ranges[lo].verdict);
		return;
	}
	jump = emit(t->a, BPF_JMP | BPF_JGE | BPF_K, 0, 0, t->ranges[mid].start);
	emit_tree(t, lo, mid - 1);
	distance = (uint32_t)(t->a->out->len - jump - 1);
	if (distance <= UINT8_MAX) {
		t->a->out->insn[jump].jt = (uint8_t)distance;
	} else { /* the offset of BPF_JA has 32 bits */
		t->a->out->insn[jump].jf = 1;
		insert(t->a, (uint16_t)(jump + 1),
		       (struct sock_filter){ BPF_JMP | BPF_JA, 0, 0, distance });
	}
	emit_tree(t, mid, hi);
}

static size_t make_ranges(enum seccomp_arch arch, const uint8_t verdicts[SECCOMP_NUM_CALLS],
			  struct range ranges[SECCOMP_NR_MAX + 2])
{
	uint8_t by_nr[SECCOMP_NR_MAX + 2] = { SECCOMP_V_ENOSYS };
	size_t n = 0;

	for (size_t i = 0; i < SECCOMP_NUM_CALLS; i++)
		if (seccomp_rows[i].nr[arch] >= 0)
			by_nr[seccomp_rows[i].nr[arch]] = verdicts[i];
	for (uint32_t nr = 0; nr < ARRAY_SIZE(by_nr); nr++)
		if (n == 0 || ranges[n - 1].verdict != by_nr[nr])
			ranges[n++] = (struct range){ nr, by_nr[nr] };
	return n;
}

int seccomp_assemble(enum seccomp_arch arch, const uint8_t verdicts[SECCOMP_NUM_CALLS],
		     seccomp_leaf *leaf, const void *context, struct seccomp_program *out,
		     struct error *err)
{
	static const uint32_t audit_arch[] = {
		[SECCOMP_X86_64] = AUDIT_ARCH_X86_64,
		[SECCOMP_AARCH64] = AUDIT_ARCH_AARCH64,
	};
	struct range ranges[SECCOMP_NR_MAX + 2];
	size_t n = make_ranges(arch, verdicts, ranges);
	struct seccomp_asm a = { .out = out };
	struct tree t = { .a = &a, .ranges = ranges, .leaf = leaf, .context = context };

	out->len = 0;
	emit(&a, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
	emit(&a, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, audit_arch[arch]);
	seccomp_asm_ret(&a, SECCOMP_RET_KILL_PROCESS);
	emit(&a, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	emit_tree(&t, 0, n - 1);
	if (a.failed)
		return error_set(err, 0, "seccomp: the filter is too long");
	return 0;
}
