/*
 * test_seccomp.c - M-07, K-20 to K-24 and the rows of the table that look at arguments
 *
 * The filters of both architectures run in an interpreter on either; the native one also runs in
 * the kernel.
 */
#include "launcher/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include "base/cleanup.h"
#include "launcher/seccomp_asm.h"
#include "tests/support/bpf_interp.h"

#define ALLOW	 SECCOMP_RET_ALLOW
#define KILL	 SECCOMP_RET_KILL_PROCESS
#define ERR(e)	 (SECCOMP_RET_ERRNO | (uint32_t)(e))
#define HIGH(n)	 ((uint64_t)(n) | 0x100000000ULL)
#define HIGHS(n) ((uint64_t)(n) | 0xffffffff00000000ULL)

static const uint32_t audit_arch[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64 };

static struct seccomp_program program[2]; /* by architecture, with the default options */

static int set_up(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct seccomp_options o = { .arch = (enum seccomp_arch)i };

		if (seccomp_build(&o, &program[i], NULL) < 0)
			return -1;
	}
	return 0;
}

static uint32_t ask(const struct seccomp_program *p, uint32_t arch, uint32_t nr,
		    const uint64_t args[6])
{
	struct seccomp_data d = { .nr = (int)nr, .arch = arch };

	memcpy(d.args, args, sizeof(d.args));
	return bpf_interp(p->insn, p->len, &d);
}

static const uint64_t zeros[6];

static void test_table_numbers_agree_with_libseccomp(void **state)
{
	static const uint32_t arches[] = { SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64 };

	(void)state;
	for (int arch = 0; arch < 2; arch++) {
		for (size_t i = 0; i < SECCOMP_NUM_CALLS; i++) {
			const struct seccomp_row *r = &seccomp_rows[i];
			int nr = seccomp_syscall_resolve_name_arch(arches[arch], r->name);

			if (nr >= 0 && nr != r->nr[arch])
				fail_msg("%s: %d, libseccomp says %d", r->name, r->nr[arch], nr);
			if (nr < 0 && r->nr[arch] >= 0 && r->nr[arch] < 451 && r->nr[arch] != 335 &&
			    r->nr[arch] != 336)
				fail_msg("%s: libseccomp knows no such call", r->name);
		}
	}
}

/* Nothing that libseccomp knows was forgotten, no number stands twice, the last one is right. */
static void test_table_is_complete(void **state)
{
	static const uint32_t arches[] = { SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64 };
	int max = 0;

	(void)state;
	for (int arch = 0; arch < 2; arch++) {
		unsigned int rows[SECCOMP_NR_MAX + 1] = { 0 };

		for (size_t i = 0; i < SECCOMP_NUM_CALLS; i++) {
			int nr = seccomp_rows[i].nr[arch];

			assert_in_range(nr + 1, 0, SECCOMP_NR_MAX + 1);
			max = nr > max ? nr : max;
			if (nr >= 0 && ++rows[nr] != 1)
				fail_msg("%s: the number %d stands twice", seccomp_rows[i].name,
					 nr);
		}
		for (int nr = 0; nr <= SECCOMP_NR_MAX; nr++) {
			char *name = seccomp_syscall_resolve_num_arch(arches[arch], nr);

			if (name && !rows[nr])
				fail_msg("%s (%d) has no row", name, nr);
			free(name);
		}
	}
	assert_int_equal(max, SECCOMP_NR_MAX);
}

static uint32_t plain_answer(const struct seccomp_row *r)
{
	if (r->verdict == SECCOMP_V_ALLOW)
		return ALLOW;
	return ERR(r->verdict == SECCOMP_V_EPERM ? EPERM : ENOSYS);
}

static void test_filter_matches_the_table(void **state)
{
	(void)state;
	for (int arch = 0; arch < 2; arch++) {
		const struct seccomp_row *by_nr[1024] = { NULL };

		for (size_t i = 0; i < SECCOMP_NUM_CALLS; i++)
			if (seccomp_rows[i].nr[arch] >= 0)
				by_nr[seccomp_rows[i].nr[arch]] = &seccomp_rows[i];
		for (uint32_t nr = 0; nr < 1024; nr++) {
			const struct seccomp_row *r = by_nr[nr];
			uint32_t got = ask(&program[arch], audit_arch[arch], nr, zeros);

			if (!r)
				assert_int_equal(got, ERR(ENOSYS));
			else if (r->verdict < SECCOMP_V_SOCKET)
				assert_int_equal(got, plain_answer(r));
			else
				assert_int_not_equal(got, BPF_INTERP_INVALID);
		}
	}
}

/* x32 (bit 30), what lies above any table, and -1: as if there were no such call. N-010, K-07 */
static void test_filter_refuses_numbers_past_the_table(void **state)
{
	static const uint32_t odd[] = { 472,	    500,	512,	    547,       0x3fffffff,
					0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff };

	(void)state;
	for (int arch = 0; arch < 2; arch++) {
		for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
			assert_int_equal(ask(&program[arch], audit_arch[arch], odd[i], zeros),
					 ERR(ENOSYS));
		for (uint32_t nr = 0; nr < 1024; nr++)
			assert_int_equal(
				ask(&program[arch], audit_arch[arch], 0x40000000 | nr, zeros),
				ERR(ENOSYS));
	}
}

static void test_filter_kills_foreign_architectures(void **state)
{
	static const uint32_t foreign[] = { AUDIT_ARCH_I386,
					    AUDIT_ARCH_ARM,
					    AUDIT_ARCH_X86_64,
					    AUDIT_ARCH_AARCH64,
					    AUDIT_ARCH_PPC64,
					    0,
					    1,
					    0xffffffff,
					    0x12345678 };

	(void)state;
	for (int arch = 0; arch < 2; arch++)
		for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
			for (uint32_t nr = 0; nr < 600; nr++)
				if (foreign[i] != audit_arch[arch])
					assert_int_equal(ask(&program[arch], foreign[i], nr, zeros),
							 KILL);
}

/** struct row - a call with arguments and its answer */
struct row {
	enum seccomp_call call;
	uint64_t args[4];
	uint32_t want;
};

#define S(d, t, p, w)                               \
	{                                           \
		SECCOMP_CALL_socket, { d, t, p }, w \
	}
#define PAIR(d, t, w)                                \
	{                                            \
		SECCOMP_CALL_socketpair, { d, t }, w \
	}
#define ONE(call, a, w)                       \
	{                                     \
		SECCOMP_CALL_##call, { a }, w \
	}
#define TWO(call, a, b, w)                       \
	{                                        \
		SECCOMP_CALL_##call, { a, b }, w \
	}
#define THREE(call, a, b, c, w)                     \
	{                                           \
		SECCOMP_CALL_##call, { a, b, c }, w \
	}
#define FOUR(call, a, b, c, d, w)                      \
	{                                              \
		SECCOMP_CALL_##call, { a, b, c, d }, w \
	}

static const struct row rows[] = {
	/* N-001, N-002, N-015 to N-021 */
	S(AF_UNIX, SOCK_STREAM, 0, ERR(EPERM)),
	S(AF_UNIX, SOCK_DGRAM, 0, ERR(EPERM)),
	S(HIGH(AF_UNIX), SOCK_STREAM, 0, ERR(EPERM)),
	S(HIGHS(AF_UNIX), SOCK_STREAM, 0, ERR(EPERM)),
	S(AF_INET, SOCK_STREAM, 0, ALLOW),
	S(HIGH(AF_INET), HIGH(SOCK_STREAM), HIGHS(0), ALLOW),
	S(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP, ALLOW),
	S(AF_INET6, SOCK_STREAM, IPPROTO_TCP, ALLOW),
	S(AF_INET, SOCK_DGRAM, 0, ALLOW),
	S(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP, ALLOW),
	S(AF_INET, SOCK_DGRAM, IPPROTO_ICMP, ERR(EPERM)),
	S(AF_INET6, SOCK_DGRAM, 58, ERR(EPERM)),
	S(AF_INET, SOCK_DGRAM, 136, ERR(EPROTONOSUPPORT)),
	S(AF_INET, SOCK_DGRAM, IPPROTO_TCP, ERR(EPROTONOSUPPORT)),
	S(AF_INET, SOCK_STREAM, 262, ERR(EPROTONOSUPPORT)),
	S(AF_INET, SOCK_STREAM, HIGH(262), ERR(EPROTONOSUPPORT)),
	S(AF_INET6, SOCK_STREAM, 256, ERR(EPROTONOSUPPORT)),
	S(AF_INET, SOCK_STREAM, 132, ERR(EPROTONOSUPPORT)),
	S(AF_INET, SOCK_RAW, 1, ERR(EPERM)),
	S(AF_INET, SOCK_RAW | SOCK_CLOEXEC, 255, ERR(EPERM)),
	S(AF_INET6, HIGH(SOCK_RAW), 58, ERR(EPERM)),
	S(AF_INET, 10, 0, ERR(EPERM)), /* SOCK_PACKET: becomes AF_PACKET */
	S(AF_INET, SOCK_SEQPACKET, 132, ERR(EPERM)),
	S(AF_INET, 6, 33, ERR(EPERM)), /* DCCP */
	S(AF_NETLINK, SOCK_RAW, 0, ALLOW),
	S(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, 0, ALLOW),
	S(AF_NETLINK, SOCK_RAW, 12, ERR(EPERM)), /* NETFILTER */
	S(AF_NETLINK, SOCK_RAW, 4, ERR(EPERM)),	 /* SOCK_DIAG */
	S(AF_PACKET, SOCK_RAW, 768, ERR(EPERM)),
	S(HIGH(AF_PACKET), SOCK_RAW, 768, ERR(EPERM)),
	S(40, SOCK_STREAM, 0, ERR(EAFNOSUPPORT)), /* VSOCK */
	S(38, SOCK_SEQPACKET, 0, ERR(EAFNOSUPPORT)),
	S(43, SOCK_STREAM, 0, ERR(EAFNOSUPPORT)),
	S(0, 0, 0, ERR(EAFNOSUPPORT)),
	S(0xffffffff, 1, 0, ERR(EAFNOSUPPORT)),
	/* N-004 to N-007 */
	PAIR(AF_UNIX, SOCK_STREAM, ALLOW),
	PAIR(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, ALLOW),
	PAIR(HIGH(AF_UNIX), HIGH(SOCK_STREAM), ALLOW),
	PAIR(AF_UNIX, SOCK_DGRAM, ERR(EPERM)),
	PAIR(AF_UNIX, SOCK_RAW, ERR(EPERM)),
	PAIR(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, ERR(EPERM)),
	PAIR(AF_UNIX, SOCK_RAW | SOCK_NONBLOCK, ERR(EPERM)),
	PAIR(AF_UNIX, HIGH(SOCK_DGRAM), ERR(EPERM)),
	PAIR(HIGHS(AF_UNIX), HIGHS(SOCK_DGRAM), ERR(EPERM)),
	PAIR(AF_UNIX, 0, ERR(EPERM)),
	PAIR(30, SOCK_STREAM, ERR(EPERM)), /* TIPC has pairs too */
	/* */
	ONE(clone, SIGCHLD, ALLOW),
	ONE(clone, 0x3d0f00, ALLOW), /* a thread of glibc */
	ONE(clone, CLONE_VM | CLONE_VFORK | SIGCHLD, ALLOW),
	ONE(clone, CLONE_NEWUSER | SIGCHLD, ERR(EPERM)),
	ONE(clone, HIGH(CLONE_NEWUSER | SIGCHLD), ERR(EPERM)),
	ONE(clone, CLONE_NEWNET, ERR(EPERM)),
	ONE(clone, CLONE_NEWNS, ERR(EPERM)),
	ONE(clone, CLONE_NEWPID, ERR(EPERM)),
	ONE(clone, CLONE_NEWIPC, ERR(EPERM)),
	ONE(clone, CLONE_NEWUTS, ERR(EPERM)),
	ONE(clone, CLONE_NEWCGROUP, ERR(EPERM)),
	ONE(clone, CLONE_PARENT | SIGCHLD, ERR(EPERM)), /* a child of pid 1's, at once: X-035 */
	ONE(clone, HIGHS(CLONE_PARENT | CLONE_VM | CLONE_VFORK), ERR(EPERM)),
	ONE(unshare, CLONE_NEWUSER, ERR(EPERM)),
	ONE(unshare, HIGHS(CLONE_NEWUSER), ERR(EPERM)),
	ONE(unshare, 0x80, ERR(EPERM)), /* CLONE_NEWTIME */
	ONE(unshare, CLONE_FS | CLONE_FILES, ALLOW),
	/* F-004 */
	TWO(ioctl, 0, 0x5412, ERR(EPERM)),
	TWO(ioctl, 0, HIGH(0x5412), ERR(EPERM)),
	TWO(ioctl, 0, HIGHS(0x5412), ERR(EPERM)),
	TWO(ioctl, 0, 0x541c, ERR(EPERM)),
	TWO(ioctl, 0, 0x540c, ERR(EPERM)), /* TIOCEXCL */
	THREE(ioctl, 0, 0x540a, TCOOFF, ERR(EPERM)),
	THREE(ioctl, 0, HIGH(0x540a), HIGHS(TCOOFF), ERR(EPERM)),
	THREE(ioctl, 0, 0x540a, TCOON, ALLOW),
	TWO(ioctl, 0, 0x540d, ALLOW), /* TIOCNXCL */
	TWO(ioctl, 0, 0x5452, ALLOW), /* FIOASYNC, where Landlock holds signals back */
	THREE(fcntl, 0, F_SETFL, O_ASYNC, ALLOW),
	THREE(fcntl, 0, F_SETLEASE, F_WRLCK, ERR(EAGAIN)),
	TWO(ioctl, 0, HIGH(0x541c), ERR(EPERM)),
	TWO(ioctl, 0, 0x541d, ERR(EPERM)),
	TWO(ioctl, 0, 0x5423, ERR(EPERM)),
	TWO(ioctl, 0, 0x4b4d, ERR(EPERM)),
	TWO(ioctl, 0, HIGH(0x5606), ERR(EPERM)),
	TWO(ioctl, 0, 0x40086602, ERR(EPERM)),
	TWO(ioctl, 0, 0x401c5820, ERR(EPERM)),
	TWO(ioctl, 0, 0xc0506617, ERR(EPERM)), /* FS_IOC_ADD_ENCRYPTION_KEY */
	TWO(ioctl, 0, 0xc0406618, ERR(EPERM)), /* FS_IOC_REMOVE_ENCRYPTION_KEY */
	TWO(ioctl, 0, 0xc0406619, ERR(EPERM)), /* the same for all users */
	TWO(ioctl, 0, 0x8940, ERR(EPERM)),     /* SIOCGIFBR and its like: they load modules */
	TWO(ioctl, 0, 0x8941, ERR(EPERM)),
	TWO(ioctl, 0, 0x8982, ERR(EPERM)),
	TWO(ioctl, 0, HIGH(0x8983), ERR(EPERM)),
	TWO(ioctl, 0, 0x89a0, ERR(EPERM)),
	TWO(ioctl, 0, 0x89a1, ERR(EPERM)),
	TWO(ioctl, 0, 0x8912, ALLOW),		     /* SIOCGIFCONF: getifaddrs of old programs */
	TWO(ioctl, 0, 0x50009417, ERR(EPERM)),	     /* BTRFS_IOC_SNAP_CREATE_V2 */
	TWO(ioctl, 0, HIGH(0x50009401), ERR(EPERM)), /* BTRFS_IOC_SNAP_CREATE */
	TWO(ioctl, 0, 0x4020bc10, ERR(EPERM)),	     /* BCH_IOCTL_SUBVOLUME_CREATE */
	TWO(ioctl, 0, 0x4020940d, ALLOW),	     /* FICLONERANGE */
	TWO(ioctl, 0, 0xc0189436, ALLOW),	     /* FIDEDUPERANGE */
	TWO(ioctl, 0, 0x541b, ALLOW),		     /* FIONREAD */
	TWO(ioctl, 0, 0x5401, ALLOW),		     /* TCGETS */
	TWO(ioctl, 0, 0x5413, ALLOW),		     /* TIOCGWINSZ */
	TWO(ioctl, 0, 0x5411, ALLOW),		     /* the neighbours of TIOCSTI */
	TWO(ioctl, 0, 0x40049409, ALLOW),	     /* FICLONE */
	TWO(ioctl, 0, 0x80086601, ALLOW),	     /* FS_IOC_GETFLAGS */
	/* */
	TWO(memfd_create, 0, 0, ERR(EPERM)),
	TWO(memfd_create, 0, MFD_CLOEXEC | MFD_ALLOW_SEALING, ERR(EPERM)),
	TWO(memfd_create, 0, 0x10, ERR(EPERM)), /* MFD_EXEC */
	TWO(memfd_create, 0, 0x800000000ULL, ERR(EPERM)),
	TWO(memfd_create, 0, MFD_CLOEXEC | 0x8, ALLOW),
	/* */
	ONE(personality, 0, ALLOW),
	ONE(personality, 0xffffffff, ALLOW),
	ONE(personality, 0x40000, ERR(EPERM)),
	ONE(personality, HIGH(0x40000), ERR(EPERM)),
	ONE(personality, 8, ERR(EPERM)),
	ONE(prctl, PR_SET_MM, ERR(EPERM)),
	ONE(prctl, HIGH(PR_SET_MM), ERR(EPERM)),
	ONE(prctl, PR_SET_NAME, ALLOW),
	ONE(prctl, PR_SET_SECCOMP, ALLOW),
	/* N-024 */
	THREE(setsockopt, 0, 6, 31, ERR(ENOPROTOOPT)),
	THREE(setsockopt, 0, HIGH(6), HIGHS(31), ERR(ENOPROTOOPT)),
	THREE(setsockopt, 0, 6, 38, ERR(ENOPROTOOPT)), /* TCP_AO_ADD_KEY: a cipher by name */
	THREE(setsockopt, 0, HIGH(6), HIGH(14), ERR(ENOPROTOOPT)),
	THREE(setsockopt, 0, 6, 42, ERR(ENOPROTOOPT)),
	THREE(setsockopt, 0, 6, 37, ALLOW), /* TCP_TX_DELAY */
	THREE(setsockopt, 0, 6, 1, ALLOW),
	THREE(setsockopt, 0, 1, 31, ALLOW),
	/* F-004: no set-id files */
	TWO(chmod, 0, 04755, ERR(EPERM)),
	TWO(chmod, 0, 02755, ERR(EPERM)),
	TWO(chmod, 0, HIGH(04755), ERR(EPERM)),
	TWO(chmod, 0, 01777, ALLOW),
	TWO(fchmod, 0, 06000, ERR(EPERM)),
	TWO(fchmod, 0, 0755, ALLOW),
	THREE(fchmodat, 0, 0, 04000, ERR(EPERM)),
	THREE(fchmodat, 0, 0, 0644, ALLOW),
	THREE(fchmodat2, 0, 0, 04000, ERR(EPERM)),
	THREE(fchmodat2, 0, 0, 0644, ALLOW),
	TWO(creat, 0, 04755, ERR(EPERM)),
	TWO(creat, 0, 0755, ALLOW),
	TWO(mknod, 0, 0104755, ERR(EPERM)),
	TWO(mknod, 0, 0010644, ALLOW),
	THREE(mknodat, 0, 0, 0104755, ERR(EPERM)),
	THREE(mknodat, 0, 0, 0010644, ALLOW),
	THREE(open, 0, O_CREAT | O_WRONLY, 04755, ERR(EPERM)),
	THREE(open, 0, O_RDONLY, 04755, ALLOW), /* not a mode: whatever was in the register */
	THREE(open, 0, O_CREAT | O_WRONLY, 0644, ALLOW),
	FOUR(openat, 0, 0, O_CREAT | O_WRONLY, 04755, ERR(EPERM)),
	FOUR(openat, 0, 0, HIGH(O_CREAT), HIGH(02000), ERR(EPERM)),
	FOUR(openat, 0, 0, O_TMPFILE | O_RDWR, 04700, ERR(EPERM)),
	FOUR(openat, 0, 0, O_DIRECTORY | O_RDONLY, 06000, ALLOW),
	FOUR(openat, 0, 0, O_CREAT | O_WRONLY, 0666, ALLOW),
	/* pid 1 is our init; its own settings are a process's to change, and its children's */
	ONE(sched_setaffinity, 1, ERR(EPERM)),
	ONE(sched_setaffinity, HIGHS(1), ERR(EPERM)),
	ONE(sched_setaffinity, 0, ALLOW),
	ONE(sched_setaffinity, 2, ALLOW),
	ONE(sched_setscheduler, 1, ERR(EPERM)),
	ONE(sched_setscheduler, 0, ALLOW),
	ONE(sched_setparam, 1, ERR(EPERM)),
	ONE(sched_setparam, 11, ALLOW),
	ONE(sched_setattr, HIGH(1), ERR(EPERM)),
	ONE(sched_setattr, 0, ALLOW),
	THREE(prlimit64, 1, RLIMIT_NOFILE, 0x1000, ERR(EPERM)),
	THREE(prlimit64, HIGH(1), RLIMIT_CORE, 0x1000, ERR(EPERM)),
	THREE(prlimit64, 2, RLIMIT_NOFILE, 0x1000, ALLOW),
	TWO(setpriority, PRIO_PROCESS, 1, ERR(EPERM)),
	TWO(setpriority, PRIO_PGRP, HIGH(1), ERR(EPERM)),
	TWO(setpriority, PRIO_USER, 0, ERR(EPERM)),
	TWO(setpriority, HIGHS(PRIO_USER), 1000, ERR(EPERM)),
	TWO(setpriority, PRIO_PROCESS, 0, ALLOW),
	TWO(setpriority, PRIO_PGRP, 0, ALLOW),
	TWO(ioprio_set, 1, 1, ERR(EPERM)),
	TWO(ioprio_set, 2, HIGH(1), ERR(EPERM)),
	TWO(ioprio_set, 3, 1000, ERR(EPERM)),
	TWO(ioprio_set, HIGH(3), 0, ERR(EPERM)),
	TWO(ioprio_set, 1, 0, ALLOW),
	TWO(ioprio_set, 2, 17, ALLOW),
	/* C rows: what tools need */
	ONE(clone3, 0, ERR(ENOSYS)),
	ONE(io_uring_setup, 0, ERR(ENOSYS)),
	ONE(openat2, 0, ERR(ENOSYS)),
	ONE(connect, 0, ALLOW),
	ONE(rseq, 0, ALLOW),
	ONE(futex_waitv, 0, ALLOW),
	ONE(mseal, 0, ALLOW),
	ONE(map_shadow_stack, 0, ALLOW),
	ONE(close_range, 0, ALLOW),
	ONE(faccessat2, 0, ALLOW),
	ONE(statx, 0, ALLOW),
	ONE(copy_file_range, 0, ALLOW),
	ONE(pidfd_send_signal, 0, ALLOW),
	ONE(execveat, 0, ALLOW),
	ONE(seccomp, 0, ALLOW),
	ONE(landlock_create_ruleset, 0, ALLOW),
	ONE(shmget, 0, ALLOW),
	ONE(mq_open, 0, ALLOW),
};

static void expect_row(const struct seccomp_program *p, int arch, size_t i, uint64_t garbage,
		       const struct row *r)
{
	uint64_t args[6] = { 0 };

	if (seccomp_rows[r->call].nr[arch] < 0)
		return;
	/* K-21: what the kernel cuts off changes nothing */
	for (size_t a = 0; a < 6; a++)
		args[a] = (a < 4 ? r->args[a] : 0) ^ (garbage << 32);
	uint32_t got = ask(p, audit_arch[arch], (uint32_t)seccomp_rows[r->call].nr[arch], args);

	if (got != r->want)
		fail_msg("arch %d row %zu %s(%llx, %llx, %llx) garbage %llx: %x instead of %x",
			 arch, i, seccomp_rows[r->call].name, (unsigned long long)args[0],
			 (unsigned long long)args[1], (unsigned long long)args[2],
			 (unsigned long long)garbage, got, r->want);
}

static void test_filter_looks_at_the_low_half_of_arguments(void **state)
{
	static const uint64_t garbage[] = { 0, 1, 0x80000000, 0xffffffff, 0x5412, 0xdeadbeef };

	(void)state;
	for (int arch = 0; arch < 2; arch++)
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			for (size_t g = 0; g < ARRAY_SIZE(garbage); g++)
				expect_row(&program[arch], arch, i, garbage[g], &rows[i]);
}

static void test_options_change_what_they_say(void **state)
{
	static const struct row open_rows[] = {
		S(AF_UNIX, SOCK_STREAM, 0, ALLOW),	  S(AF_UNIX, SOCK_DGRAM, 0, ALLOW),
		PAIR(AF_UNIX, SOCK_DGRAM, ALLOW),	  S(AF_PACKET, SOCK_RAW, 0, ERR(EPERM)),
		S(40, SOCK_STREAM, 0, ERR(EAFNOSUPPORT)), PAIR(30, SOCK_STREAM, ERR(EPERM)),
	};

	(void)state;
	for (int arch = 0; arch < 2; arch++) {
		struct seccomp_options o = { .arch = (enum seccomp_arch)arch, .allow_unix = true };
		struct seccomp_program p;

		assert_int_equal(seccomp_build(&o, &p, NULL), 0);
		for (size_t i = 0; i < ARRAY_SIZE(open_rows); i++)
			expect_row(&p, arch, i, 0, &open_rows[i]);
	}
}

/* only by name, and then what is always refused still is. */
static void test_tracing_is_allowed_by_name(void **state)
{
	static const struct row by_name[] = {
		TWO(ptrace, 0, 0, ALLOW),
		TWO(ptrace, HIGHS(PTRACE_SEIZE), 1, ALLOW),
		TWO(process_vm_readv, 2, 0, ALLOW),
		TWO(process_vm_writev, 2, 0, ALLOW),
		TWO(personality, ADDR_NO_RANDOMIZE, 0, ALLOW),
		TWO(personality, ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC, 0, ERR(EPERM)),
		TWO(kcmp, 2, 3, ERR(EPERM)),
		TWO(pidfd_getfd, 3, 0, ERR(EPERM)),
		S(AF_UNIX, SOCK_STREAM, 0, ERR(EPERM)),
	};

	(void)state;
	for (int arch = 0; arch < 2; arch++) {
		struct seccomp_options o = { .arch = (enum seccomp_arch)arch };
		struct seccomp_program p;

		assert_int_equal(seccomp_build(&o, &p, NULL), 0);
		for (size_t i = 0; i < ARRAY_SIZE(by_name); i++) {
			struct row never = by_name[i];

			never.want = ERR(EPERM);
			expect_row(&p, arch, i, 0, &never);
		}
		o.allow_ptrace = true;
		assert_int_equal(seccomp_build(&o, &p, NULL), 0);
		for (size_t i = 0; i < ARRAY_SIZE(by_name); i++)
			expect_row(&p, arch, i, 0, &by_name[i]);
	}
}

/* without Landlock's scope a terminal would send the command's signals to its caller. */
static void test_signals_of_descriptors_can_be_held_back(void **state)
{
	static const struct row held[] = {
		TWO(ioctl, 0, 0x5452, ERR(EPERM)),
		TWO(ioctl, 0, HIGHS(0x5452), ERR(EPERM)),
		TWO(ioctl, 0, 0x5421, ALLOW), /* FIONBIO */
		THREE(fcntl, 0, F_SETFL, O_ASYNC, ERR(EPERM)),
		THREE(fcntl, 0, HIGH(F_SETFL), HIGH(O_ASYNC | O_NONBLOCK), ERR(EPERM)),
		THREE(fcntl, 0, F_SETFL, O_NONBLOCK, ALLOW),
		THREE(fcntl, 0, F_GETFL, O_ASYNC, ALLOW),
		THREE(fcntl, 0, F_SETLEASE, F_WRLCK, ERR(EAGAIN)),
		THREE(fcntl, 0, HIGH(F_SETLEASE), F_RDLCK, ERR(EAGAIN)),
		THREE(fcntl, 0, F_GETLEASE, 0, ALLOW),
		THREE(fcntl, 0, F_DUPFD_CLOEXEC, O_ASYNC, ALLOW),
		S(AF_UNIX, SOCK_STREAM, 0, ERR(EPERM)),
	};

	(void)state;
	for (int arch = 0; arch < 2; arch++) {
		struct seccomp_options o = { .arch = (enum seccomp_arch)arch, .no_async = true };
		struct seccomp_program p;

		assert_int_equal(seccomp_build(&o, &p, NULL), 0);
		for (size_t i = 0; i < ARRAY_SIZE(held); i++)
			expect_row(&p, arch, i, 0, &held[i]);
	}
}

/* P7: what is stopped stays so. What has another signal, or none of its choice, is left alone. */
static void test_wakeups_of_ones_own_can_be_held_back(void **state)
{
	static const struct row held[] = {
		TWO(timer_create, 1, 0, ERR(ENOSYS)),
		TWO(timer_settime, 0, 0, ALLOW),
		TWO(setitimer, 0, 0, ALLOW),
		THREE(fcntl, 0, 10, SIGCONT, ERR(EPERM)), /* F_SETSIG */
		THREE(fcntl, 0, HIGH(10), SIGUSR1, ERR(EPERM)),
		THREE(fcntl, 0, F_SETFL, O_ASYNC, ALLOW),
		TWO(prctl, PR_SET_PDEATHSIG, SIGCONT, ERR(EPERM)),
		TWO(prctl, HIGHS(PR_SET_PDEATHSIG), HIGHS(SIGCONT), ERR(EPERM)),
		TWO(prctl, PR_SET_PDEATHSIG, SIGKILL, ALLOW),
		TWO(clone, SIGCONT, 0, ERR(EPERM)),
		TWO(clone, HIGHS(CLONE_VM | SIGCONT), 0, ERR(EPERM)),
		TWO(clone, SIGCHLD, 0, ALLOW),
		TWO(clone, CLONE_NEWUSER | SIGCHLD, 0, ERR(EPERM)),
	};

	(void)state;
	for (int arch = 0; arch < 2; arch++) {
		struct seccomp_options o = { .arch = (enum seccomp_arch)arch };
		struct seccomp_program p;

		assert_int_equal(seccomp_build(&o, &p, NULL), 0);
		for (size_t i = 0; i < ARRAY_SIZE(held) - 1; i++) {
			struct row otherwise = held[i];

			otherwise.want = ALLOW;
			expect_row(&p, arch, i, 0, &otherwise);
		}
		o.no_alarm = true;
		assert_int_equal(seccomp_build(&o, &p, NULL), 0);
		for (size_t i = 0; i < ARRAY_SIZE(held); i++)
			expect_row(&p, arch, i, 0, &held[i]);
	}
}

/* P7: a terminal that is only written to keeps its modes; what shows and asks is left alone. */
static void test_modes_of_a_terminal_can_be_kept(void **state)
{
	static const uint32_t set[] = { 0x5402, 0x5403,	    0x5404,	0x5406,	    0x5407,
					0x5408, 0x402c542b, 0x402c542c, 0x402c542d, 0x5433,
					0x5434, 0x5435,	    0x540b,	0x541a };
	static const uint32_t asked[] = { 0x5401, 0x5405, 0x802c542a, 0x5413, 0x5414, 0x5421 };

	(void)state;
	for (int arch = 0; arch < 2; arch++) {
		struct seccomp_options o = { .arch = (enum seccomp_arch)arch };
		struct seccomp_program p;

		for (int kept = 0; kept < 2; kept++) {
			o.no_modes = kept != 0;
			assert_int_equal(seccomp_build(&o, &p, NULL), 0);
			for (size_t i = 0; i < ARRAY_SIZE(set); i++) {
				struct row row = TWO(ioctl, 1, set[i], ALLOW);

				if (kept)
					row.want = ERR(EIO);
				expect_row(&p, arch, i, 0, &row);
				row.args[1] |= HIGH(0);
				expect_row(&p, arch, i, 0, &row);
			}
			for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
				const struct row row = TWO(ioctl, 1, asked[i], ALLOW);

				expect_row(&p, arch, i, 0, &row);
			}
		}
	}
}

/* K-23: the kernel takes the program as it is, and no jump was cut short. */
static void test_program_is_well_formed(void **state)
{
	(void)state;
	for (int arch = 0; arch < 2; arch++) {
		const struct seccomp_program *p = &program[arch];

		assert_in_range(p->len, 100, BPF_MAXINSNS - 1);
		for (size_t i = 0; i < p->len; i++) {
			const struct sock_filter *in = &p->insn[i];

			if (BPF_CLASS(in->code) != BPF_JMP)
				continue;
			if (BPF_OP(in->code) == BPF_JA) {
				assert_true(i + 1 + in->k < p->len);
			} else {
				assert_true(i + 1 + in->jt < p->len);
				assert_true(i + 1 + in->jf < p->len);
				assert_int_not_equal(in->jt, in->jf);
			}
		}
	}
}

/* nothing but the launcher's limit of 1 keeps a core_pattern helper from running outside. */
static void test_core_limit_stays(void **state)
{
	static const uint64_t pointers[] = { 0x1000, 0x7f0000000000ULL, 1, UINT64_MAX };

	(void)state;
	for (int arch = 0; arch < 2; arch++) {
		const uint32_t set = (uint32_t)seccomp_rows[SECCOMP_CALL_setrlimit].nr[arch];
		const uint32_t both = (uint32_t)seccomp_rows[SECCOMP_CALL_prlimit64].nr[arch];
		uint64_t args[6] = { RLIMIT_CORE, 0x1000 };

		assert_int_equal(ask(&program[arch], audit_arch[arch], set, args),
				 SECCOMP_RET_ERRNO);
		args[0] = 0xabcd00000000ULL | RLIMIT_CORE;
		assert_int_equal(ask(&program[arch], audit_arch[arch], set, args),
				 SECCOMP_RET_ERRNO);
		args[0] = RLIMIT_NOFILE;
		assert_int_equal(ask(&program[arch], audit_arch[arch], set, args),
				 SECCOMP_RET_ALLOW);
		for (size_t i = 0; i < ARRAY_SIZE(pointers); i++) {
			uint64_t p[6] = { 0, RLIMIT_CORE, pointers[i] };

			assert_int_equal(ask(&program[arch], audit_arch[arch], both, p),
					 SECCOMP_RET_ERRNO);
			p[1] = RLIMIT_NOFILE;
			assert_int_equal(ask(&program[arch], audit_arch[arch], both, p),
					 SECCOMP_RET_ALLOW);
		}
		args[0] = 0;
		args[1] = RLIMIT_CORE;
		args[2] = 0;
		assert_int_equal(ask(&program[arch], audit_arch[arch], both, args),
				 SECCOMP_RET_ALLOW);
		args[0] = 1; /* pid 1's may be looked at, too */
		assert_int_equal(ask(&program[arch], audit_arch[arch], both, args),
				 SECCOMP_RET_ALLOW);
	}
}

/* K-24: any change of the filter has to be made here as well, on purpose. */
static void test_program_is_the_reviewed_one(void **state)
{
	static const char *const reviewed[] = {
		"e294f07f93fcff8ba1f1c8dcab70cc5612312cba873605738e438db69555d954",
		"d1c26e278a211005080d58576ca57b2e99994332929cc3f0607ccb2aae5cca6a",
	};

	(void)state;
	for (int arch = 0; arch < 2; arch++) {
		unsigned char md[EVP_MAX_MD_SIZE];
		char hex[65];

		assert_int_equal(EVP_Digest(program[arch].insn,
					    program[arch].len * sizeof(struct sock_filter), md,
					    NULL, EVP_sha256(), NULL),
				 1);
		for (size_t i = 0; i < 32; i++)
			(void)snprintf(hex + 2 * i, 3, "%02x", md[i]);
		assert_string_equal(hex, reviewed[arch]);
	}
}

/* Leaves a core of its own: the child exits with the number of the first probe that failed. */
static int in_child(int (*test)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(test());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int install(void)
{
	struct error err = { .msg = "" };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    seccomp_install(&program[SECCOMP_NATIVE], &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.msg);
		return -1;
	}
	return 0;
}

/* K-20: with arguments that the kernel would answer EFAULT, EBADF or EINVAL to */
static int probe_denied(void)
{
	int failed = 0;

	if (install() < 0)
		return 1;
	for (size_t i = 0; i < SECCOMP_NUM_CALLS; i++) {
		const struct seccomp_row *r = &seccomp_rows[i];
		int want = r->verdict == SECCOMP_V_EPERM ? EPERM : ENOSYS;

		if (r->nr[SECCOMP_NATIVE] < 0 || r->verdict == SECCOMP_V_ALLOW ||
		    r->verdict >= SECCOMP_V_SOCKET)
			continue;
		errno = 0;
		if (syscall(r->nr[SECCOMP_NATIVE], -1L, -1L, -1L, -1L, -1L, -1L) == -1 &&
		    errno == want)
			continue;
		(void)fprintf(stderr, "%s: errno %d, expected %d\n", r->name, errno, want);
		failed = 2;
	}
	return failed;
}

static int nothing(void)
{
	return 0;
}

static int probe_allowed(void)
{
	int pair[2];

	if (install() < 0)
		return 1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    write(pair[0], "x", 1) != 1)
		return 2;
	if (socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0)
		return 3;
	if (socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) < 0)
		return 4;
	if (in_child(nothing) != 0) /* fork works */
		return 5;
	if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
		return 6;
	return 0;
}

static int probe_high_bits(void)
{
	if (install() < 0)
		return 1;
	if (syscall(SYS_socket, HIGH(AF_UNIX), SOCK_STREAM, 0) != -1 || errno != EPERM)
		return 2;
	if (syscall(SYS_clone, HIGH(CLONE_NEWUSER | SIGCHLD), 0, 0, 0, 0) != -1 || errno != EPERM)
		return 3;
	if (syscall(SYS_ioctl, 0, HIGH(0x5412), "x") != -1 || errno != EPERM)
		return 4;
	if (syscall(0x40000000 | 41, AF_UNIX, SOCK_STREAM, 0) != -1 || errno != ENOSYS)
		return 5;
	return 0;
}

/* The control of the two above: without the filter the kernel sees these calls. */
static int probe_bare(void)
{
	if (syscall(SYS_socket, HIGH(AF_UNIX), SOCK_STREAM, 0) < 0)
		return 2;
	if (syscall(SYS_ioctl, -1, HIGH(0x5412), "x") != -1 || errno != EBADF)
		return 3;
	if (syscall(SYS_memfd_create, -1L, 0) != -1 || errno != EFAULT)
		return 4;
	return 0;
}

static int probe_install_failures(void)
{
	struct error err = { .msg = "" };
	struct seccomp_program empty = { .len = 0 };

	if (seccomp_install(&program[SECCOMP_NATIVE], &err) == 0 ||
	    !strstr(err.msg, "no_new_privs"))
		return 1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 2;
	if (seccomp_install(&empty, &err) == 0 || err.code != EINVAL)
		return 3;
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_DISABLED)
		return 4;
	return 0;
}

static void test_install_denies_with_the_listed_errno(void **state)
{
	(void)state;
	assert_int_equal(in_child(probe_denied), 0);
}

static void test_install_lets_programs_work(void **state)
{
	(void)state;
	assert_int_equal(in_child(probe_allowed), 0);
}

static void test_install_is_not_fooled_by_high_bits(void **state)
{
	(void)state;
	assert_int_equal(in_child(probe_bare), 0);
	assert_int_equal(in_child(probe_high_bits), 0);
}

static void test_install_fails_loudly(void **state)
{
	(void)state;
	assert_int_equal(in_child(probe_install_failures), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_numbers_agree_with_libseccomp),
		cmocka_unit_test(test_table_is_complete),
		cmocka_unit_test(test_filter_matches_the_table),
		cmocka_unit_test(test_filter_refuses_numbers_past_the_table),
		cmocka_unit_test(test_filter_kills_foreign_architectures),
		cmocka_unit_test(test_filter_looks_at_the_low_half_of_arguments),
		cmocka_unit_test(test_options_change_what_they_say),
		cmocka_unit_test(test_tracing_is_allowed_by_name),
		cmocka_unit_test(test_signals_of_descriptors_can_be_held_back),
		cmocka_unit_test(test_wakeups_of_ones_own_can_be_held_back),
		cmocka_unit_test(test_modes_of_a_terminal_can_be_kept),
		cmocka_unit_test(test_program_is_well_formed),
		cmocka_unit_test(test_core_limit_stays),
		cmocka_unit_test(test_program_is_the_reviewed_one),
		cmocka_unit_test(test_install_denies_with_the_listed_errno),
		cmocka_unit_test(test_install_lets_programs_work),
		cmocka_unit_test(test_install_is_not_fooled_by_high_bits),
		cmocka_unit_test(test_install_fails_loudly),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
