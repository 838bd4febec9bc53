/*
 * hiredenv.h - the environment of what sbx-net itself runs (hired.h)
 *
 * The user's, without what leads to where a command of a run may have written, and without what a project's
 * npm has set by itself. Theory of operation stands in hiredenv.c.
 */
#ifndef CLI_HIREDENV_H
#define CLI_HIREDENV_H

#include <stdbool.h>

#include "cli/untouched.h"

/** hiredenv_given_path() - PATH as we were given it, or what stands for none. */
const char *hiredenv_given_path(void);

/** hiredenv_path() - the same without entries of others and of a command; the caller frees. */
char *hiredenv_path(const struct untouched *u);

/**
 * hiredenv_new() - NULL-terminated; the caller frees the array and its strings
 * @settings: what is read from the home directory counts: where a command may have written there, HOME is
 *            another one
 */
char **hiredenv_new(const struct untouched *u, bool settings);

#endif
