/*
 * env.c - `sbx-net env`: the variables that the command would get
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/selfpath.h"
#include "launcher/childenv.h"
#include "launcher/launcher.h"
#include "netns/netns.h"

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A value of several lines or with control bytes is shown escaped, a line a variable. */
static void print_all(char **env)
{
	static char text[128 * 1024];
	size_t n = 0;

	while (env[n])
		n++;
	qsort(env, n, sizeof(*env), by_text);
	for (size_t i = 0; i < n; i++)
		printf("%s\n", log_escape(text, sizeof(text), env[i], strlen(env[i])));
}

static int show(const struct run_options *o)
{
	CLEANUP_FREE char *self = selfpath();
	CLEANUP_FREE char *cwd = realpath(".", NULL);
	const char *const writable[] = { LAUNCHER_TMPDIR, cwd ? cwd : LAUNCHER_TMPDIR };
	const struct childenv_plan plan = {
		.self = self,
		.parent = environ,
		.wanted = o->env.v,
		.nwanted = o->env.n,
		.tmpdir = LAUNCHER_TMPDIR,
		.writable = writable,
		.nwritable = ARRAY_SIZE(writable),
		.proxy_port = NETNS_PROXY_PORT,
		.capture = !o->no_capture,
	};
	CLEANUP_FREE char *left_out = NULL;
	struct error err;
	char **env;

	if (o->ncommand != 0) {
		fprintf(stderr, "sbx-net: usage: sbx-net env [OPTION]...\n");
		return OPTIONS_EXIT_USAGE;
	}
	env = childenv_build(&plan, &err);
	if (!env) {
		fprintf(stderr, "sbx-net: %s\n", err.msg);
		return LAUNCHER_EXIT_SETUP;
	}
	print_all(env);
	left_out = childenv_left_out(environ, env);
	if (left_out)
		fprintf(stderr, "sbx-net: not passed: %s; --env NAME passes one\n", left_out);
	childenv_free(env);
	return 0;
}

int env_main(int argc, char **argv)
{
	return command_plain("env", show, argc, argv);
}
