/*
 * hired.h - programs that sbx-net itself runs, outside of the sandbox
 *
 * The program of --ask exec: and the tools of --allow-from. Which file that is is found out once, at the
 * start, by entries of PATH in which no command of a run may have written (untouched.h); it is run by that
 * path, in the root directory, and with an environment that leads to no such place (hiredenv.h), so that
 * what it looks up is none of a command's, either.
 */
#ifndef CLI_HIRED_H
#define CLI_HIRED_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "cli/untouched.h"

/**
 * struct hired - a program that was found; hired_clear()
 * @path: the file: the directory canonical, the last component as it was looked for, by which many a program
 *        knows what it is to be
 * @words: what is executed, NULL-terminated: that path, or an interpreter, what it is to be told, and the path
 * @env: its environment
 * @exposed: the command may write where it lies, so it must be locked, and is looked at again before it runs
 * @seen: what it was when it was found
 */
struct hired {
	char *path;
	char **words;
	char **env;
	bool exposed;
	struct stat seen;
};

/**
 * hired_tool() - find a program in PATH
 * @name: without a slash
 *
 * Return: 0; -1 with @err, which says why a file that PATH leads to is none that may be run.
 */
int hired_tool(const struct untouched *u, const char *name, struct hired *out, struct error *err);

/**
 * hired_named() - the same for what the user has named: in PATH, or by a path
 * @name: with a slash it is a path, relative to the current directory
 *
 * What is named by its path may lie where the command may write: @exposed. Then its interpreter must be one
 * that loads nothing from beside it: a shell, or Python, which is told so.
 */
int hired_named(const struct untouched *u, const char *name, struct hired *out, struct error *err);

/**
 * hired_exec() - become it, in a child; says why it could not
 * @words: what follows, NULL-terminated
 */
void hired_exec(const struct hired *h, const char *const *words) __attribute__((noreturn));

/** hired_clear() - release; fine on an empty one. */
void hired_clear(struct hired *h);

#endif
