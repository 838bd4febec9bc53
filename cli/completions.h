/*
 * completions.h - completion scripts for shells, from the tables of commands and options
 */
#ifndef CLI_COMPLETIONS_H
#define CLI_COMPLETIONS_H

#include <stdio.h>

/**
 * completions_print() - the script for one shell
 * @shell: "bash", "zsh" or "fish"
 *
 * Return: 0, or -1 if the shell is not known.
 */
int completions_print(FILE *out, const char *shell);

#endif
