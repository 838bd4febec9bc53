/*
 * gitconfig.h - git's configuration files, as far as it takes to see what they lead to
 */
#ifndef LAUNCHER_FILES_GITCONFIG_H
#define LAUNCHER_FILES_GITCONFIG_H

#include <stddef.h>

/**
 * typedef gitconfig_use - takes one variable
 * @section: without the subsection, as it is spelt
 * @key: as it is spelt; both are compared without regard to case
 * @value: unquoted; "true" of a switch that has none
 */
typedef void gitconfig_use(void *arg, const char *section, const char *key, const char *value);

/**
 * gitconfig_parse() - every variable of a configuration file (git-config(1), "Syntax")
 * @text, @n: its contents, and a zero byte behind them; changed on the way
 *
 * Lines that are not understood are left out: git itself refuses such a file.
 */
void gitconfig_parse(char *text, size_t n, gitconfig_use *use, void *arg);

#endif
