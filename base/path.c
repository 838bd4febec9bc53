#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

char *path_dir(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xstrdup(".");
	return xstrndup(path, slash == path ? 1 : (size_t)(slash - path));
}

const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool path_beneath(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return true;
	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

const char *path_below(const char *path, const char *dir)
{
	const char *rest = path + (strcmp(dir, "/") == 0 ? 0 : strlen(dir));

	return *rest == '/' ? rest + 1 : rest;
}

int path_lead(char rest[static PATH_MAX], int dir, const char *name)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);
	size_t left = strlen(rest);

	if (n < 0)
		return -1;
	if ((size_t)n + left + 2 > PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memmove(rest + n + 1, rest, left + 1);
	memcpy(rest, target, (size_t)n);
	rest[n] = '/';
	return n > 0 && target[0] == '/';
}

bool path_may(int dir, const char *path, int mode)
{
	return faccessat(dir, path, mode, AT_EACCESS) == 0 ||
	       (errno == EPERM && syscall(SYS_faccessat, dir, path, mode) == 0);
}

bool path_next(char *rest, char name[static NAME_MAX + 1])
{
	const char *at = rest + strspn(rest, "/");
	size_t n = strcspn(at, "/");

	if (n == 0 || n > NAME_MAX)
		return false;
	memcpy(name, at, n);
	name[n] = '\0';
	at += n + strspn(at + n, "/");
	memmove(rest, at, strlen(at) + 1);
	return true;
}

bool path_dangles(const char *path)
{
	CLEANUP_FREE char *at = xstrdup(path);
	struct stat st;

	while (lstat(at, &st) < 0 && strcmp(at, "/") != 0 && strcmp(at, ".") != 0) {
		char *up = path_dir(at);

		free(at);
		at = up;
	}
	return stat(at, &st) < 0;
}
