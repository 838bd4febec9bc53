/*
 * reread.h - a reading of the policy's files while the command runs
 *
 * No file holds another one up: one that cannot be read, or is broken, keeps what it said, and the
 * others are read. What comes of that may only tighten (policy_bound()): where half of a change has
 * arrived, nothing is open that was not before. A file that lies where the command may write is
 * read by the descriptor of its lock (filemark.h), so that neither a permission taken from a
 * directory above nor another file by its name makes a difference.
 */
#ifndef CLI_REREAD_H
#define CLI_REREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "cli/filemark.h"
#include "cli/liststamp.h"
#include "policy/policy.h"

struct rules;

/**
 * struct reread - one such reading; release with reread_clear()
 * @before: what is in force
 * @marks: of the files that lie where the command may write, or NULL
 * @kept: files that keep what they said
 * @failed: the file with which the attempt failed, or NULL
 * @stamps: of the list files that this attempt has read
 * @moved: whether a name did not lead to the file that was read: @why says which
 *
 * Functions below take NULL for the first reading, before the command runs.
 */
struct reread {
	const struct rules *before;
	const struct filemark *marks;
	char **kept;
	size_t nkept;
	char *failed;
	bool moved;
	struct error why;
	struct liststamps stamps;
};

/** reread_open() - as fd_open_regular(); ENOENT too for what was not there when the run began. */
int reread_open(struct reread *r, const char *path, struct error *err);

/** reread_note() - @fd is a list file, about to be read: see liststamp.h. */
void reread_note(struct reread *r, const char *path, int fd);

/** reread_list() - put the entries of a list file on @p. Return: as listfile_load(). */
int reread_list(struct reread *r, struct policy *p, enum list list, const char *path,
		struct error *err);

/** reread_keeps() - whether @path is not to be read, but to say what it said. */
bool reread_keeps(const struct reread *r, const char *path);

/** reread_failed() - the attempt fails because of @path. Return: always -1. */
int reread_failed(struct reread *r, const char *path);

/**
 * reread_keep_failed() - the next attempt keeps what the file said with which this one failed
 * @err: of the attempt; the first of them all is remembered as @r->why
 *
 * Return: false if it was no file's fault, or that file was kept already: there is no next attempt.
 */
bool reread_keep_failed(struct reread *r, const struct error *err);

/** reread_clear() - what it owns; not @before and @marks. */
void reread_clear(struct reread *r);

#endif
