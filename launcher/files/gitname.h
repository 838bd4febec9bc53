/*
 * gitname.h - every name in a git directory that is known to be data, and of what form
 */
#ifndef LAUNCHER_FILES_GITNAME_H
#define LAUNCHER_FILES_GITNAME_H

#include <stdbool.h>

#include "launcher/files/gitgrammar.h"

/** enum gitname_place - what a directory is to git */
enum gitname_place {
	GITNAME_GIT,	   /* a git directory */
	GITNAME_LINKED,	   /* one of a linked worktree */
	GITNAME_MODULES,   /* where those of submodules are, however deep */
	GITNAME_WORKTREES, /* where those of linked worktrees are */
	GITNAME_OBJECTS,
	GITNAME_OBJECT_INFO, /* objects/info */
	GITNAME_INFO,
	GITNAME_REF_KINDS, /* refs, */
	GITNAME_REFS,	   /* what is in it, however deep, */
	GITNAME_REPLACED,  /* and names of replaced objects */
	GITNAME_LOGS,	   /* and what is in it, however deep */
	GITNAME_REBASE,	   /* rebase-merge, */
	GITNAME_APPLY,	   /* rebase-apply */
	GITNAME_SEQUENCER,
	GITNAME_RERERE,	    /* rr-cache, */
	GITNAME_RESOLUTION, /* and a conflict in it */
	GITNAME_SVN,	    /* of git-svn, */
	GITNAME_SVN_REFS,   /* of its branches */
	GITNAME_LFS,
	GITNAME_ANNEX,
	GITNAME_DATA,	 /* where all is data, however deep */
	GITNAME_STRANGE, /* where nothing is known, however deep */
};

/** enum gitname_how - what is known of a name */
enum gitname_how {
	GITNAME_UNKNOWN,
	GITNAME_IS_DATA, /* or looked at elsewhere (gitstate.c, indexstate.c, protect.c) */
	GITNAME_IS_TEXT, /* data if it is of a form */
	GITNAME_IS_TOLD, /* data by which git shows less of what the command has done: told if it is new */
	GITNAME_IS_AWAY, /* where things are put away: nobody reads it */
};

/**
 * struct gitname - what a name stands for
 * @form: of GITNAME_IS_TEXT; of GITNAME_IS_TOLD, what need not be told
 * @place: of a directory
 */
struct gitname {
	enum gitname_how how;
	gitgrammar *form;
	enum gitname_place place;
};

/** gitname_of_file() - what a regular file is. */
struct gitname gitname_of_file(enum gitname_place place, const char *name);

/** gitname_of_dir() - what a directory is; in GITNAME_MODULES ask gitmodule.c. */
struct gitname gitname_of_dir(enum gitname_place place, const char *name);

#endif
