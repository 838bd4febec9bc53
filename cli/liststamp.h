/*
 * liststamp.h - whether a list file has been left alone since it was last found changed
 *
 * Each beginning of a list is a list, so that one which is being written anew (curl -o, a slow cp)
 * cannot be told from one that was made shorter: denials would be lifted, and a name that is cut in its
 * midst allowed. What such a file says may tighten at once, and opens something only when it has not
 * changed for a while.
 */
#ifndef CLI_LISTSTAMP_H
#define CLI_LISTSTAMP_H

#include <stddef.h>
#include <stdint.h>

#define LISTSTAMP_REST_MS  2000	       /* longer than any pause of who writes it, one hopes */
#define LISTSTAMP_ENDED_MS (10 * 1000) /* the same where the last line has no end */

struct liststamp;

/** struct liststamps - the list files of one reading; all zero is none */
struct liststamps {
	struct liststamp *v;
	size_t n;
};

/**
 * liststamps_note() - what a list file is now
 * @before: those of the last reading: what is as it was there has not changed since
 * @fd: the file, before it is read
 * @now: clock_ms()
 */
void liststamps_note(struct liststamps *l, const struct liststamps *before, const char *path,
		     int fd, uint64_t now);

/** liststamps_rest_ms() - how long until all have been left alone long enough; 0: they have. */
unsigned liststamps_rest_ms(const struct liststamps *l, uint64_t now);

/** liststamps_clear() - and it is empty again. */
void liststamps_clear(struct liststamps *l);

#endif
