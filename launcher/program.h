/*
 * program.h - find the program that argv[0] names, as a shell would
 */
#ifndef LAUNCHER_PROGRAM_H
#define LAUNCHER_PROGRAM_H

#include "base/error.h"

/**
 * program_find() - the path to execute
 * @name: argv[0]; with a slash it is a path itself, else PATH of @envp is searched
 * @envp: the command's environment
 * @path: receives the path, which the caller frees
 *
 * Return: 0; else 126 (there, but not executable), 127 (not there) or 125 (the surroundings refuse
 * to tell) with @err.
 */
int program_find(const char *name, char *const *envp, char **path, struct error *err);

/**
 * program_exit_code() - what a shell returns when execve(2) has failed with this errno
 *
 * 125 where the call is missing as a whole: that says nothing of the program.
 */
int program_exit_code(int code);

#endif
