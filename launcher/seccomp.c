/*
 * seccomp.c - the command's system call filter
 *
 * Should: let every program run that does not need what the sandbox takes away, with an errno
 * that makes it fall back. Mustn't: look at half of an argument's meaning (what lies behind a
 * pointer), compare 64 bits where the kernel uses 32, or let pass what nobody has looked at.
 */
#include "launcher/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "launcher/seccomp_asm.h"

#define ERRNO(e)	 (SECCOMP_RET_ERRNO | (uint32_t)(e))
#define SOCK_TYPE_MASK	 0xf		   /* include/linux/net.h: the rest are flags */
#define SET_ID_BITS	 06000		   /* set-user-id, set-group-id */
#define MFD_NOEXEC_SEAL_ 0x8U		   /* Linux 6.3 */
#define TMPFILE_BIT	 020000000U	   /* __O_TMPFILE without O_DIRECTORY */
#define PERSONALITY_GET	 0xffffffffU	   /* personality(2): only ask */
#define INIT_PID	 1		   /* our init, in the command's PID namespace */
#define F_SETDELEG_	 (F_SETLEASE + 16) /* include/uapi/linux/fcntl.h, Linux 6.19 */
#define F_SETSIG_	 10		   /* include/uapi/asm-generic/fcntl.h */
#define IOPRIO_WHO_USER_ 3		   /* include/uapi/linux/ioprio.h */

/* clone(2) takes these; CLONE_NEWTIME (0x80) lies in its exit signal and is for unshare only. */
#define CLONE_NEW_ANY                                                                  \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)
#define CLONE_NEWTIME_ 0x80

/* Requests that reach another session's input, a console or a file's attributes; F-004, X-040. */
static const uint32_t denied_ioctl[] = {
	0x5412,	    /* TIOCSTI: typed for the user */
	0x540c,	    /* TIOCEXCL: nobody but root opens the terminal any more */
	0x541c,	    /* TIOCLINUX: paste */
	0x541d,	    /* TIOCCONS: takes the console's output */
	0x5423,	    /* TIOCSETD: loads line disciplines */
	0x5437,	    /* TIOCVHANGUP */
	0x40086602, /* FS_IOC_SETFLAGS: chattr, not mediated by Landlock */
	0x40046602, /* FS_IOC32_SETFLAGS */
	0x401c5820, /* FS_IOC_FSSETXATTR */
	/*
	 * fscrypt: with a directory of the user's that may be read, whose key he has added, take the
	 * key away (his files are closed to everybody, outside as well), or add one
	 */
	0xc0506617, /* FS_IOC_ADD_ENCRYPTION_KEY */
	0xc0406618, /* FS_IOC_REMOVE_ENCRYPTION_KEY */
	0xc0406619, /* FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS */
	/* load a module for whoever asks: bridge, 8021q (net/socket.c, sock_ioctl()) */
	0x8940, /* SIOCGIFBR */
	0x8941, /* SIOCSIFBR */
	0x8982, /* SIOCGIFVLAN */
	0x8983, /* SIOCSIFVLAN */
	0x89a0, /* SIOCBRADDBR */
	0x89a1, /* SIOCBRDELBR */
};

/* Whole families, by the second byte: keyboard and virtual terminals (linux/kd.h, linux/vt.h). */
static const uint32_t denied_ioctl_family[] = { 0x4b00, 0x5600 };

/*
 * btrfs (type 0x94) and bcachefs (0xbc) let an owner take a snapshot of a whole subvolume into a
 * directory of his own: every file in it, whatever mounts and rules hide, would lie open in the
 * workspace. The three requests of other file systems that share the type are kept.
 */
static const uint32_t denied_ioctl_type[] = { 0x9400, 0xbc00 };
static const uint32_t kept_ioctl[] = {
	0x40049409, /* FICLONE */
	0x4020940d, /* FICLONERANGE */
	0xc0189436, /* FIDEDUPERANGE */
};

/*
 * What makes other keys, or another line, of what comes in at a terminal; linux/tty.h, tty_mode_ioctl(). It works by
 * a descriptor that is open for writing only, and from another session, where no SIGTTOU comes.
 */
static const uint32_t mode_ioctl[] = {
	0x5402,	    0x5403,	0x5404,	    /* TCSETS, TCSETSW, TCSETSF */
	0x5406,	    0x5407,	0x5408,	    /* TCSETA, TCSETAW, TCSETAF */
	0x402c542b, 0x402c542c, 0x402c542d, /* TCSETS2, TCSETSW2, TCSETSF2 */
	0x5433,	    0x5434,	0x5435,	    /* TCSETX, TCSETXF, TCSETXW */
	0x540b,				    /* TCFLSH: a part of it is lost */
	0x541a,				    /* TIOCSSOFTCAR */
};

static void leaf_inet(struct seccomp_asm *a)
{
	uint16_t other;

	seccomp_asm_arg(a, 1);
	seccomp_asm_and(a, SOCK_TYPE_MASK);
	other = seccomp_asm_unless_eq(a, SOCK_STREAM);
	seccomp_asm_arg(a, 2);
	seccomp_asm_ret_if_eq(a, 0, SECCOMP_RET_ALLOW);
	seccomp_asm_ret_if_eq(a, IPPROTO_TCP, SECCOMP_RET_ALLOW);
	seccomp_asm_errno(a, EPROTONOSUPPORT); /* MPTCP: Go falls back on it; SCTP, SMC */
	seccomp_asm_here(a, other);

	other = seccomp_asm_unless_eq(a, SOCK_DGRAM);
	seccomp_asm_arg(a, 2);
	seccomp_asm_ret_if_eq(a, 0, SECCOMP_RET_ALLOW);
	seccomp_asm_ret_if_eq(a, IPPROTO_UDP, SECCOMP_RET_ALLOW);
	seccomp_asm_ret_if_eq(a, IPPROTO_ICMP, ERRNO(EPERM)); /* ping sockets */
	seccomp_asm_ret_if_eq(a, IPPROTO_ICMPV6, ERRNO(EPERM));
	seccomp_asm_errno(a, EPROTONOSUPPORT);
	seccomp_asm_here(a, other);
	seccomp_asm_errno(a, EPERM); /* RAW, SOCK_PACKET and the like */
}

static void leaf_socket(struct seccomp_asm *a, bool allow_unix)
{
	uint16_t other;

	seccomp_asm_arg(a, 0);
	other = seccomp_asm_unless_eq(a, AF_INET);
	leaf_inet(a);
	seccomp_asm_here(a, other);
	other = seccomp_asm_unless_eq(a, AF_INET6);
	leaf_inet(a);
	seccomp_asm_here(a, other);
	other = seccomp_asm_unless_eq(a, AF_NETLINK); /* getifaddrs(3) */
	seccomp_asm_arg(a, 2);
	seccomp_asm_ret_if_eq(a, 0, SECCOMP_RET_ALLOW); /* NETLINK_ROUTE */
	seccomp_asm_errno(a, EPERM);
	seccomp_asm_here(a, other);
	seccomp_asm_ret_if_eq(a, AF_UNIX, allow_unix ? SECCOMP_RET_ALLOW : ERRNO(EPERM));
	seccomp_asm_ret_if_eq(a, AF_PACKET, ERRNO(EPERM));
	seccomp_asm_errno(a, EAFNOSUPPORT);
}

/*
 * A datagram end, and a RAW one, which AF_UNIX takes for the same, can be addressed anew to any
 * socket of the host's file system; stream and seqpacket ends stay what they are. N-004, N-005.
 */
static void leaf_socketpair(struct seccomp_asm *a, bool allow_unix)
{
	uint16_t other;

	seccomp_asm_arg(a, 0);
	other = seccomp_asm_unless_eq(a, AF_UNIX);
	if (allow_unix) {
		seccomp_asm_ret(a, SECCOMP_RET_ALLOW);
	} else {
		seccomp_asm_arg(a, 1);
		seccomp_asm_and(a, SOCK_TYPE_MASK);
		seccomp_asm_ret_if_eq(a, SOCK_STREAM, SECCOMP_RET_ALLOW);
		seccomp_asm_ret_if_eq(a, SOCK_SEQPACKET, SECCOMP_RET_ALLOW);
		seccomp_asm_errno(a, EPERM);
	}
	seccomp_asm_here(a, other);
	seccomp_asm_errno(a, EPERM);
}

/*
 * These make the kernel load a module of the command's choice (TCP_ULP), or a cipher by any name
 * (TCP_AO_ADD_KEY) or by one (TCP_MD5SIG): what routers that speak BGP use. N-024, K-09.
 */
static void leaf_setsockopt(struct seccomp_asm *a)
{
	static const uint32_t names[] = {
		31,	/* TCP_ULP */
		14, 32, /* TCP_MD5SIG, TCP_MD5SIG_EXT */
		38, 39, /* TCP_AO_ADD_KEY, TCP_AO_DEL_KEY */
		40, 42, /* TCP_AO_INFO, TCP_AO_REPAIR */
	};
	uint16_t other;

	seccomp_asm_arg(a, 1);
	other = seccomp_asm_unless_eq(a, IPPROTO_TCP);
	seccomp_asm_arg(a, 2);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		seccomp_asm_ret_if_eq(a, names[i], ERRNO(ENOPROTOOPT));
	seccomp_asm_here(a, other);
	seccomp_asm_ret(a, SECCOMP_RET_ALLOW);
}

static void leaf_ioctl(struct seccomp_asm *a, const struct seccomp_options *o)
{
	uint16_t other;

	seccomp_asm_arg(a, 1);
	other = seccomp_asm_unless_eq(a, 0x540a); /* TCXONC */
	seccomp_asm_arg(a, 2);
	seccomp_asm_ret_if_eq(a, TCOOFF, ERRNO(EPERM)); /* it stays stopped after the run */
	seccomp_asm_ret(a, SECCOMP_RET_ALLOW);
	seccomp_asm_here(a, other);
	if (o->no_async)
		seccomp_asm_ret_if_eq(a, 0x5452, ERRNO(EPERM)); /* FIOASYNC */
	/* as the kernel says in the background of a terminal where no shell would wake it */
	for (size_t i = 0; o->no_modes && i < ARRAY_SIZE(mode_ioctl); i++)
		seccomp_asm_ret_if_eq(a, mode_ioctl[i], ERRNO(EIO));
	for (size_t i = 0; i < ARRAY_SIZE(denied_ioctl); i++)
		seccomp_asm_ret_if_eq(a, denied_ioctl[i], ERRNO(EPERM));
	for (size_t i = 0; i < ARRAY_SIZE(kept_ioctl); i++)
		seccomp_asm_ret_if_eq(a, kept_ioctl[i], SECCOMP_RET_ALLOW);
	seccomp_asm_and(a, 0xffffff00);
	for (size_t i = 0; i < ARRAY_SIZE(denied_ioctl_family); i++)
		seccomp_asm_ret_if_eq(a, denied_ioctl_family[i], ERRNO(EPERM));
	seccomp_asm_and(a, 0xff00);
	for (size_t i = 0; i < ARRAY_SIZE(denied_ioctl_type); i++)
		seccomp_asm_ret_if_eq(a, denied_ioctl_type[i], ERRNO(EPERM));
	seccomp_asm_ret(a, SECCOMP_RET_ALLOW);
}

/* A lease on a file that the user owns, readable is enough, holds up whoever opens it outside. */
static void leaf_fcntl(struct seccomp_asm *a, const struct seccomp_options *o)
{
	uint16_t other;

	seccomp_asm_arg(a, 1);
	seccomp_asm_ret_if_eq(a, F_SETLEASE, ERRNO(EAGAIN));
	seccomp_asm_ret_if_eq(a, F_SETDELEG_, ERRNO(EAGAIN));
	if (o->no_alarm)
		seccomp_asm_ret_if_eq(a, F_SETSIG_, ERRNO(EPERM)); /* another than SIGIO */
	if (o->no_async) {
		other = seccomp_asm_unless_eq(a, F_SETFL);
		seccomp_asm_arg(a, 2);
		seccomp_asm_ret_if_any(a, O_ASYNC, ERRNO(EPERM));
		seccomp_asm_here(a, other);
	}
	seccomp_asm_ret(a, SECCOMP_RET_ALLOW);
}

/* PR_SET_MM rewrites what /proc shows of a process. */
static void leaf_prctl(struct seccomp_asm *a, bool no_alarm)
{
	uint16_t other;

	seccomp_asm_arg(a, 0);
	seccomp_asm_ret_if_eq(a, PR_SET_MM, ERRNO(EPERM));
	if (no_alarm) {
		other = seccomp_asm_unless_eq(a, PR_SET_PDEATHSIG);
		seccomp_asm_arg(a, 1);
		seccomp_asm_ret_if_eq(a, SIGCONT, ERRNO(EPERM));
		seccomp_asm_here(a, other);
	}
	seccomp_asm_ret(a, SECCOMP_RET_ALLOW);
}

/* Debuggers start their program at the same addresses each time; ThreadSanitizer must. */
static void leaf_personality(struct seccomp_asm *a, bool allow_ptrace)
{
	seccomp_asm_arg(a, 0);
	seccomp_asm_ret_if_eq(a, 0, SECCOMP_RET_ALLOW);
	if (allow_ptrace)
		seccomp_asm_ret_if_eq(a, ADDR_NO_RANDOMIZE, SECCOMP_RET_ALLOW);
	seccomp_asm_ret_if_eq(a, PERSONALITY_GET, SECCOMP_RET_ALLOW);
	seccomp_asm_errno(a, EPERM);
}

/*
 * The core limit stays the 1 that the launcher set: only that keeps the kernel from starting a
 * core_pattern helper outside, with the command's memory as its input (fs/coredump.c). Setting it
 * seems to work, since many a script begins with `ulimit -c 0`. X-015.
 */
static void leaf_setrlimit(struct seccomp_asm *a)
{
	seccomp_asm_arg(a, 0);
	seccomp_asm_ret_if_eq(a, RLIMIT_CORE, SECCOMP_RET_ERRNO);
	seccomp_asm_ret(a, SECCOMP_RET_ALLOW);
}

/* Ends with @action if there is a new value; without one the call only asks. */
static void if_new_limit(struct seccomp_asm *a, uint32_t action)
{
	seccomp_asm_arg(a, 2);
	seccomp_asm_ret_if_any(a, UINT32_MAX, action);
	seccomp_asm_arg_high(a, 2);
	seccomp_asm_ret_if_any(a, UINT32_MAX, action);
}

/* The same for the core limit; and pid 1's are not the command's to set. */
static void leaf_prlimit(struct seccomp_asm *a)
{
	uint16_t other;

	seccomp_asm_arg(a, 0);
	other = seccomp_asm_unless_eq(a, INIT_PID);
	if_new_limit(a, ERRNO(EPERM));
	seccomp_asm_here(a, other);
	seccomp_asm_arg(a, 1);
	other = seccomp_asm_unless_eq(a, RLIMIT_CORE);
	if_new_limit(a, SECCOMP_RET_ERRNO);
	seccomp_asm_here(a, other);
	seccomp_asm_ret(a, SECCOMP_RET_ALLOW);
}

/*
 * Pid 1 is our init, of the command's user and without a capability, so that the kernel would let
 * the command choose its processors, scheduler and priority, and with them how soon a signal, an
 * end or a published port gets through. It has one thread, and its own pid is its group's. X-035.
 */
static void leaf_process(struct seccomp_asm *a)
{
	seccomp_asm_arg(a, 0);
	seccomp_asm_ret_if_eq(a, INIT_PID, ERRNO(EPERM));
	seccomp_asm_ret(a, SECCOMP_RET_ALLOW);
}

/* The same for a process, a group, or all of a user, of whom pid 1 is one; @user says the last. */
static void leaf_priority(struct seccomp_asm *a, uint32_t user)
{
	seccomp_asm_arg(a, 0);
	seccomp_asm_ret_if_eq(a, user, ERRNO(EPERM));
	seccomp_asm_arg(a, 1);
	seccomp_asm_ret_if_eq(a, INIT_PID, ERRNO(EPERM));
	seccomp_asm_ret(a, SECCOMP_RET_ALLOW);
}

/* A memfd can be executed whatever Landlock says, unless it is sealed against that. X-024. */
static void leaf_memfd(struct seccomp_asm *a)
{
	seccomp_asm_arg(a, 1);
	seccomp_asm_ret_if_any(a, MFD_NOEXEC_SEAL_, SECCOMP_RET_ALLOW);
	seccomp_asm_errno(a, EPERM);
}

/*
 * Children of the caller's parent's, pid 1, say, are for LinuxThreads, and for container tools, which
 * need namespaces, too. The lowest byte is the signal that tells of the child's end. X-035.
 */
static void leaf_clone(struct seccomp_asm *a, bool no_alarm)
{
	seccomp_asm_arg(a, 0);
	seccomp_asm_ret_if_any(a, CLONE_NEW_ANY | CLONE_PARENT, ERRNO(EPERM));
	if (no_alarm) {
		seccomp_asm_and(a, CSIGNAL);
		seccomp_asm_ret_if_eq(a, SIGCONT, ERRNO(EPERM));
	}
	seccomp_asm_ret(a, SECCOMP_RET_ALLOW);
}

static void leaf_flags(struct seccomp_asm *a, unsigned int arg, uint32_t mask)
{
	seccomp_asm_arg(a, arg);
	seccomp_asm_ret_if_any(a, mask, ERRNO(EPERM));
	seccomp_asm_ret(a, SECCOMP_RET_ALLOW);
}

/* A set-id file made here would run with the user's identity for anybody on the host. F-004. */
static void leaf_open(struct seccomp_asm *a, unsigned int flags)
{
	uint16_t other;

	seccomp_asm_arg(a, flags);
	other = seccomp_asm_unless_any(a, O_CREAT | TMPFILE_BIT); /* else the mode is garbage */
	seccomp_asm_arg(a, flags + 1);
	seccomp_asm_ret_if_any(a, SET_ID_BITS, ERRNO(EPERM));
	seccomp_asm_here(a, other);
	seccomp_asm_ret(a, SECCOMP_RET_ALLOW);
}

static void leaf(struct seccomp_asm *a, enum seccomp_verdict v, const void *context)
{
	const struct seccomp_options *o = context;

	switch (v) {
	case SECCOMP_V_SOCKET:
		leaf_socket(a, o->allow_unix);
		break;
	case SECCOMP_V_SOCKETPAIR:
		leaf_socketpair(a, o->allow_unix);
		break;
	case SECCOMP_V_PTRACE:
		seccomp_asm_ret(a, o->allow_ptrace ? SECCOMP_RET_ALLOW : ERRNO(EPERM));
		break;
	case SECCOMP_V_SETSOCKOPT:
		leaf_setsockopt(a);
		break;
	case SECCOMP_V_CLONE:
		leaf_clone(a, o->no_alarm);
		break;
	case SECCOMP_V_TIMER: /* timeout(1) and others do with alarm(2) then */
		seccomp_asm_ret(a, o->no_alarm ? ERRNO(ENOSYS) : SECCOMP_RET_ALLOW);
		break;
	case SECCOMP_V_UNSHARE:
		leaf_flags(a, 0, CLONE_NEW_ANY | CLONE_NEWTIME_);
		break;
	case SECCOMP_V_IOCTL:
		leaf_ioctl(a, o);
		break;
	case SECCOMP_V_PRCTL:
		leaf_prctl(a, o->no_alarm);
		break;
	case SECCOMP_V_PERSONALITY:
		leaf_personality(a, o->allow_ptrace);
		break;
	case SECCOMP_V_SETRLIMIT:
		leaf_setrlimit(a);
		break;
	case SECCOMP_V_PRLIMIT:
		leaf_prlimit(a);
		break;
	case SECCOMP_V_MEMFD:
		leaf_memfd(a);
		break;
	case SECCOMP_V_OPEN:
		leaf_open(a, 1);
		break;
	case SECCOMP_V_OPENAT:
		leaf_open(a, 2);
		break;
	case SECCOMP_V_MODE1:
		leaf_flags(a, 1, SET_ID_BITS);
		break;
	case SECCOMP_V_MODE2:
		leaf_flags(a, 2, SET_ID_BITS);
		break;
	case SECCOMP_V_PROCESS:
		leaf_process(a);
		break;
	case SECCOMP_V_SETPRIORITY:
		leaf_priority(a, PRIO_USER);
		break;
	case SECCOMP_V_IOPRIO_SET:
		leaf_priority(a, IOPRIO_WHO_USER_);
		break;
	case SECCOMP_V_FCNTL:
		leaf_fcntl(a, o);
		break;
	case SECCOMP_V_ENOSYS:
	case SECCOMP_V_ALLOW:
	case SECCOMP_V_EPERM:
	case SECCOMP_V_KILL:
	case SECCOMP_V_EXEC_MEMORY:
	case SECCOMP_V_PIDFD:
	case SECCOMP_NUM_VERDICTS:
		seccomp_asm_ret(a, SECCOMP_RET_KILL_PROCESS); /* not a verdict of this filter */
		break;
	}
}

int seccomp_build(const struct seccomp_options *options, struct seccomp_program *out,
		  struct error *err)
{
	uint8_t verdicts[SECCOMP_NUM_CALLS];

	for (size_t i = 0; i < SECCOMP_NUM_CALLS; i++)
		verdicts[i] = seccomp_rows[i].verdict;
	return seccomp_assemble(options->arch, verdicts, leaf, options, out, err);
}

/* Unlike /proc/self/status, prctl answers under the filter and without a /proc. */
static int check_in_force(struct error *err)
{
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER)
		return error_set(err, 0, "seccomp: the filter is not in force");
	return 0;
}

int seccomp_install(const struct seccomp_program *program, struct error *err)
{
	/* The kernel only reads, whatever the type says. */
	struct sock_filter *insn = (struct sock_filter *)(uintptr_t)program->insn;
	struct sock_fprog prog = { .len = program->len, .filter = insn };

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return error_set(err, 0, "seccomp: no_new_privs is not set");
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return error_set(err, errno,
				 "cannot install the seccomp filter (the kernel needs "
				 "CONFIG_SECCOMP_FILTER; inside a container, its own seccomp "
				 "profile must allow seccomp)");
	return check_in_force(err);
}
