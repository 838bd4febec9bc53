/*
 * probe_file.c - VECTORS 4b and 4e: descriptors and files, and K-20, every denied call by number
 */
#include "tests/escape/probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

/* open FLAGS PATH; mode 0600 */
static int open_path(char *const *args)
{
	return outcome(open(args[1], (int)strtol(args[0], NULL, 0) | O_CLOEXEC | O_NOCTTY, 0600));
}

/* read PATH: at least one byte; ENODATA if there is none */
static int read_path(char *const *args)
{
	char c;
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, &c, 1);

	return n < 0 ? errno : n == 0 ? ENODATA : 0;
}

/* chmod MODE PATH */
static int change_mode(char *const *args)
{
	return outcome(chmod(args[1], (mode_t)strtoul(args[0], NULL, 8)));
}

/* create-mode MODE PATH: open(2) with O_CREAT and that mode */
static int create_mode(char *const *args)
{
	int fd = open(args[1], O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC,
		      (mode_t)strtoul(args[0], NULL, 8));

	if (fd < 0)
		return errno;
	(void)unlink(args[1]);
	return 0;
}

static int change_owner(char *const *args)
{
	return outcome(chown(args[0], getuid(), getgid()));
}

static int change_times(char *const *args)
{
	return outcome(utimensat(AT_FDCWD, args[0], NULL, 0));
}

static int change_xattr(char *const *args)
{
	return outcome(setxattr(args[0], "user.escape", "x", 1, 0));
}

/* FS_IOC_SETFLAGS to what FS_IOC_GETFLAGS said */
static int change_flags(char *const *args)
{
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);
	long flags = 0;

	if (fd < 0)
		return errno;
	if (ioctl(fd, 0x80086601UL, &flags) < 0)
		return PROBE_SKIP;
	return outcome(ioctl(fd, 0x40086602UL, &flags));
}

static int remove_file(char *const *args)
{
	return outcome(unlink(args[0]));
}

/* rename FROM TO */
static int rename_file(char *const *args)
{
	return outcome(rename(args[0], args[1]));
}

/* link FROM TO */
static int link_file(char *const *args)
{
	return outcome(link(args[0], args[1]));
}

static int whiteout(char *const *args)
{
	return outcome(mknod(args[0], S_IFCHR | 0600, makedev(0, 0)));
}

/* node TYPE MAJOR MINOR PATH: TYPE as in S_IFMT, octal; removed again */
static int make_node(char *const *args)
{
	mode_t type = (mode_t)strtoul(args[0], NULL, 8);
	dev_t dev = makedev((unsigned)atoi(args[1]), (unsigned)atoi(args[2]));

	if (mknod(args[3], type | 0600, dev) < 0)
		return errno;
	return outcome(unlink(args[3]));
}

static int look_at(char *const *args)
{
	struct stat st;

	return outcome(stat(args[0], &st));
}

/* lock PATH: for oneself alone */
static int lock_file(char *const *args)
{
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? errno : outcome(flock(fd, LOCK_EX | LOCK_NB));
}

/* handle PATH: a handle outlives every path rule, if it can be opened again */
static int by_handle(char *const *args)
{
	struct {
		struct file_handle h;
		unsigned char bytes[MAX_HANDLE_SZ];
	} handle = { .h.handle_bytes = MAX_HANDLE_SZ };
	int mount, at;

	if (name_to_handle_at(AT_FDCWD, args[0], &handle.h, &mount, 0) < 0)
		return errno;
	at = open(args[0], O_RDONLY | O_CLOEXEC);
	return outcome(open_by_handle_at(at, &handle.h, O_RDONLY | O_CLOEXEC));
}

/* grow BYTES PATH: a file of that size; removed again */
static int grow(char *const *args)
{
	int fd = open(args[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	int rc;

	(void)signal(SIGXFSZ, SIG_IGN);
	if (fd < 0)
		return errno;
	rc = outcome(ftruncate(fd, atoll(args[0])));
	(void)unlink(args[1]);
	return rc;
}

/* change-stdout chmod|suid|truncate|flags: a file that the caller has given as descriptor 1 */
static int change_stdout(char *const *args)
{
	int rc;

	if (strcmp(args[0], "chmod") == 0)
		rc = outcome(fchmod(1, 0640));
	else if (strcmp(args[0], "suid") == 0)
		rc = outcome(fchmod(1, 04755));
	else if (strcmp(args[0], "truncate") == 0)
		rc = outcome(ftruncate(1, 0));
	else
		rc = outcome(fcntl(1, F_SETFL, O_APPEND));
	(void)fprintf(stderr, "%s\n", rc == 0 ? "OK" : strerrorname_np(rc));
	_exit(0);
}

/* reopen FD FLAGS: through /proc */
static int reopen(char *const *args)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%s", args[0]);
	return outcome(open(path, (int)strtol(args[1], NULL, 0) | O_CLOEXEC));
}

/* U-001: whether anything but 0, 1, 2 and the directory itself is open */
static int open_descriptors(char *const *args)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int extra = 0;

	(void)args;
	if (!d)
		return errno;
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.' && atoi(e->d_name) > 2 && atoi(e->d_name) != dirfd(d))
			extra++;
	(void)closedir(d);
	return extra > 0 ? 0 : EBADF;
}

/* U-007: 0, 1 and 2 exist, and are /dev/null; the answer is the exit status */
static int stdio_is_null(char *const *args)
{
	struct stat st;

	(void)args;
	for (int fd = 0; fd < 3; fd++)
		if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3))
			_exit(10 + fd);
	_exit(0);
}

/* U-014: standard output, opened anew; the answer goes to standard error */
static int reopen_stdout(char *const *args)
{
	int rc = outcome(open("/proc/self/fd/1", O_WRONLY | O_CLOEXEC));

	(void)args;
	(void)fprintf(stderr, "%s\n", rc == 0 ? "OK" : strerrorname_np(rc));
	_exit(0);
}

/* proc-pids: how many processes /proc shows; EPERM if no more than a sandbox has */
static int proc_pids(char *const *args)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int pids = 0;

	(void)args;
	if (!d)
		return errno;
	while ((e = readdir(d)) != NULL)
		pids += e->d_name[0] >= '1' && e->d_name[0] <= '9';
	(void)closedir(d);
	return pids > 3 ? 0 : EPERM;
}

struct row {
	const char *name;
	int nr[2];
	int want;
};

/* What seccomp_calls.h says, without including the module under test. */
#define WANT_EPERM	 EPERM
#define WANT_ENOSYS	 ENOSYS
#define WANT_ALLOW	 0
#define WANT_SOCKET	 0
#define WANT_SOCKETPAIR	 0
#define WANT_CONNECT	 0
#define WANT_SETSOCKOPT	 0
#define WANT_CLONE	 0
#define WANT_UNSHARE	 0
#define WANT_IOCTL	 0
#define WANT_PRCTL	 0
#define WANT_PERSONALITY 0
#define WANT_SETRLIMIT	 0
#define WANT_PRLIMIT	 0
#define WANT_MEMFD	 0
#define WANT_OPEN	 0
#define WANT_OPENAT	 0
#define WANT_MODE1	 0
#define WANT_MODE2	 0
#define WANT_PROCESS	 0
#define WANT_SETPRIORITY 0
#define WANT_IOPRIO_SET	 0
#define WANT_TIMER	 0
#define WANT_FCNTL	 0
#define WANT_PTRACE	 EPERM /* without --allow-ptrace */

static const struct row calls[] = {
#define CALL(name, x86_64, aarch64, verdict) { #name, { x86_64, aarch64 }, WANT_##verdict },
#include "launcher/seccomp_calls.h"
#undef CALL
};

/*
 * Every denied call with arguments that the kernel itself would answer EFAULT, EBADF or EINVAL to.
 * Only for the inside: bare, some of these need no arguments to do harm.
 */
static int denied_calls(char *const *args)
{
#if defined(__x86_64__)
	const int arch = 0;
#else
	const int arch = 1;
#endif
	int rc = 0;

	(void)args;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i].want == 0 || calls[i].nr[arch] < 0)
			continue;
		errno = 0;
		if (syscall(calls[i].nr[arch], -1L, -1L, -1L, -1L, -1L, -1L) == -1 &&
		    errno == calls[i].want)
			continue;
		(void)fprintf(stderr, "%s: errno %d, expected %d\n", calls[i].name, errno,
			      calls[i].want);
		rc = ENOTRECOVERABLE;
	}
	return rc;
}

const struct probe file_probes[] = {
	{ "open", open_path },
	{ "read", read_path },
	{ "chmod", change_mode },
	{ "create-mode", create_mode },
	{ "chown", change_owner },
	{ "utimes", change_times },
	{ "xattr", change_xattr },
	{ "flags", change_flags },
	{ "unlink", remove_file },
	{ "rename", rename_file },
	{ "link", link_file },
	{ "whiteout", whiteout },
	{ "node", make_node },
	{ "stat", look_at },
	{ "lock", lock_file },
	{ "handle", by_handle },
	{ "grow", grow },
	{ "change-stdout", change_stdout },
	{ "reopen", reopen },
	{ "fds", open_descriptors },
	{ "stdio-null", stdio_is_null },
	{ "reopen-stdout", reopen_stdout },
	{ "proc-pids", proc_pids },
	{ "denied-calls", denied_calls },
	{ 0 },
};
