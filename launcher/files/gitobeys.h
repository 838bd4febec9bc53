/*
 * gitobeys.h - what git runs or follows in a working tree, beside the fixed names of protect.c
 *
 * Git directories of submodules and linked worktrees, and paths that configuration files and hooks
 * lead to. Found before the run, when all of it may be the work of an earlier run.
 */
#ifndef LAUNCHER_FILES_GITOBEYS_H
#define LAUNCHER_FILES_GITOBEYS_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct gitobeys_dir - a git directory
 * @path: absolute, by no symbolic link below the working tree
 * @tree: the working tree whose .git leads there, as it is spelt; or NULL
 * @linked: of a linked worktree, whose hooks and configuration are the main one's
 */
struct gitobeys_dir {
	char *path, *tree;
	bool linked;
};

/**
 * struct gitobeys_path - something that git runs or reads
 * @path: absolute, as it is spelt
 * @file: git takes it for a file, should it be missing; else for a directory
 */
struct gitobeys_path {
	char *path;
	bool file;
};

/**
 * struct gitobeys - what was found
 * @dirs, @ndirs: not the working tree's own .git
 * @paths, @npaths: absolute, as they are spelt; they may be links, or lead through some
 * @unread: what could not be read, or NULL; what it names is missing here
 * @unread_code: the errno of that; EBADMSG of a configuration that is not understood, E2BIG of a directory
 *               in which, or below which, there is too much
 */
struct gitobeys {
	struct gitobeys_dir *dirs;
	size_t ndirs;
	struct gitobeys_path *paths;
	size_t npaths;
	char *unread;
	int unread_code;
};

/**
 * struct gitobeys_scope - where a command can write, and who the user is
 * @roots, @nroots: canonical paths
 * @homes, @nhomes: home directories, for the user's own configuration and "~/"
 */
struct gitobeys_scope {
	const char *const *roots;
	size_t nroots;
	char *const *homes;
	size_t nhomes;
};

/**
 * gitobeys_find() - look through a working tree's repository, and those around it
 * @root: canonical path of the working tree, or of a bare repository
 */
void gitobeys_find(const char *root, const struct gitobeys_scope *scope, struct gitobeys *out);

/**
 * gitobeys_link() - where a small file leads, such as a linked working tree's ".git"
 * @prefix: what its first line begins with ("gitdir: "), or ""
 *
 * Return: the rest of that line as an absolute path, which the caller frees; NULL if there is none.
 */
char *gitobeys_link(const char *dir, const char *name, const char *prefix);

/** gitobeys_clear() - free. */
void gitobeys_clear(struct gitobeys *g);

#endif
