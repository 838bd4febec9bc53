/*
 * reload.h - notice that the policy should be read again, since a file that it came from has changed
 */
#ifndef CLI_RELOAD_H
#define CLI_RELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/error.h"

struct event_base;
struct reload;

/** typedef reload_cb - something has changed; called from the loop, once for a burst of changes */
typedef void reload_cb(void *arg);

/**
 * reload_new() - watch files
 * @paths, @n: files to watch, which need not exist yet
 * @fds: NULL, or for each of them -1 or a descriptor that stays open: then that file is watched,
 *       and of the name only whether it leads there
 * @since: reload_now() before the files were read: what has changed after that, before the watch
 *         stood, is read again at once
 *
 * Return: to be freed by reload_free().
 */
struct reload *reload_new(struct event_base *base, const char *const *paths, const int *fds,
			  size_t n, const struct timespec *since, reload_cb *cb, void *arg);

/** reload_now() - the clock by which files are stamped. */
struct timespec reload_now(void);

/** reload_soon() - as if a file had changed; what is due stays due, however many changes come. */
void reload_soon(struct reload *r);

/** reload_later() - as if a file changed in @ms milliseconds; 0: not any more. */
void reload_later(struct reload *r, unsigned ms);

/**
 * reload_tell() - how the call that is under way has ended; says what is wrong, once
 * @rc: 0: well. 1: in part, a file could not be read. -1: not at all
 * @err: what was wrong
 * @also: what else follows from that, behind a semicolon; or ""
 * @said: what was wrong the last time, for the caller to keep; at first an empty message
 *
 * What has not ended well and may do so by itself, for want of descriptors or memory, say, stays due
 * and is called for at the next look. The rest is called for when something changes; that a name
 * cannot be followed is no change, but that it can again is one where a file could not be read.
 */
void reload_tell(struct reload *r, int rc, const struct error *err, const char *also,
		 struct error *said);

/** reload_is_retry() - whether the call under way comes from reload_tell() alone: nothing has changed. */
bool reload_is_retry(const struct reload *r);

/** reload_is_due() - looks at the files now; whether the callback will be called soon. */
bool reload_is_due(struct reload *r);

/** reload_free() - NULL is allowed. */
void reload_free(struct reload *r);

#endif
