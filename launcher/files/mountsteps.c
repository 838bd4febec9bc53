#include "launcher/files/mountsteps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/xalloc.h"

int mountplan_look(int fd, struct mountplan_step *out)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st) < 0)
		return -1;
	out->dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	out->ino = st.stx_ino;
	out->mode = st.stx_mode;
	out->apart = st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	return 0;
}

int mountplan_add(struct mountplan *p, struct mountplan_step step, int *fd, struct error *err)
{
	step.path = fd_path(*fd);
	if (!step.path)
		return error_set(err, errno, "cannot tell where a path leads (is /proc mounted?)");
	if (mountplan_look(*fd, &step) < 0) {
		int code = errno;
		CLEANUP_FREE char *path = take_ptr(step.path);

		return error_set(err, code,
				 "cannot look at %s; if its file server is gone, unmount it "
				 "(umount -l, fusermount -u)",
				 path);
	}
	step.fd = take_fd(fd);
	step.tree = -1;
	p->v = xreallocarray(p->v, p->n + 1, sizeof(*p->v));
	p->v[p->n++] = step;
	return 0;
}

void mountplan_add_later(struct mountplan *p, struct mountplan_step step, const char *path)
{
	step.path = xstrdup(path);
	step.fd = -1;
	step.tree = -1;
	p->v = xreallocarray(p->v, p->n + 1, sizeof(*p->v));
	p->v[p->n++] = step;
}

struct mountplan_step *mountplan_above(const struct mountplan *p, size_t i)
{
	for (size_t k = i; k-- > 0;) {
		struct mountplan_step *s = &p->v[k];

		if (s->mounted && path_beneath(p->v[i].path, s->path))
			return s;
	}
	return NULL;
}

const char *mountplan_below(const struct mountplan_step *s, const struct mountplan_step *above)
{
	return path_below(s->path, above->path);
}

bool mountplan_in_proc(const char *path)
{
	return path_beneath(path, "/proc");
}
