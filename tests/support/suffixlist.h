/*
 * suffixlist.h - the public suffix list of this machine, for tests
 */
#ifndef TESTS_SUPPORT_SUFFIXLIST_H
#define TESTS_SUPPORT_SUFFIXLIST_H

#include <stdio.h>

#include "policy/suffix.h"

#define SUFFIXLIST_PATH "/usr/share/publicsuffix/public_suffix_list.dafsa"

static struct suffixes *suffixlist;

/** suffixlist_setup() - read it into list; fails if the package publicsuffix is missing. */
static inline int suffixlist_setup(void **state)
{
	static char bytes[SUFFIX_BYTES_MAX];
	FILE *f = fopen(SUFFIXLIST_PATH, "re");
	size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;

	if (f)
		(void)fclose(f);
	(void)state;
	suffixlist = suffixes_new(bytes, n);
	return suffixlist ? 0 : -1;
}

/** suffixlist_teardown() - free it. */
static inline int suffixlist_teardown(void **state)
{
	(void)state;
	suffixes_free(suffixlist);
	return 0;
}

#endif
