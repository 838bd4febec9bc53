/*
 * childenv.h - the command's environment: an allow-list, and the proxy variables
 */
#ifndef LAUNCHER_CHILDENV_H
#define LAUNCHER_CHILDENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/**
 * struct childenv_plan - what to pass
 * @parent: the caller's environment, NULL-terminated
 * @wanted: --env values: NAME, NAME=VALUE, or a pattern with one final '*'
 * @nwanted: how many
 * @tmpdir: value of TMPDIR, or NULL
 * @proxy_port: where the proxy listens inside
 * @capture: whether captured connections work too
 */
struct childenv_plan {
	char *const *parent;
	const char *const *wanted;
	size_t nwanted;
	const char *tmpdir;
	uint16_t proxy_port;
	bool capture;
};

/**
 * childenv_build() - the environment for the command
 *
 * Return: a NULL-terminated array, to be freed by childenv_free(); NULL with @err when a --env
 * value is malformed.
 */
char **childenv_build(const struct childenv_plan *plan, struct error *err);

/** childenv_free() - NULL is allowed. */
void childenv_free(char **env);

#endif
