#include "cli/hashbang.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"

static const char blank[] = " \t";

bool hashbang_read(const char *path, struct hashbang *out)
{
	CLEANUP_CLOSE int fd = fd_open_regular(AT_FDCWD, path, 0, NULL);
	char line[HASHBANG_MAX + 1] = "";
	ssize_t n = fd < 0 ? -1 : fd_read_full(fd, line, HASHBANG_MAX);
	const char *at = line + 2;
	size_t len;

	if (n < 2 || memcmp(line, "#!", 2) != 0)
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	at += strspn(at, blank);
	len = strcspn(at, blank);
	memcpy(out->interpreter, at, len);
	out->interpreter[len] = '\0';
	at += len;
	at += strspn(at, blank);
	len = strlen(at);
	while (len > 0 && strchr(blank, at[len - 1]))
		len--;
	memcpy(out->argument, at, len);
	out->argument[len] = '\0';
	return true;
}

/* Options and assignments come before the name: "-S VAR=x python3 -u". */
bool hashbang_env(const struct hashbang *h, char name[static HASHBANG_MAX])
{
	const char *at = h->argument;
	size_t n = strcspn(at, blank);

	if (strcmp(path_name(h->interpreter), "env") != 0)
		return false;
	while (n > 0 && (*at == '-' || memchr(at, '=', n))) {
		at += n;
		at += strspn(at, blank);
		n = strcspn(at, blank);
	}
	memcpy(name, at, n);
	name[n] = '\0';
	return true;
}
