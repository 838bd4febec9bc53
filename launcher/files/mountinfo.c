#include "launcher/files/mountinfo.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/xalloc.h"

#define MOUNTINFO_MAX (8 * 1024 * 1024)

/* "\040" and the like, in place. */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] && s[2] && s[3]) {
			*out++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

static bool split(char *rest, char **field, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(field[i] = strsep(&rest, " ")))
			return false;
	return true;
}

/* Of the fields between the mount's options and the file system's there is any number. */
static bool read_line(char *line, struct mountinfo_mount *m)
{
	char *rest = strstr(line, " - ");
	char *mount[5], *system[3];

	if (!rest)
		return false;
	*rest = '\0';
	if (!split(line, mount, ARRAY_SIZE(mount)) || !split(rest + 3, system, ARRAY_SIZE(system)))
		return false;
	*m = (struct mountinfo_mount){ mount[2], mount[3], mount[4], system[0], system[2] };
	unescape(m->root);
	unescape(m->point);
	return true;
}

int mountinfo_read(struct mountinfo *m)
{
	CLEANUP_CLOSE int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	size_t len;
	char *rest, *line;

	*m = (struct mountinfo){ .text = fd < 0 ? NULL : fd_read_file(fd, MOUNTINFO_MAX, &len) };
	rest = m->text;
	while (rest && (line = strsep(&rest, "\n"))) {
		m->v = xreallocarray(m->v, m->n + 1, sizeof(*m->v));
		m->n += read_line(line, &m->v[m->n]);
	}
	return m->text ? 0 : -1;
}

void mountinfo_clear(struct mountinfo *m)
{
	free(m->v);
	free(m->text);
	*m = (struct mountinfo){ .n = 0 };
}
