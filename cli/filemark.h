/*
 * filemark.h - whether the files that a policy is read from are still the ones that were locked
 *
 * A policy file that lies where the command may write is locked inside for the run. When somebody
 * outside puts another file in its place, the lock goes with the old one (the kernel removes a
 * mount whose file is renamed over), and the command could write the new one: such a file must not
 * be read again in this run.
 */
#ifndef CLI_FILEMARK_H
#define CLI_FILEMARK_H

#include <stddef.h>

#include "base/error.h"

struct filemark;

/**
 * filemark_new() - remember the files that lie beneath a writable root
 * @files, @n: the policy's files, present or not
 * @roots, @nroots: where the command may write
 *
 * Return: to be freed by filemark_free().
 */
struct filemark *filemark_new(const char *const *files, size_t n, const char *const *roots,
			      size_t nroots);

/** filemark_check() - 0 if all are what they were; -1 with @err naming the first that is not. */
int filemark_check(const struct filemark *m, struct error *err);

/** filemark_free() - NULL is allowed. */
void filemark_free(struct filemark *m);

#endif
