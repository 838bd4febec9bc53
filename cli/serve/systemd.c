#include "cli/serve/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/reader.h"
#include "base/xalloc.h"

#define FIRST_FD 3 /* SD_LISTEN_FDS_START */

static bool option_is(int fd, int option, int want)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 && value == want;
}

static bool is_control(const char *name)
{
	return strcmp(name, "control") == 0 || strcmp(name, "control.sock") == 0;
}

/* By the name given in the unit, else by the path. "unknown" is the manager's word for none. */
static enum systemd_kind kind_of(int fd, const char *name)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(sa) - 1;
	const char *slash;

	if (name && *name && strcmp(name, "unknown") != 0 && !strstr(name, ".socket"))
		return is_control(name) ? SYSTEMD_CONTROL : SYSTEMD_PROXY;
	if (getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return SYSTEMD_PROXY;
	slash = strrchr(sa.sun_path, '/');
	return is_control(slash ? slash + 1 : sa.sun_path) ? SYSTEMD_CONTROL : SYSTEMD_PROXY;
}

static int take(int fd, const char *name, struct systemd_socket *out, struct error *err)
{
	if (!option_is(fd, SO_DOMAIN, AF_UNIX) || !option_is(fd, SO_TYPE, SOCK_STREAM) ||
	    !option_is(fd, SO_ACCEPTCONN, 1))
		return error_set(err, 0, "descriptor %d is no listening unix socket", fd);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fd_set_nonblock(fd) < 0)
		return error_set(err, errno, "cannot take descriptor %d", fd);
	*out = (struct systemd_socket){ .fd = fd, .kind = kind_of(fd, name) };
	return 0;
}

/* The variables are meant for one process: this one, or not at all. */
static bool meant_for_us(const char *pid, const char *fds, uint64_t *n)
{
	uint64_t value;

	return pid && fds && reader_decimal(pid, strlen(pid), INT32_MAX, &value) &&
	       value == (uint64_t)getpid() && reader_decimal(fds, strlen(fds), INT32_MAX, n);
}

int systemd_sockets(struct systemd_socket *out, size_t *n, struct error *err)
{
	const char *names = getenv("LISTEN_FDNAMES");
	CLEANUP_FREE char *copy = xstrdup(names ? names : "");
	char *rest = copy;
	uint64_t count = 0;

	*n = 0;
	if (!meant_for_us(getenv("LISTEN_PID"), getenv("LISTEN_FDS"), &count))
		return 0;
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	if (count > SYSTEMD_SOCKETS_MAX)
		return error_set(err, 0, "more than %d sockets were passed in",
				 SYSTEMD_SOCKETS_MAX);
	for (size_t i = 0; i < count; i++) {
		const char *name = strsep(&rest, ":");

		if (take(FIRST_FD + (int)i, name, &out[i], err) < 0)
			return -1;
		*n = i + 1;
	}
	return 0;
}

int systemd_notify_open(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	CLEANUP_CLOSE int fd = -1;
	size_t n = path ? strlen(path) : 0;

	if (n < 2 || n >= sizeof(sa.sun_path) || (path[0] != '/' && path[0] != '@'))
		return -1;
	memcpy(sa.sun_path, path, n);
	if (path[0] == '@')
		sa.sun_path[0] = '\0'; /* an abstract name */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sa,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0)
		return -1;
	(void)unsetenv("NOTIFY_SOCKET");
	return take_fd(&fd);
}

void systemd_notify(int fd, const char *state)
{
	if (fd >= 0)
		(void)send(fd, state, strlen(state), MSG_NOSIGNAL);
}
