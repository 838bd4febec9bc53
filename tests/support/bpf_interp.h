/*
 * bpf_interp.h - the classic BPF that seccomp accepts, run in user space
 *
 * So that a filter can be asked about architectures and calls that this machine does not have. It
 * is strict: an instruction that the kernel's seccomp_check_filter() would refuse, a jump past the
 * end, or an end without RET gives BPF_INTERP_INVALID, which no filter returns.
 */
#ifndef TESTS_SUPPORT_BPF_INTERP_H
#define TESTS_SUPPORT_BPF_INTERP_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BPF_INTERP_INVALID 0xdeadbeefU

/**
 * bpf_interp() - what the filter answers
 * @insn, @len: the program
 * @data: the call
 *
 * Return: a SECCOMP_RET_ value, or BPF_INTERP_INVALID.
 */
static inline uint32_t bpf_interp(const struct sock_filter *insn, size_t len,
				  const struct seccomp_data *data)
{
	uint32_t acc = 0;

	for (size_t pc = 0; pc < len; pc++) {
		uint32_t k = insn[pc].k;
		int taken;

		switch (insn[pc].code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (k % 4 != 0 || k > sizeof(*data) - 4)
				return BPF_INTERP_INVALID;
			memcpy(&acc, (const char *)data + k, sizeof(acc));
			continue;
		case BPF_ALU | BPF_AND | BPF_K:
			acc &= k;
			continue;
		case BPF_RET | BPF_K:
			return k;
		case BPF_JMP | BPF_JA:
			if (k >= len - pc)
				return BPF_INTERP_INVALID;
			pc += k;
			continue;
		case BPF_JMP | BPF_JEQ | BPF_K:
			taken = acc == k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			taken = acc >= k;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			taken = acc > k;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			taken = (acc & k) != 0;
			break;
		default:
			return BPF_INTERP_INVALID;
		}
		pc += taken ? insn[pc].jt : insn[pc].jf;
	}
	return BPF_INTERP_INVALID;
}

#endif
