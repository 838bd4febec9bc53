/*
 * gittree.h - where the working tree of a git directory is
 */
#ifndef LAUNCHER_FILES_GITTREE_H
#define LAUNCHER_FILES_GITTREE_H

#include "launcher/files/gitconfig.h"
#include "launcher/files/gitvisit.h"

/**
 * gittree_read() - a file in a git directory, or ".git"
 *
 * Return: the text, which the caller frees; NULL if there is none, if it is too large for what it is, or if
 * the walk has read enough.
 */
char *gittree_read(const struct gitvisit *v, int dir, const char *name);

/**
 * gittree_config() - the variables of a configuration file in a git directory
 *
 * A missing one has none. Return: GITCONFIG_BAD also if it cannot be read whole, or the walk has read enough.
 */
enum gitconfig gittree_config(const struct gitvisit *v, int dir, const char *name,
			      gitconfig_use *use, void *arg) __attribute__((warn_unused_result));

/**
 * gittree_follow() - open a directory that a file of the command's own names
 * @dir: what a relative name is relative to
 *
 * Nobody outside is asked for it: by no link, and no name of an automounter's. Return: O_PATH, owned by the
 * caller; -1 with errno.
 */
int gittree_follow(const struct gitvisit *v, int dir, const char *where);

/**
 * gittree_identify() - the same, and what it is, or what is in the way
 * @id: receives it: the errno, and the device and the number of the directory or of the first link
 */
int gittree_identify(const struct gitvisit *v, int dir, const char *where, uint64_t id[static 4]);

/**
 * gittree_open() - the working tree of a git directory, wherever git takes it from
 * @at: the path of a file in @dir
 *
 * Return: O_PATH, owned by the caller; -1 if it is not known, also if it is not what was there at the start:
 * the command may have moved the working tree, and put another in its place. Nothing is known then of what
 * git finds there.
 */
int gittree_open(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *at);

/** gittree_learn() - take what @dir, which is new and has been judged, says for what was there at the start. */
void gittree_learn(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *at);

/** gittree_common() - the git directory whose configuration counts for @dir, or it itself. -1 if unknown. */
int gittree_common(const struct gitvisit *v, int dir);

/** gittree_led() - the git directory that the .git in a working tree leads to, or is. -1 with errno. */
int gittree_led(const struct gitvisit *v, int tree);

#endif
