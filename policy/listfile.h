/*
 * listfile.h - plain text lists of domains for --allow-list and --deny-list
 *
 * One entry a line (pattern.h); "#" begins a comment, blank lines are skipped; LF or CRLF; a
 * UTF-8 byte order mark at the start is skipped. A line that begins with an address and goes on
 * with names is a line of a hosts file ("0.0.0.0 ads.example"): its names are the entries, and
 * names of the machine itself (localhost, broadcasthost, ip6-...) are skipped.
 */
#ifndef POLICY_LISTFILE_H
#define POLICY_LISTFILE_H

#include <stddef.h>

#include "base/error.h"
#include "policy/policy.h"

#define LISTFILE_SIZE_MAX (256u << 20) /* bytes */
#define LISTFILE_LINE_MAX 1024	       /* bytes, without comment */
#define LISTFILE_BLOCK	  (256u << 10) /* bytes read at once; the longest line with its comment */

/**
 * listfile_parse() - add the entries of a text to a list
 * @p: the policy
 * @list: which list
 * @text: the text; it need not be terminated
 * @len: its length
 * @file: its name, for messages and decisions
 *
 * Return: 0, or -1 with @err "FILE:LINE: ..."; entries before that line have been added then, and
 * the policy must not be used.
 */
int listfile_parse(struct policy *p, enum list list, const char *text, size_t len, const char *file,
		   struct error *err);

/**
 * listfile_read() - the same for an open descriptor, which stays open
 *
 * A directory, a file above LISTFILE_SIZE_MAX and one that cannot be read are errors.
 */
int listfile_read(struct policy *p, enum list list, int fd, const char *file, struct error *err);

/** listfile_load() - the same for a path. */
int listfile_load(struct policy *p, enum list list, const char *path, struct error *err);

#endif
