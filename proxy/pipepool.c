#include "proxy/pipepool.h"

#include <fcntl.h>
#include <unistd.h>

void pipepool_drop(struct pipepool *p, struct pipe *pipe)
{
	if (pipe->rd < 0)
		return;
	if (pipe->size >= PIPE_SIZE)
		p->big--;
	p->made--;
	(void)close(pipe->rd);
	(void)close(pipe->wr);
	*pipe = PIPE_NONE;
}

void pipepool_clear(struct pipepool *p)
{
	while (p->n > 0)
		pipepool_drop(p, &p->v[--p->n]);
}

/*
 * Only the first few are large: a user who may have 64 MiB of pipes in all would spend it on 64
 * of them, and from then on pipe2() gives 8 KiB.
 */
static bool make(struct pipepool *p, struct pipe *out)
{
	int fd[2];
	int size;

	if (p->made >= (p->max ? p->max : PIPES_MAX) || pipe2(fd, O_NONBLOCK | O_CLOEXEC) < 0)
		return false;
	if (p->big >= PIPE_BIG_MAX || fcntl(fd[1], F_SETPIPE_SZ, PIPE_SIZE) < 0)
		size = fcntl(fd[1], F_GETPIPE_SZ);
	else
		size = PIPE_SIZE;
	*out = (struct pipe){ .rd = fd[0], .wr = fd[1], .size = size < 0 ? 0 : (uint32_t)size };
	p->made++;
	if (out->size >= PIPE_SIZE)
		p->big++;
	if (out->size >= PIPE_SIZE_MIN)
		return true;
	pipepool_drop(p, out);
	return false;
}

bool pipepool_get(struct pipepool *p, struct pipe *out)
{
	if (p->n == 0)
		return make(p, out);
	*out = p->v[--p->n];
	return true;
}

void pipepool_put(struct pipepool *p, struct pipe *pipe)
{
	if (pipe->rd < 0)
		return;
	if (p->n == PIPE_POOL_MAX) {
		pipepool_drop(p, pipe);
		return;
	}
	p->v[p->n++] = *pipe;
	*pipe = PIPE_NONE;
}
