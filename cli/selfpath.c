#include "cli/selfpath.h"

#include <limits.h>
#include <stddef.h>
#include <unistd.h>

#include "base/xalloc.h"

char *selfpath(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));

	if (n <= 0 || (size_t)n >= sizeof(path))
		return NULL;
	return xstrndup(path, (size_t)n);
}
