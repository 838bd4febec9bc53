/*
 * hostsfile.h - /etc/hosts, read strictly and again when it changes
 *
 * A line is an address and names, separated by blanks; '#' begins a comment. An address with a
 * zone, an old-style one ("127.1") or a name that is not canonical after lower-casing is skipped,
 * never guessed at.
 */
#ifndef DNS_HOSTSFILE_H
#define DNS_HOSTSFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "base/error.h"
#include "policy/hostname.h"

#define HOSTSFILE_SIZE_MAX    (32u << 20) /* bytes; block lists of half a million names fit */
#define HOSTSFILE_ENTRIES_MAX (1u << 20)  /* name and address pairs; more is an error */

struct hostsfile;

/**
 * hostsfile_open() - read a hosts file
 * @path: copied. A file that does not exist is an empty one; it may appear later.
 *
 * Return: NULL with @err if it cannot be read or is too large. Close with hostsfile_close().
 */
struct hostsfile *hostsfile_open(const char *path, struct error *err);

/** hostsfile_parse() - the same from text that no file backs. NULL with @err if it is too large. */
struct hostsfile *hostsfile_parse(const char *text, size_t len, struct error *err);

/** hostsfile_close() - NULL is allowed. */
void hostsfile_close(struct hostsfile *h);

/**
 * hostsfile_refresh() - read the file again if its identity, size or time have changed
 *
 * If it cannot be read then, or is too large, what was known stays and a warning is logged.
 */
void hostsfile_refresh(struct hostsfile *h);

/**
 * hostsfile_lookup() - the addresses of a name in file order, each once
 * @out: receives at most @max addresses
 *
 * Return: how many; 0 if the file does not name it.
 */
size_t hostsfile_lookup(const struct hostsfile *h, const struct hostname *name, struct addr *out,
			size_t max);

/**
 * hostsfile_names() - the names of an address in file order, a name as often as it is there
 * @out: receives at most @max names
 *
 * Return: how many; @max + 1 when there are more.
 */
size_t hostsfile_names(const struct hostsfile *h, const struct addr *a, struct hostname *out,
		       size_t max);

/** hostsfile_count() - how many name and address pairs are held. */
size_t hostsfile_count(const struct hostsfile *h);

#endif
