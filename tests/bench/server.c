#include "tests/bench/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define BACKLOG 4096

void server_begin(void)
{
	struct rlimit all;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)getrlimit(RLIMIT_NOFILE, &all);
	all.rlim_cur = all.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &all);
}

static int listen_at(const struct sockaddr_in *a, bool shared)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (shared)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 || listen(fd, BACKLOG) < 0)
		return -1; /* the caller ends */
	return fd;
}

int server_listen(const char *where, bool shared)
{
	CLEANUP_FREE char *host = xstrdup(where);
	char *colon = strrchr(host, ':');
	struct sockaddr_in a = { .sin_family = AF_INET };
	int number = colon ? atoi(colon + 1) : 0;

	if (!colon) {
		errno = EINVAL;
		return -1;
	}
	*colon = '\0';
	if (strcmp(host, "fd") == 0)
		return fcntl(number, F_SETFL, O_NONBLOCK) < 0 ? -1 : number;
	a.sin_port = htons((uint16_t)number);
	if (inet_pton(AF_INET, host, &a.sin_addr) != 1) {
		errno = EINVAL;
		return -1;
	}
	return listen_at(&a, shared);
}
