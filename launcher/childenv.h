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
 * @drop, @ndrop: names that never pass, whoever asks for them (credentials.envVars)
 * @tmpdir: value of TMPDIR, or NULL
 * @writable, @nwritable: directories that the command may write: caches below them stay where they
 *                        are, others are led below @tmpdir; NULL is everywhere
 * @proxy_port: where the proxy listens inside
 * @keep: pass everything but what is ours to say: the sandbox is somebody else's, and so is the
 *        choice of variables
 * @capture: whether captured connections work too
 * @git_locked: the command has a repository whose configuration it cannot write
 * @self: path of our own binary for ssh's ProxyCommand (used where capture is off), or NULL
 */
struct childenv_plan {
	char *const *parent;
	const char *const *wanted;
	size_t nwanted;
	const char *const *drop;
	size_t ndrop;
	const char *tmpdir;
	const char *const *writable;
	size_t nwritable;
	uint16_t proxy_port;
	bool keep;
	bool capture;
	bool git_locked;
	const char *self;
};

/**
 * childenv_build() - the environment for the command
 *
 * Which names pass, and why, stands in the tables of childenv.c. Each name occurs once.
 *
 * Return: a NULL-terminated array, to be freed by childenv_free(); NULL with @err when a --env
 * value is malformed or sets a proxy variable, which is ours.
 */
char **childenv_build(const struct childenv_plan *plan, struct error *err);

/**
 * childenv_left_out() - the names that the caller had and the command does not get
 * @parent: the caller's environment
 * @env: the command's
 *
 * Proxy variables are not among them, which are ours, nor what each shell sets for itself.
 *
 * Return: the names with spaces between, to be freed; NULL if there is none.
 */
char *childenv_left_out(char *const *parent, char **env);

/** childenv_free() - NULL is allowed. */
void childenv_free(char **env);

#endif
