/*
 * Theory of operation
 *
 * A list of what is dangerous is never complete: each version of git, each prompt and each tool reads
 * names of its own. So this is a list of what is not: each name that git writes by itself, and those of a
 * few widespread tools, with the form that it has then. Whatever else the command leaves is put away.
 *
 * What a prompt reads is among it. git's own (git-prompt.sh, by PROMPT_COMMAND) puts what msgnum, end, next
 * and last say into PS1, where bash runs what stands in "$(...)"; zsh's (vcs_info) reckons with them, and
 * hands git log the words of rewritten, original-commit and orig-head, which may be options
 * (--output=FILE). HEAD and head-name are shown, whatever is in them.
 *
 * Not in it are names under which a program looks for what it has put there itself, and takes whatever is
 * there into the working tree: git stash reads index.stash.PID, lefthook and lint-staged apply a patch. Where
 * such a program was killed inside, they are put away, and nothing is lost.
 *
 * Not read are messages, patches and the like, which git shows or puts into an editor; objects, packs and
 * the tables that speed them up, whose checksums git looks at; logs of references. An entry for a name
 * comes with one for its lock file and for an editor's backup, which nothing reads.
 */
#include "launcher/files/gitname.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "launcher/files/gitaway.h"

/** struct file - @form: NULL for what is not read. @name: "*" stands for digits */
struct file {
	const char *name;
	gitgrammar *form;
};

/** struct subdir - a directory and what is in it */
struct subdir {
	const char *name;
	enum gitname_place place;
};

static const struct file git_files[] = {
	/* the state of the repository */
	{ "HEAD", gitgrammar_head },
	{ "index", NULL }, /* indexstate.c */
	{ "packed-refs", gitgrammar_packed_refs },
	{ "packed-refs.new", NULL },
	{ "shallow", gitgrammar_objects },
	{ "description", gitgrammar_text },
	{ "FETCH_HEAD", gitgrammar_fetch_head },
	{ "ORIG_HEAD", gitgrammar_objects },
	{ "RENAMED-REF", gitgrammar_objects },
	{ "next-index-*", NULL },
	{ "fast_import_crash_*", NULL },
	{ "gc.pid", gitgrammar_text },
	{ "gc.log", gitgrammar_text },
	/* operations that go on */
	{ "MERGE_HEAD", gitgrammar_objects },
	{ "MERGE_MODE", gitgrammar_word },
	{ "MERGE_RR", NULL },	     /* gitstate.c */
	{ "MERGE_AUTOSTASH", NULL }, /* gitstate.c */
	{ "AUTO_MERGE", gitgrammar_objects },
	{ "CHERRY_PICK_HEAD", gitgrammar_objects },
	{ "REVERT_HEAD", gitgrammar_objects },
	{ "REBASE_HEAD", gitgrammar_objects },
	{ "NOTES_MERGE_REF", gitgrammar_head },
	{ "NOTES_MERGE_PARTIAL", gitgrammar_objects },
	{ "BISECT_HEAD", gitgrammar_objects },
	{ "BISECT_EXPECTED_REV", gitgrammar_objects },
	{ "BISECT_START", gitgrammar_revisions },
	{ "BISECT_TERMS", gitgrammar_revisions },
	{ "BISECT_ANCESTORS_OK", gitgrammar_none },
	{ "BISECT_FIRST_PARENT", gitgrammar_word },
	{ "BISECT_NAMES", NULL }, /* gitstate.c */
	{ "BISECT_LOG", NULL },
	{ "BISECT_RUN", NULL },
	/* texts for an editor */
	{ "COMMIT_EDITMSG", NULL },
	{ "MERGE_MSG", NULL },
	{ "SQUASH_MSG", NULL },
	{ "TAG_EDITMSG", NULL },
	{ "NOTES_EDITMSG", NULL },
	{ "EDIT_DESCRIPTION", NULL },
	{ "BRANCH_DESCRIPTION", NULL },
	{ "addp-hunk-edit.diff", NULL },
	{ "ADD_EDIT.patch", NULL },
	{ "GITGUI_BCK", NULL },
	{ "GITGUI_EDITMSG", NULL },
	{ "GITGUI_MSG", NULL },
	{ "PULLREQ_EDITMSG", NULL },
	/* other tools: the number of a project for opencode */
	{ "opencode", gitgrammar_word },
};

/* Those that are held in a git directory while the run lasts (protect.c), or looked at (gitmodule.c). */
static const struct file held_files[] = {
	{ "config", NULL },
	{ "config.lock", NULL },
	{ "config.worktree", NULL },
	{ "config.worktree.lock", NULL },
	{ "commondir", NULL },
	{ "lazygit.yml", NULL },
	{ "pid", NULL }, /* gitstate.c */
};

/* gitstate.c */
static const struct file linked_files[] = {
	{ "config.worktree", NULL },
	{ "commondir", NULL },
	{ "gitdir", NULL },
	{ "locked", gitgrammar_text },
};

static const struct file object_files[] = {
	{ "maintenance", NULL },
	{ "schedule", NULL },
	{ "loose-object-idx", NULL },
};

static const struct file object_info_files[] = {
	{ "alternates", gitgrammar_none },
	{ "commit-graph", NULL },
	{ "packs", NULL },
};

static const struct file info_files[] = {
	{ "attributes", NULL }, /* their lock files */
	{ "exclude", NULL },	     { "refs", NULL },
	{ "sparse-checkout", NULL }, { "lefthook.checksum", gitgrammar_word },
};

/* git-rebase-todo, done, strategy and strategy_opts: gitstate.c */
static const struct file rebase_files[] = {
	{ "git-rebase-todo", NULL },
	{ "git-rebase-todo.backup", NULL },
	{ "done", NULL },
	{ "strategy", NULL },
	{ "strategy_opts", NULL },
	{ "msgnum", gitgrammar_number },
	{ "end", gitgrammar_number },
	{ "head-name", gitgrammar_branch },
	{ "onto", gitgrammar_objects },
	{ "orig-head", gitgrammar_objects },
	{ "squash-onto", gitgrammar_objects },
	{ "autostash", gitgrammar_objects },
	{ "amend", gitgrammar_objects },
	{ "stopped-sha", gitgrammar_objects },
	{ "rewritten-list", gitgrammar_objects },
	{ "rewritten-pending", gitgrammar_objects },
	{ "current-fixups", gitgrammar_text },
	{ "refs-to-delete", gitgrammar_refs },
	{ "update-refs", gitgrammar_refs },
	{ "author-script", gitgrammar_author },
	{ "gpg_sign_opt", gitgrammar_sign },
	{ "message", NULL },
	{ "message-fixup", NULL },
	{ "message-squash", NULL },
	{ "patch", NULL },
	{ "allow_rerere_autoupdate", gitgrammar_word },
	{ "cdate_is_adate", gitgrammar_word },
	{ "drop_redundant_commits", gitgrammar_word },
	{ "ignore_date", gitgrammar_word },
	{ "interactive", gitgrammar_word },
	{ "keep_redundant_commits", gitgrammar_word },
	{ "no-reschedule-failed-exec", gitgrammar_word },
	{ "quiet", gitgrammar_word },
	{ "reschedule-failed-exec", gitgrammar_word },
	{ "signoff", gitgrammar_word },
	{ "verbose", gitgrammar_word },
};

/* strategy, strategy_opts and apply-opt: gitstate.c. "*" are mails. */
static const struct file apply_files[] = {
	{ "*", NULL },
	{ "strategy", NULL },
	{ "strategy_opts", NULL },
	{ "apply-opt", NULL },
	{ "next", gitgrammar_number },
	{ "last", gitgrammar_number },
	{ "head-name", gitgrammar_branch },
	{ "onto", gitgrammar_objects },
	{ "orig-head", gitgrammar_objects },
	{ "original-commit", gitgrammar_objects },
	{ "abort-safety", gitgrammar_objects },
	{ "rewritten", gitgrammar_objects },
	{ "autostash", gitgrammar_objects },
	{ "author-script", gitgrammar_author },
	{ "gpg_sign_opt", gitgrammar_sign },
	{ "final-commit", NULL },
	{ "info", NULL },
	{ "msg", NULL },
	{ "msg-clean", NULL },
	{ "patch", NULL },
	{ "patch-merge-index", NULL },
	{ "allow_rerere_autoupdate", gitgrammar_word },
	{ "applying", gitgrammar_word },
	{ "dirtyindex", gitgrammar_word },
	{ "keep", gitgrammar_word },
	{ "keepcr", gitgrammar_word },
	{ "messageid", gitgrammar_word },
	{ "quiet", gitgrammar_word },
	{ "quoted-cr", gitgrammar_word },
	{ "rebasing", gitgrammar_word },
	{ "scissors", gitgrammar_word },
	{ "sign", gitgrammar_word },
	{ "signoff", gitgrammar_word },
	{ "threeway", gitgrammar_word },
	{ "utf8", gitgrammar_word },
	{ "verbose", gitgrammar_word },
};

static const struct file sequencer_files[] = {
	{ "abort-safety", gitgrammar_objects },
	{ "head", gitgrammar_objects },
	{ "opts", NULL }, /* gitstate.c */
	{ "todo", gitgrammar_todo },
};

static const struct file resolution_files[] = {
	{ "preimage", NULL },	{ "postimage", NULL },	 { "thisimage", NULL },
	{ "preimage.*", NULL }, { "postimage.*", NULL }, { "thisimage.*", NULL },
};

static const struct file svn_files[] = { { ".metadata", gitgrammar_svn_metadata } };

static const struct file svn_ref_files[] = {
	{ "index", NULL },
	{ "unhandled.log", gitgrammar_svn_log },
};

static const struct file lfs_files[] = { { "lockcache.db", NULL } };

/* git-annex's Annex/Locations.hs. daemon.pid is not among them, whose process the assistant ends, nor creds. */
static const struct file annex_files[] = {
	{ "adjust.lck", NULL },	    { "adjust.log", NULL },	{ "badunused", NULL },
	{ "cidsdb.lck", NULL },	    { "gitqueue.lck", NULL },	{ "ignoredrefs", NULL },
	{ "importfeed.lck", NULL }, { "index", NULL },		{ "index-private", NULL },
	{ "index.lck", NULL },	    { "journal.lck", NULL },	{ "keysdb.cache", NULL },
	{ "keysdb.lck", NULL },	    { "mergedrefs", NULL },	{ "migrate.lck", NULL },
	{ "migrate.log", NULL },    { "migrations.lck", NULL }, { "migrations.log", NULL },
	{ "move.lck", NULL },	    { "move.log", NULL },	{ "othertmp.lck", NULL },
	{ "restage.lck", NULL },    { "restage.log", NULL },	{ "restage.old", NULL },
	{ "schedulestate", NULL },  { "sentinal", NULL },	{ "sentinal.cache", NULL },
	{ "smudge.lck", NULL },	    { "smudge.log", NULL },	{ "tmpunused", NULL },
	{ "unused", NULL },	    { "upgrade.lck", NULL },	{ "upgrade.log", NULL },
	{ "viewindex", NULL },	    { "viewlog", NULL },
};

static const struct subdir git_dirs[] = {
	{ "objects", GITNAME_OBJECTS },
	{ "refs", GITNAME_REF_KINDS },
	{ "logs", GITNAME_LOGS },
	{ "info", GITNAME_INFO },
	{ "worktrees", GITNAME_WORKTREES },
	{ "modules", GITNAME_MODULES },
	{ "rebase-merge", GITNAME_REBASE },
	{ "rebase-apply", GITNAME_APPLY },
	{ "sequencer", GITNAME_SEQUENCER },
	{ "rr-cache", GITNAME_RERERE },
	{ "svn", GITNAME_SVN },
	{ "lfs", GITNAME_LFS },
	{ "annex", GITNAME_ANNEX },
	{ "reftable", GITNAME_DATA },
	{ "lost-found", GITNAME_DATA },
	{ "fsmonitor--daemon", GITNAME_DATA },
	{ "filter-repo", GITNAME_DATA },
	{ "NOTES_MERGE_WORKTREE", GITNAME_DATA },
	/* held or locked: protect.c */
	{ "hooks", GITNAME_DATA },
	{ "remotes", GITNAME_DATA },
	{ "branches", GITNAME_DATA },
	{ "glab-cli", GITNAME_DATA },
	{ "gitweb", GITNAME_DATA },
};

static const struct subdir linked_dirs[] = {
	{ "refs", GITNAME_REF_KINDS },	    { "logs", GITNAME_LOGS },
	{ "info", GITNAME_INFO },	    { "modules", GITNAME_MODULES },
	{ "rebase-merge", GITNAME_REBASE }, { "rebase-apply", GITNAME_APPLY },
	{ "sequencer", GITNAME_SEQUENCER }, { "fsmonitor--daemon", GITNAME_DATA },
};

static const struct subdir object_dirs[] = { { "pack", GITNAME_DATA },
					     { "info", GITNAME_OBJECT_INFO } };
static const struct subdir object_info_dirs[] = { { "commit-graphs", GITNAME_DATA } };
static const struct subdir svn_dirs[] = { { "refs", GITNAME_SVN_REFS } };

static const struct subdir lfs_dirs[] = {
	{ "objects", GITNAME_DATA }, { "tmp", GITNAME_DATA },  { "incomplete", GITNAME_DATA },
	{ "cache", GITNAME_DATA },   { "logs", GITNAME_DATA }, { "locks", GITNAME_DATA },
};

static const struct subdir annex_dirs[] = {
	{ "bad", GITNAME_DATA },
	{ "cidsdb", GITNAME_DATA },
	{ "export", GITNAME_DATA },
	{ "export.ex", GITNAME_DATA },
	{ "feedstate", GITNAME_DATA },
	{ "fsck", GITNAME_DATA },
	{ "fsckresults", GITNAME_DATA },
	{ "import", GITNAME_DATA },
	{ "importfeed", GITNAME_DATA },
	{ "journal", GITNAME_DATA },
	{ "journal-private", GITNAME_DATA },
	{ "keys", GITNAME_DATA },
	{ "keysdb", GITNAME_DATA },
	{ "merge", GITNAME_DATA },
	{ "misctmp", GITNAME_DATA },
	{ "objects", GITNAME_DATA },
	{ "othertmp", GITNAME_DATA },
	{ "reposize", GITNAME_DATA },
	{ "tmp", GITNAME_DATA },
	{ "transfer", GITNAME_DATA },
	{ "watchtmp", GITNAME_DATA },
};

#define LIST(a) (a), ARRAY_SIZE(a)

/* Whether @name is @pattern, in which "*" stands for digits. */
static bool matches(const char *pattern, const char *name, size_t n)
{
	const char *end = name + n;

	for (; *pattern; pattern++) {
		if (*pattern != '*') {
			if (name == end || *name++ != *pattern)
				return false;
			continue;
		}
		if (name == end || !isdigit((unsigned char)*name))
			return false;
		while (name < end && isdigit((unsigned char)*name))
			name++;
	}
	return name == end;
}

static const struct file *find_file(const struct file *list, size_t count, const char *name,
				    size_t n)
{
	for (size_t i = 0; i < count; i++)
		if (matches(list[i].name, name, n))
			return &list[i];
	return NULL;
}

static bool starts_with(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* The length without the end of a lock file or a backup, or the whole. */
static size_t plain_length(const char *name)
{
	static const char *const ends[] = { ".lock", "~" };
	size_t n = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t m = strlen(ends[i]);

		if (n > m && strcmp(name + n - m, ends[i]) == 0)
			return n - m;
	}
	return n;
}

static struct gitname in_list(const struct file *list, size_t count, const char *name)
{
	size_t n = plain_length(name);
	const struct file *f = find_file(list, count, name, n);

	if (!f)
		return (struct gitname){ .how = GITNAME_UNKNOWN };
	if (!f->form || name[n])
		return (struct gitname){ .how = GITNAME_IS_DATA };
	return (struct gitname){ .how = GITNAME_IS_TEXT, .form = f->form };
}

/* Names that git makes up while it writes a file. */
static struct gitname in_list_or(const struct file *list, size_t count, const char *name,
				 const char *const *prefixes, size_t nprefixes)
{
	for (size_t i = 0; i < nprefixes; i++)
		if (starts_with(name, prefixes[i]))
			return (struct gitname){ .how = GITNAME_IS_DATA };
	return in_list(list, count, name);
}

static struct gitname git_file(const char *name)
{
	static const char *const prefixes[] = { "sharedindex.", "sharedindex_", ".watchman-cookie-",
						GITAWAY_NAME "." };
	struct gitname found = in_list_or(LIST(git_files), name, LIST(prefixes));

	return found.how == GITNAME_UNKNOWN ? in_list(LIST(held_files), name) : found;
}

static struct gitname linked_file(const char *name)
{
	static const char *const prefixes[] = { "sharedindex.", "sharedindex_" };
	struct gitname found = in_list_or(LIST(git_files), name, LIST(prefixes));

	return found.how == GITNAME_UNKNOWN ? in_list(LIST(linked_files), name) : found;
}

/* Of references and their logs any name that git takes for one; replacements change what git shows. */
static struct gitname ref_file(const char *name, gitgrammar *form)
{
	size_t n = plain_length(name);

	if (!gitgrammar_is_component(name, n))
		return (struct gitname){ .how = GITNAME_UNKNOWN };
	if (name[n] == '.' || !form) /* a lock file */
		return (struct gitname){ .how = GITNAME_IS_DATA };
	return (struct gitname){ .how = GITNAME_IS_TEXT, .form = form };
}

/* By these git status leaves names out, and git diff contents. */
static struct gitname info_file(const char *name)
{
	static const char *const prefixes[] = { "refs_" };

	if (strcmp(name, "exclude") == 0 || strcmp(name, "attributes") == 0)
		return (struct gitname){ .how = GITNAME_IS_TOLD, .form = gitgrammar_comments };
	return in_list_or(LIST(info_files), name, LIST(prefixes));
}

struct gitname gitname_of_file(enum gitname_place place, const char *name)
{
	static const char *const tmp_objects[] = { "tmp_" };
	static const char *const tmp_infos[] = { "packs_", "tmp_" };
	static const char *const rev_maps[] = { ".rev_map.", ".rev_db." };

	switch (place) {
	case GITNAME_GIT:
		return git_file(name);
	case GITNAME_LINKED:
		return linked_file(name);
	case GITNAME_OBJECTS:
		return in_list_or(LIST(object_files), name, LIST(tmp_objects));
	case GITNAME_OBJECT_INFO:
		return in_list_or(LIST(object_info_files), name, LIST(tmp_infos));
	case GITNAME_INFO:
		return info_file(name);
	case GITNAME_REF_KINDS:
	case GITNAME_REFS:
		return ref_file(name, gitgrammar_ref);
	case GITNAME_REPLACED:
		return ref_file(name, gitgrammar_none); /* gitreplace.c */
		;
	case GITNAME_LOGS:
		return ref_file(name, NULL);
	case GITNAME_REBASE:
		return in_list(LIST(rebase_files), name);
	case GITNAME_APPLY:
		return in_list(LIST(apply_files), name);
	case GITNAME_SEQUENCER:
		return in_list(LIST(sequencer_files), name);
	case GITNAME_RESOLUTION:
		return in_list(LIST(resolution_files), name);
	case GITNAME_SVN:
		return in_list(LIST(svn_files), name);
	case GITNAME_SVN_REFS:
		return in_list_or(LIST(svn_ref_files), name, LIST(rev_maps));
	case GITNAME_LFS:
		return in_list(LIST(lfs_files), name);
	case GITNAME_ANNEX:
		return in_list(LIST(annex_files), name);
	case GITNAME_DATA:
		return (struct gitname){ .how = GITNAME_IS_DATA };
	case GITNAME_MODULES:
	case GITNAME_WORKTREES:
	case GITNAME_RERERE:
	case GITNAME_STRANGE:
		break;
	}
	return (struct gitname){ .how = GITNAME_UNKNOWN };
}

static struct gitname known_dir(enum gitname_place place)
{
	return (struct gitname){ .how = GITNAME_IS_DATA, .place = place };
}

static struct gitname unknown_dir(void)
{
	return (struct gitname){ .how = GITNAME_UNKNOWN, .place = GITNAME_STRANGE };
}

static struct gitname dir_in_list(const struct subdir *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].name, name) == 0)
			return known_dir(list[i].place);
	return unknown_dir();
}

/* Objects by their numbers, which git makes under other names and renames. */
static bool is_fanout(const char *name)
{
	return isxdigit((unsigned char)name[0]) && isxdigit((unsigned char)name[1]) && !name[2];
}

static struct gitname git_dir(const char *name)
{
	if (strcmp(name, "sl") ==
	    0) /* Sapling's, whose configuration is locked if it is there (protect.c) */
		return (struct gitname){ .how = GITNAME_UNKNOWN, .place = GITNAME_DATA };
	if (starts_with(name, ".gitstatus.")) /* a prompt's, which tries something out */
		return known_dir(GITNAME_DATA);
	return dir_in_list(LIST(git_dirs), name);
}

static struct gitname object_dir(const char *name)
{
	if (is_fanout(name) || starts_with(name, "tmp_objdir-") || starts_with(name, "incoming-"))
		return known_dir(GITNAME_DATA);
	return dir_in_list(LIST(object_dirs), name);
}

static struct gitname resolution_dir(const char *name)
{
	return name[strspn(name, "0123456789abcdef")] ? unknown_dir()
						      : known_dir(GITNAME_RESOLUTION);
}

static struct gitname component_dir(enum gitname_place place, const char *name)
{
	return gitgrammar_is_component(name, strlen(name)) ? known_dir(place) : unknown_dir();
}

/* By references in "replace" git shows other objects in the place of some. */
static struct gitname kind_of_ref(const char *name)
{
	return component_dir(strcmp(name, "replace") == 0 ? GITNAME_REPLACED : GITNAME_REFS, name);
}

struct gitname gitname_of_dir(enum gitname_place place, const char *name)
{
	/* of a linked worktree's, too, should it be swept before the repository that it is in */
	if ((place == GITNAME_GIT || place == GITNAME_LINKED) && starts_with(name, GITAWAY_NAME))
		return (struct gitname){ .how = GITNAME_IS_AWAY, .place = GITNAME_DATA };
	switch (place) {
	case GITNAME_GIT:
		return git_dir(name);
	case GITNAME_LINKED:
		return dir_in_list(LIST(linked_dirs), name);
	case GITNAME_WORKTREES:
		return known_dir(GITNAME_LINKED);
	case GITNAME_OBJECTS:
		return object_dir(name);
	case GITNAME_OBJECT_INFO:
		return dir_in_list(LIST(object_info_dirs), name);
	case GITNAME_REF_KINDS:
		return kind_of_ref(name);
	case GITNAME_REPLACED:
	case GITNAME_REFS:
	case GITNAME_LOGS:
	case GITNAME_SVN_REFS:
		return component_dir(place, name);
	case GITNAME_RERERE:
		return resolution_dir(name);
	case GITNAME_SVN:
		return dir_in_list(LIST(svn_dirs), name);
	case GITNAME_LFS:
		return dir_in_list(LIST(lfs_dirs), name);
	case GITNAME_ANNEX:
		return dir_in_list(LIST(annex_dirs), name);
	case GITNAME_DATA:
		return known_dir(GITNAME_DATA);
	case GITNAME_MODULES:
	case GITNAME_INFO:
	case GITNAME_REBASE:
	case GITNAME_APPLY:
	case GITNAME_SEQUENCER:
	case GITNAME_RESOLUTION:
	case GITNAME_STRANGE:
		break;
	}
	return unknown_dir();
}
