/*
 * seccomp_supervisor.c - the filter that the supervisor puts itself under
 *
 * Should: leave an event loop with sockets, DNS, splice and a few files everything it needs.
 * Mustn't: let code that got into the supervisor start a program, make memory executable, touch
 * another process or the mount tree, or make a socket of another family. Signals are let through to a
 * process of ours by its number, of whose owner nobody can be mistaken: it is our child.
 *
 * Which files may be opened is Landlock's matter, not this filter's.
 */
#include "launcher/seccomp_supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "launcher/seccomp_asm.h"

#define SOCK_TYPE_MASK 0xf /* include/linux/net.h: the rest are flags */
#define ERRNO(e)       (SECCOMP_RET_ERRNO | (uint32_t)(e))

#define C(name) SECCOMP_CALL_##name

static const uint16_t allowed[] = {
	/* memory */
	C(brk), C(munmap), C(mremap), C(madvise), C(mlock), C(munlock), C(msync),
	/* reading, writing and moving bytes */
	C(read), C(write), C(readv), C(writev), C(pread64), C(pwrite64), C(lseek), C(close),
	C(close_range), C(dup), C(dup2), C(dup3), C(pipe), C(pipe2), C(splice), C(tee), C(sendfile),
	C(ftruncate), C(fallocate), C(fsync), C(fdatasync), C(flock),
	/* the event loop */
	C(epoll_create), C(epoll_create1), C(epoll_ctl), C(epoll_wait), C(epoll_pwait),
	C(epoll_pwait2), C(poll), C(ppoll), C(select), C(pselect6), C(eventfd), C(eventfd2),
	C(timerfd_create), C(timerfd_settime), C(timerfd_gettime), C(signalfd), C(signalfd4),
	/* sockets */
	C(connect), C(bind), C(listen), C(accept), C(accept4), C(getsockname), C(getpeername),
	C(getsockopt), C(setsockopt), C(shutdown), C(sendto), C(recvfrom), C(sendmsg), C(recvmsg),
	C(sendmmsg), C(recvmmsg),
	/* our own files: settings read again, answers saved by rename, the audit log */
	C(open), C(openat), C(stat), C(fstat), C(lstat), C(newfstatat), C(statx), C(access),
	C(faccessat), C(faccessat2), C(readlink), C(readlinkat), C(getdents64), C(rename),
	C(renameat), C(renameat2), C(unlink), C(unlinkat), C(mkdir), C(mkdirat), C(rmdir),
	C(fstatfs), C(umask), C(getcwd),
	/* time */
	C(clock_gettime), C(clock_getres), C(clock_nanosleep), C(nanosleep), C(gettimeofday),
	C(time), C(times), C(alarm), C(setitimer), C(getitimer),
	/* signals of our own, and the end */
	C(rt_sigaction), C(rt_sigprocmask), C(rt_sigreturn), C(rt_sigpending), C(rt_sigtimedwait),
	C(rt_sigsuspend), C(sigaltstack), C(restart_syscall), C(wait4), C(waitid), C(pause),
	C(exit), C(exit_group),
	/* about ourselves */
	C(getpid), C(getppid), C(gettid), C(getuid), C(geteuid), C(getgid), C(getegid),
	C(getgroups), C(getresuid), C(getresgid), C(getpgrp), C(getpgid), C(getsid), C(getrusage),
	C(getrlimit), C(uname), C(sysinfo), C(getrandom), C(sched_yield), C(sched_getaffinity),
	C(getcpu), C(getpriority), C(capget),
	/* what libc does unasked */
	C(futex), C(set_robust_list), C(set_tid_address), C(rseq), C(membarrier), C(arch_prctl)
};

/* Whoever calls one of these is not our code. */
static const uint16_t fatal[] = { C(execve),
				  C(execveat),
				  C(fork),
				  C(vfork),
				  C(clone),
				  C(ptrace),
				  C(process_vm_readv),
				  C(process_vm_writev),
				  C(pidfd_getfd),
				  C(process_madvise),
				  C(mount),
				  C(umount2),
				  C(pivot_root),
				  C(chroot),
				  C(move_mount),
				  C(open_tree),
				  C(fsopen),
				  C(fsmount),
				  C(unshare),
				  C(setns),
				  C(bpf),
				  C(init_module),
				  C(finit_module),
				  C(delete_module),
				  C(kexec_load),
				  C(kexec_file_load),
				  C(add_key),
				  C(request_key),
				  C(keyctl),
				  C(memfd_create),
				  C(memfd_secret),
				  C(userfaultfd),
				  C(perf_event_open),
				  C(io_uring_setup),
				  C(open_by_handle_at),
				  C(personality),
				  C(modify_ldt),
				  C(uselib),
				  C(reboot),
				  C(swapon),
				  C(setuid),
				  C(setreuid),
				  C(setresuid),
				  C(setgid),
				  C(setregid),
				  C(setresgid),
				  C(setgroups),
				  C(capset),
				  C(chmod),
				  C(chown),
				  C(lchown),
				  C(fchown),
				  C(fchownat),
				  C(mknod),
				  C(mknodat),
				  C(symlink),
				  C(symlinkat),
				  C(link),
				  C(linkat) };

static void put(uint8_t verdicts[SECCOMP_NUM_CALLS], const uint16_t *calls, size_t n,
		enum seccomp_verdict v)
{
	for (size_t i = 0; i < n; i++)
		verdicts[calls[i]] = (uint8_t)v;
}

/* Like the command's: a supervisor has no use for an odd family, and none for AF_UNIX either. */
static void leaf_socket(struct seccomp_asm *a)
{
	uint16_t other;

	seccomp_asm_arg(a, 0);
	other = seccomp_asm_unless_eq(a, AF_NETLINK); /* own addresses */
	seccomp_asm_arg(a, 2);
	seccomp_asm_ret_if_eq(a, 0, SECCOMP_RET_ALLOW); /* NETLINK_ROUTE */
	seccomp_asm_errno(a, EPERM);
	seccomp_asm_here(a, other);
	for (int i = 0; i < 2; i++) {
		other = seccomp_asm_unless_eq(a, i == 0 ? AF_INET : AF_INET6);
		seccomp_asm_arg(a, 1);
		seccomp_asm_and(a, SOCK_TYPE_MASK);
		seccomp_asm_ret_if_eq(a, SOCK_STREAM, SECCOMP_RET_ALLOW);
		seccomp_asm_ret_if_eq(a, SOCK_DGRAM, SECCOMP_RET_ALLOW);
		seccomp_asm_errno(a, EPERM);
		seccomp_asm_here(a, other);
	}
	seccomp_asm_errno(a, EPERM);
}

static void leaf_socketpair(struct seccomp_asm *a)
{
	seccomp_asm_arg(a, 1);
	seccomp_asm_and(a, SOCK_TYPE_MASK);
	seccomp_asm_ret_if_eq(a, SOCK_STREAM, SECCOMP_RET_ALLOW);
	seccomp_asm_ret_if_eq(a, SOCK_SEQPACKET, SECCOMP_RET_ALLOW);
	seccomp_asm_errno(a, EPERM);
}

/* mmap and mprotect have the protection in the same place. */
static void leaf_exec_memory(struct seccomp_asm *a)
{
	seccomp_asm_arg(a, 2);
	seccomp_asm_ret_if_any(a, PROT_EXEC, ERRNO(EPERM));
	seccomp_asm_ret(a, SECCOMP_RET_ALLOW);
}

/*
 * A terminal's size and modes, for prompts and a relayed pty; how much can be read; and how much a
 * peer has not acknowledged, for a reset must not overtake what was sent before.
 */
static void leaf_ioctl(struct seccomp_asm *a)
{
	static const uint32_t requests[] = {
		0x5401,	    0x5402, 0x5403, 0x5404, /* TCGETS TCSETS TCSETSW TCSETSF */
		0x540b,				    /* TCFLSH */
		0x540f,	    0x5410,		    /* TIOCGPGRP TIOCSPGRP */
		0x5413,	    0x5414,		    /* TIOCGWINSZ TIOCSWINSZ */
		0x541b,	    0x5421, 0x5411,	    /* FIONREAD FIONBIO SIOCOUTQ */
		0x80045430,			    /* TIOCGPTN */
	};

	seccomp_asm_arg(a, 1);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		seccomp_asm_ret_if_eq(a, requests[i], SECCOMP_RET_ALLOW);
	seccomp_asm_errno(a, EPERM);
}

static void leaf_prctl(struct seccomp_asm *a)
{
	static const uint32_t options[] = { PR_GET_SECCOMP, PR_GET_NO_NEW_PRIVS, PR_GET_DUMPABLE,
					    PR_SET_NAME, PR_GET_NAME };

	seccomp_asm_arg(a, 0);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		seccomp_asm_ret_if_eq(a, options[i], SECCOMP_RET_ALLOW);
	seccomp_asm_errno(a, EPERM);
}

/* No groups, nor all of a user's. */
static void leaf_process(struct seccomp_asm *a, const struct seccomp_peers *peers)
{
	seccomp_asm_arg(a, 0);
	seccomp_asm_ret_if_eq(a, (uint32_t)peers->self, SECCOMP_RET_ALLOW);
	if (peers->relay > 0)
		seccomp_asm_ret_if_eq(a, (uint32_t)peers->relay, SECCOMP_RET_ALLOW);
	seccomp_asm_errno(a, EPERM);
}

static void leaf_pidfd(struct seccomp_asm *a, const struct seccomp_peers *peers)
{
	seccomp_asm_arg(a, 0);
	if (peers->pidfd > 0)
		seccomp_asm_ret_if_eq(a, (uint32_t)peers->pidfd, SECCOMP_RET_ALLOW);
	seccomp_asm_errno(a, EPERM);
}

/* Nothing by which a descriptor comes to signal a process: F_SETOWN, F_SETSIG, O_ASYNC. */
static void leaf_fcntl(struct seccomp_asm *a)
{
	static const uint32_t commands[] = {
		F_DUPFD,      F_DUPFD_CLOEXEC, F_GETFD,	     F_SETFD,	  F_GETFL,
		F_GETLK,      F_SETLK,	       F_SETLKW,     F_OFD_GETLK, F_OFD_SETLK,
		F_OFD_SETLKW, F_SETPIPE_SZ,    F_GETPIPE_SZ,
	};
	uint16_t other;

	seccomp_asm_arg(a, 1);
	other = seccomp_asm_unless_eq(a, F_SETFL);
	seccomp_asm_arg(a, 2);
	seccomp_asm_ret_if_any(a, O_ASYNC, ERRNO(EPERM));
	seccomp_asm_ret(a, SECCOMP_RET_ALLOW);
	seccomp_asm_here(a, other);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		seccomp_asm_ret_if_eq(a, commands[i], SECCOMP_RET_ALLOW);
	seccomp_asm_errno(a, EPERM);
}

static void leaf(struct seccomp_asm *a, enum seccomp_verdict v, const void *context)
{
	if (v == SECCOMP_V_PROCESS)
		leaf_process(a, context);
	else if (v == SECCOMP_V_PIDFD)
		leaf_pidfd(a, context);
	else if (v == SECCOMP_V_FCNTL)
		leaf_fcntl(a);
	else if (v == SECCOMP_V_SOCKET)
		leaf_socket(a);
	else if (v == SECCOMP_V_SOCKETPAIR)
		leaf_socketpair(a);
	else if (v == SECCOMP_V_EXEC_MEMORY)
		leaf_exec_memory(a);
	else if (v == SECCOMP_V_IOCTL)
		leaf_ioctl(a);
	else if (v == SECCOMP_V_PRCTL)
		leaf_prctl(a);
	else
		seccomp_asm_ret(a, SECCOMP_RET_KILL_PROCESS); /* not a verdict of this filter */
}

int seccomp_supervisor_build(enum seccomp_arch arch, const struct seccomp_peers *peers,
			     struct seccomp_program *out, struct error *err)
{
	uint8_t verdicts[SECCOMP_NUM_CALLS];

	/* A call that the command would be told not to exist does not exist here either. */
	for (size_t i = 0; i < SECCOMP_NUM_CALLS; i++)
		verdicts[i] = seccomp_rows[i].verdict == SECCOMP_V_ENOSYS ? SECCOMP_V_ENOSYS
									  : SECCOMP_V_EPERM;
	put(verdicts, allowed, ARRAY_SIZE(allowed), SECCOMP_V_ALLOW);
	put(verdicts, fatal, ARRAY_SIZE(fatal), SECCOMP_V_KILL);
	verdicts[C(socket)] = SECCOMP_V_SOCKET;
	verdicts[C(socketpair)] = SECCOMP_V_SOCKETPAIR;
	verdicts[C(mmap)] = SECCOMP_V_EXEC_MEMORY;
	verdicts[C(mprotect)] = SECCOMP_V_EXEC_MEMORY;
	verdicts[C(ioctl)] = SECCOMP_V_IOCTL;
	verdicts[C(prctl)] = SECCOMP_V_PRCTL;
	verdicts[C(fcntl)] = SECCOMP_V_FCNTL;
	verdicts[C(kill)] = SECCOMP_V_PROCESS;
	verdicts[C(tkill)] = SECCOMP_V_PROCESS;
	verdicts[C(tgkill)] = SECCOMP_V_PROCESS;
	verdicts[C(pidfd_send_signal)] = SECCOMP_V_PIDFD;
	return seccomp_assemble(arch, verdicts, leaf, peers, out, err);
}

int seccomp_supervisor_install(const struct seccomp_peers *peers, struct error *err)
{
	struct seccomp_peers all = *peers;
	struct seccomp_program program;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set(err, errno, "cannot set no_new_privs");
	all.self = getpid();
	if (seccomp_supervisor_build(SECCOMP_NATIVE, &all, &program, err) < 0)
		return -1;
	return seccomp_install(&program, err);
}
