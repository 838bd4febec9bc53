/*
 * reload.h - notice that the policy should be read again: SIGHUP, or a settings file has changed
 */
#ifndef CLI_RELOAD_H
#define CLI_RELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct event_base;
struct reload;

/** typedef reload_cb - something has changed; called from the loop, once for a burst of changes */
typedef void reload_cb(void *arg);

/**
 * reload_new() - watch files
 * @paths, @n: files to watch, which need not exist yet
 * @since: reload_now() before the files were read: what has changed after that, before the watch
 *         stood, is read again at once
 *
 * Return: to be freed by reload_free().
 */
struct reload *reload_new(struct event_base *base, const char *const *paths, size_t n,
			  const struct timespec *since, reload_cb *cb, void *arg);

/** reload_now() - the clock by which files are stamped. */
struct timespec reload_now(void);

/** reload_soon() - as if a file had changed; what is due stays due, however many changes come. */
void reload_soon(struct reload *r);

/**
 * reload_again() - what was called for has failed: it stays due, and is called for at the next look
 *
 * The cause may lie in something else than the files: a lack of descriptors or memory.
 */
void reload_again(struct reload *r);

/** reload_is_retry() - whether the call under way comes from reload_again() alone: nothing has changed. */
bool reload_is_retry(const struct reload *r);

/** reload_is_due() - looks at the files now; whether the callback will be called soon. */
bool reload_is_due(struct reload *r);

/** reload_free() - NULL is allowed. */
void reload_free(struct reload *r);

#endif
