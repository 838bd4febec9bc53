#include "launcher/files/githome.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "launcher/files/gitobeys.h"

static bool has(const char *dir, const char *name)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", dir, name);
	struct stat st;

	return stat(path, &st) == 0;
}

static bool is_repository(const char *git)
{
	return has(git, "HEAD") && has(git, "objects") && has(git, "refs");
}

/* Whether @git, of a linked working tree, says that @file leads to it. */
static bool leads_back(const char *git, const char *file)
{
	CLEANUP_FREE char *back = gitobeys_link(git, "gitdir", "");
	CLEANUP_FREE char *a = back ? realpath(back, NULL) : NULL;
	CLEANUP_FREE char *b = realpath(file, NULL);

	return a && b && strcmp(a, b) == 0;
}

/* Whether @git lies in the .git of a directory above @tree. */
static bool is_around(const char *git, const char *tree)
{
	CLEANUP_FREE char *above = xstrdup(tree);

	for (char *slash; (slash = strrchr(above, '/')) && slash > above;) {
		CLEANUP_FREE char *outer = NULL;

		*slash = '\0';
		outer = xasprintf("%s/.git", above);
		if (path_beneath(git, outer))
			return true;
	}
	return false;
}

static bool take_file(const char *tree, const char *file, struct githome *out)
{
	CLEANUP_FREE char *link = gitobeys_link(tree, ".git", "gitdir: ");
	CLEANUP_FREE char *git = link ? realpath(link, NULL) : NULL;
	CLEANUP_FREE char *up = git ? gitobeys_link(git, "commondir", "") : NULL;
	CLEANUP_FREE char *common = up ? realpath(up, NULL) : git ? xstrdup(git) : NULL;

	if (!common || !is_repository(common) || !(leads_back(git, file) || is_around(git, tree)))
		return false;
	*out = (struct githome){ .git = xstrdup(common) };
	return true;
}

static bool take_dir(const char *tree, const char *git, struct githome *out)
{
	CLEANUP_FREE char *real = realpath(git, NULL);

	if (!real || strcmp(real, git) != 0 || !is_repository(real))
		return false;
	*out = (struct githome){ .git = xstrdup(real), .tree = xstrdup(tree) };
	return true;
}

bool githome_find(const char *dir, struct githome *out)
{
	CLEANUP_FREE char *tree = xstrdup(dir);
	char *slash;

	do {
		CLEANUP_FREE char *git = xasprintf("%s/.git", tree);
		struct stat st;

		if (lstat(git, &st) == 0)
			return S_ISDIR(st.st_mode) ? take_dir(tree, git, out)
						   : take_file(tree, git, out);
		slash = strrchr(tree, '/');
		if (slash)
			*slash = '\0';
	} while (slash && slash > tree);
	return false;
}

void githome_clear(struct githome *g)
{
	free(g->git);
	free(g->tree);
	*g = (struct githome){ 0 };
}
