/*
 * confine.h - what the options and settings say about files, as the launcher wants it
 */
#ifndef CLI_CONFINE_H
#define CLI_CONFINE_H

#include <stddef.h>

#include "base/error.h"
#include "cli/options.h"
#include "launcher/launcher.h"

struct layers;

/**
 * struct confine - the arrays and strings behind a plan; zeroed, then confine_clear()
 * @ids: what the lists of grants must lead to
 * @cwd: the same of the working directory
 * @fds: those, and the working directory, as they were judged; held for as long as they are named
 */
struct confine {
	char **strings;
	size_t nstrings;
	const char **lists[8];
	size_t nlists;
	struct file_id *ids[3];
	size_t nids;
	struct file_id cwd;
	int *fds;
	size_t nfds;
};

/**
 * confine_plan() - fill in the file part of a launcher's plan
 * @files, @nfiles: what a reload of the policy reads: the command may not write it
 * @out: @out->cwd is set already, and perhaps @out->private_paths; its lists point into @c
 *
 * Paths of the command line are relative to where we were started, "~/" is the home directory.
 * A workspace that would hand over too much is refused. Makes the audit log, if there is none, so
 * that it can be kept from the command. Return: 0, or -1 with @err.
 */
int confine_plan(struct confine *c, const struct run_options *o, struct layers *layers,
		 const char *const *files, size_t nfiles, struct launcher_plan *out,
		 struct error *err);

/** confine_absolute() - a path of the command line; NULL with @err if the current directory is gone. */
char *confine_absolute(const char *path, struct error *err);

/** confine_mode() - --fs, unless a settings file switches the confinement of files off. */
enum fs_mode confine_mode(const struct run_options *o, const struct layers *layers);

/** confine_clear() - the plan's lists are gone with it. */
void confine_clear(struct confine *c);

#endif
