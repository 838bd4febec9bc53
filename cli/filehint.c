#include "cli/filehint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/path.h"
#include "base/shellword.h"
#include "base/xalloc.h"
#include "cli/statedir.h"
#include "launcher/files/githome.h"
#include "launcher/files/workdir.h"
#include "launcher/launcher.h"

#define GIT_FAILED 128 /* with which git ends when it cannot go on */
#define TEXT_MAX   512
#define GROUPS_MAX 256

static bool is_ours(gid_t gid)
{
	gid_t v[GROUPS_MAX];
	int n = getgroups(GROUPS_MAX, v);

	for (int i = 0; i < n; i++)
		if (v[i] == gid)
			return true;
	return gid == getegid();
}

static bool may_write(const struct stat *st)
{
	if (st->st_uid == geteuid())
		return st->st_mode & S_IWUSR;
	return st->st_mode & (is_ours(st->st_gid) ? S_IWGRP : S_IWOTH);
}

char *filehint_owner(const struct launcher_plan *plan)
{
	char shown[TEXT_MAX];
	struct stat st;

	if (plan->fs != FS_WORKSPACE || geteuid() != 0 || stat(plan->cwd, &st) < 0 ||
	    st.st_uid == 0 || may_write(&st))
		return NULL;
	return xasprintf("%s belongs to user %u, and root cannot write there without its "
			 "capabilities, which the command does not get; start sbx-net as that "
			 "user: sudo -H -u '#%u', or setpriv --reuid %u --regid %u --clear-groups",
			 log_escape(shown, sizeof(shown), plan->cwd, strlen(plan->cwd)), st.st_uid,
			 st.st_uid, st.st_uid, st.st_gid);
}

static bool is_writable(const struct launcher_plan *plan, const char *path)
{
	if (path_beneath(path, plan->cwd))
		return true;
	for (size_t i = 0; i < plan->write.n; i++) {
		CLEANUP_FREE char *root = realpath(plan->write.v[i], NULL);

		if (root && path_beneath(path, root))
			return true;
	}
	return false;
}

/* A home directory that is a repository is no workspace. */
static bool is_workspace(const char *tree)
{
	const struct workdir_context context = { .home = statedir_home() };
	struct error err;

	return tree && workdir_check(tree, &context, &err) == 0;
}

/* What to do about @g, which cannot be written. */
static char *say_git(const struct githome *g)
{
	char shown[TEXT_MAX], git[TEXT_MAX], tree[TEXT_MAX];
	bool start = is_workspace(g->tree);

	if (start)
		(void)shellword(tree, sizeof(tree), g->tree);
	return xasprintf("if git failed: %s lies outside of the working directory, and "
			 "cannot be written; %s%s%s--write %s opens it, but for what git "
			 "runs or obeys there",
			 log_escape(shown, sizeof(shown), g->git, strlen(g->git)),
			 start ? "start with -C " : "", start ? tree : "", start ? ", or " : "",
			 shellword(git, sizeof(git), g->git));
}

char *filehint_git(const struct launcher_plan *plan, bool *inside)
{
	struct githome g = { 0 };
	char *text = NULL;

	*inside = false;
	if (plan->fs != FS_WORKSPACE || !githome_find(plan->cwd, &g))
		return NULL;
	*inside = path_beneath(g.git, plan->cwd);
	if (*inside)
		text = xstrdup(
			"if git failed to lock a file of its configuration: what git runs or "
			"obeys is locked as long as a run lasts; do that step outside");
	else if (!is_writable(plan, g.git))
		text = say_git(&g);
	githome_clear(&g);
	return text;
}

/* With a .git at hand most failures are others; a "git diff" that found something is none at all. */
bool filehint_is_git(const char *command, int status, bool inside)
{
	bool is_git = strcmp(path_name(command), "git") == 0;

	return status == GIT_FAILED || (is_git && (inside ? status > GIT_FAILED : status != 0));
}
