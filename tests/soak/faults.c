/*
 * faults.c - a layer between a process and the kernel (LD_PRELOAD), for the soak tests only
 *
 * SBX_FAULTS=FILE: the first four bytes of FILE, a number N that the test may change at any time:
 * one in N calls fails as the kernel might make it fail, or is cut short; 0 is none. A call that
 * fails has not been made, so no byte is lost by this layer. EAGAIN is not among the failures: an
 * edge-triggered loop may rely on it.
 *
 * The next four bytes: seconds by which the wall clock is wrong, signed. Children of the process are
 * left alone.
 *
 * SBX_UNLOCKED=1: Landlock and seccomp say yes and do nothing, for valgrind, which has no Landlock
 * and makes system calls of its own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LANDLOCK_ABI 7

static const volatile uint32_t *control; /* rate, seconds */
static pid_t owner;
static uint32_t state = 0x9e3779b9;
static bool unlocked;

/* What lies below: the C library's own. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void set_up(void) __attribute__((constructor));

static void set_up(void)
{
	const char *path = getenv("SBX_FAULTS");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (p != MAP_FAILED)
		control = p;
	if (fd >= 0)
		(void)close(fd);
	unlocked = getenv("SBX_UNLOCKED") != NULL;
	owner = getpid();
	state ^= (uint32_t)owner * 2654435761u;
}

static uint32_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

static uint32_t rate(void)
{
	return control && getpid() == owner ? control[0] : 0;
}

/* Return: true if this call is to fail, with errno set to one of @n errors. */
static bool fails(const int *errors, size_t n)
{
	uint32_t one_in = rate();

	if (one_in == 0 || draw() % one_in != 0)
		return false;
	errno = errors[draw() % n];
	return true;
}

#define FAILS(...) \
	fails((const int[]){ __VA_ARGS__ }, sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

/* A count that the kernel might have cut short. */
static size_t cut(size_t n)
{
	uint32_t one_in = rate();

	return one_in && n > 1 && draw() % one_in == 0 ? 1 + draw() % (n - 1) : n;
}

/* Not EINTR: a listener that does not block gives none, and one that does is closed for it. */
int accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
	if (FAILS(EMFILE, ENFILE, ENOMEM, ENOBUFS, ECONNABORTED, EPROTO))
		return -1;
	return NEXT(accept4)(fd, sa, len, flags);
}

int socket(int family, int type, int protocol)
{
	if (FAILS(EMFILE, ENFILE, ENOMEM, ENOBUFS))
		return -1;
	return NEXT(socket)(family, type, protocol);
}

int connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	if (FAILS(ECONNREFUSED, ENETUNREACH, EHOSTUNREACH, ETIMEDOUT, EADDRNOTAVAIL, ENOBUFS))
		return -1;
	return NEXT(connect)(fd, sa, len);
}

ssize_t recv(int fd, void *p, size_t n, int flags)
{
	if (FAILS(ECONNRESET, ETIMEDOUT, EINTR, ENOMEM, EHOSTUNREACH))
		return -1;
	return NEXT(recv)(fd, p, flags & MSG_PEEK ? n : cut(n), flags);
}

/* What recv() becomes where the compiler knows the buffer's size. */
ssize_t __recv_chk(int fd, void *p, size_t n, size_t room, int flags);

ssize_t __recv_chk(int fd, void *p, size_t n, size_t room, int flags)
{
	if (n > room)
		abort();
	return recv(fd, p, n, flags);
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	if (FAILS(ECONNRESET, ETIMEDOUT, EINTR, ENOMEM))
		return -1;
	return NEXT(recvmsg)(fd, msg, flags);
}

/* Datagrams, of the resolver and of the name server inside: lost, or refused. */
ssize_t recvfrom(int fd, void *p, size_t n, int flags, struct sockaddr *sa, socklen_t *len)
{
	if (FAILS(ECONNREFUSED, EINTR, ENOMEM))
		return -1;
	return NEXT(recvfrom)(fd, p, n, flags, sa, len);
}

ssize_t sendto(int fd, const void *p, size_t n, int flags, const struct sockaddr *sa, socklen_t len)
{
	if (FAILS(ENETUNREACH, ECONNREFUSED, EINTR, ENOBUFS, EPERM))
		return -1;
	return NEXT(sendto)(fd, p, n, flags, sa, len);
}

/* The log's disk, and whatever else is written. */
ssize_t write(int fd, const void *p, size_t n)
{
	if (FAILS(ENOSPC, EIO, EINTR, EDQUOT))
		return -1;
	return NEXT(write)(fd, p, cut(n));
}

/* A user has so many pages for pipes, and root without a capability no more than others. */
int fcntl(int fd, int what, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, what);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (what == F_SETPIPE_SZ && FAILS(EPERM, ENOMEM))
		return -1;
	return NEXT(fcntl)(fd, what, arg);
}

ssize_t send(int fd, const void *p, size_t n, int flags)
{
	if (FAILS(ECONNRESET, EPIPE, EINTR, ENOBUFS, ENOMEM, ETIMEDOUT))
		return -1;
	return NEXT(send)(fd, p, cut(n), flags);
}

ssize_t splice(int from, off64_t *from_at, int to, off64_t *to_at, size_t n, unsigned flags)
{
	if (FAILS(ECONNRESET, EPIPE, EINTR, ENOMEM, ETIMEDOUT))
		return -1;
	return NEXT(splice)(from, from_at, to, to_at, cut(n), flags);
}

int pipe2(int fd[2], int flags)
{
	if (FAILS(EMFILE, ENFILE))
		return -1;
	return NEXT(pipe2)(fd, flags);
}

int epoll_ctl(int ep, int op, int fd, struct epoll_event *ev)
{
	if (op == EPOLL_CTL_ADD && FAILS(ENOMEM, ENOSPC))
		return -1;
	return NEXT(epoll_ctl)(ep, op, fd, ev);
}

int epoll_wait(int ep, struct epoll_event *ev, int n, int ms)
{
	if (FAILS(EINTR))
		return -1;
	return NEXT(epoll_wait)(ep, ev, n, ms);
}

int getpeername(int fd, struct sockaddr *sa, socklen_t *len)
{
	if (FAILS(ENOTCONN, ENOBUFS))
		return -1;
	return NEXT(getpeername)(fd, sa, len);
}

int getsockname(int fd, struct sockaddr *sa, socklen_t *len)
{
	if (FAILS(ENOBUFS))
		return -1;
	return NEXT(getsockname)(fd, sa, len);
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	int rc = NEXT(clock_gettime)(clock, ts);

	if (rc == 0 && control && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		ts->tv_sec += (int32_t)control[1];
	return rc;
}

int shutdown(int fd, int how)
{
	if (FAILS(ENOTCONN))
		return -1;
	return NEXT(shutdown)(fd, how);
}

/* @what is NULL where the version of the interface is asked for. */
static long landlock(long nr, const void *what)
{
	if (nr != SYS_landlock_create_ruleset)
		return 0;
	return what ? memfd_create("ruleset", MFD_CLOEXEC) : LANDLOCK_ABI;
}

int prctl(int what, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, what);
	for (size_t i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (unlocked && what == PR_GET_SECCOMP)
		return SECCOMP_MODE_FILTER;
	return NEXT(prctl)(what, a[0], a[1], a[2], a[3]);
}

long syscall(long nr, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, nr);
	for (size_t i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (unlocked && nr >= SYS_landlock_create_ruleset && nr <= SYS_landlock_restrict_self)
		return landlock(nr, (const void *)a[0]);
	if (unlocked && nr == SYS_seccomp)
		return 0;
	return NEXT(syscall)(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}
