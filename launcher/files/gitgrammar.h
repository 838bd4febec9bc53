/*
 * gitgrammar.h - what a file in a git directory must look like to be data, and nothing else
 *
 * All take a text that may hold any bytes. Whoever passes one of these says nothing to git, a prompt or a
 * tool that it would run, or take for an option or for a path out of the repository.
 */
#ifndef LAUNCHER_FILES_GITGRAMMAR_H
#define LAUNCHER_FILES_GITGRAMMAR_H

#include <stdbool.h>
#include <stddef.h>

/**
 * typedef gitgrammar - whether a text is data
 * @at: the path of the file within its git directory
 */
typedef bool gitgrammar(const char *text, size_t n, const char *at);

/**
 * gitgrammar_is_control() - whether a text begins with a control character
 * @n: at least 1
 *
 * One of ASCII's, or in UTF-8 one of those that a terminal takes for an escape and a letter (C1).
 */
bool gitgrammar_is_control(const char *p, size_t n);

/** gitgrammar_is_component() - whether a name may be one of a reference's (git-check-ref-format(1)). */
bool gitgrammar_is_component(const char *name, size_t n);

/** gitgrammar_is_refname() - whether each part of it may be. */
bool gitgrammar_is_refname(const char *text, size_t n);

gitgrammar gitgrammar_objects;	    /* names of objects in hexadecimal, and blanks */
gitgrammar gitgrammar_number;	    /* digits and blanks */
gitgrammar gitgrammar_word;	    /* letters, digits and - _ = . in one line */
gitgrammar gitgrammar_text;	    /* lines without control characters */
gitgrammar gitgrammar_head;	    /* HEAD: a commit, or "ref: refs/..." */
gitgrammar gitgrammar_ref;	    /* a commit, or a reference of the same kind */
gitgrammar gitgrammar_packed_refs;  /* each with its object */
gitgrammar gitgrammar_fetch_head;   /* what git fetch has got */
gitgrammar gitgrammar_revisions;    /* a name or an object in each line, and no option */
gitgrammar gitgrammar_branch;	    /* head-name: the branch that a rebase is about, or none */
gitgrammar gitgrammar_refs;	    /* names of references and of objects, one a line */
gitgrammar gitgrammar_author;	    /* author-script: three quoted values */
gitgrammar gitgrammar_sign;	    /* gpg_sign_opt: -S with the name of a key */
gitgrammar gitgrammar_todo;	    /* of a cherry-pick: commits, and nothing that is run */
gitgrammar gitgrammar_svn_metadata; /* where git-svn's repository is */
gitgrammar gitgrammar_svn_log;	/* what git-svn could not translate, but no directory to be made */
gitgrammar gitgrammar_comments; /* lines that begin with #, and empty ones */
gitgrammar gitgrammar_none;	/* nothing: what was not there is not the user's */

#endif
