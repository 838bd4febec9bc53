/*
 * cleanup.h - scope owns: descriptors and memory that leave with the block
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/** cleanup_close() - close *fd if it is one; errno is kept. */
static inline void cleanup_close(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	errno = saved;
}

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		(void)fclose(*f);
}

/* A descriptor, a pointer, a stdio stream that its scope releases. */
#define CLEANUP_CLOSE  __attribute__((cleanup(cleanup_close)))
#define CLEANUP_FREE   __attribute__((cleanup(cleanup_free)))
#define CLEANUP_FCLOSE __attribute__((cleanup(cleanup_fclose)))

/*
 * Every automatic variable is set to zero (-ftrivial-auto-var-init), but for a buffer of kilobytes
 * on a path that each connection takes, which is written before it is read.
 */
#if defined(__has_attribute) && __has_attribute(uninitialized)
#define UNINITIALIZED __attribute__((uninitialized))
#else
#define UNINITIALIZED
#endif

/** take_fd() - ownership leaves the scope: returns *fd and leaves -1 behind. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/** take_ptr() - ownership leaves the scope: yields the pointer and leaves NULL behind. */
#define take_ptr(p)                         \
	({                                  \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})

#endif
