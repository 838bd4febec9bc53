/*
 * Theory of operation
 *
 * An index, and the files that a split one refers to: names in it that lead out of the working tree, or
 * into .git. git checkout writes there, hooks or start-up files, and git commit copies from there.
 * A repository that it knows of is one that git status looks into, and whose configuration it obeys. Those
 * of the start are locked (gitobeys.c).
 */
#include "launcher/files/indexstate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "launcher/files/gitindex.h"
#include "launcher/files/gitmodule.h"
#include "launcher/files/gitnested.h"
#include "launcher/files/gittree.h"

#define INDEX_MAX  (256 * 1024 * 1024) /* of two million files */
#define NAMES_MAX  (1024 * 1024)
#define LINKS_MAX  (16 * 1024) /* repositories that an index knows of */
#define DOT_GIT	   GITNESTED_DOT_GIT
#define ENTRY_COST 512 /* of GITVISIT_READ_MAX, for an entry of a directory */
#define SHARED	   "sharedindex."

#define LOOKS  "git would look into this repository, and obey its configuration:"
#define UNSEEN "it cannot be looked at; see whether it is yours before you use git there"
#define LOST                                                                                  \
	"an index of git's with repositories, or directories left out, in a working tree of " \
	"which nobody knows where it is ('git reset' makes a new one)"
#define BEYOND                                                                           \
	"git would look into a repository that was not in it, where the command cannot " \
	"write ('git reset' makes a new one)"
#define WRITES "git would write or read a file elsewhere by it ('git reset' makes a new one):"

static void take_format(void *arg, const struct gitconfig_variable *var)
{
	size_t *hash = arg;

	if (gitconfig_is(var, "extensions", "objectformat"))
		*hash = strcmp(var->value, "sha256") == 0 ? GITINDEX_SHA256 : GITINDEX_SHA1;
}

/* The size of an object's name, as the configuration says, which is locked; 0 if nobody can tell. */
static size_t hash_size(const struct gitvisit *v, int dir)
{
	CLEANUP_CLOSE int common = gittree_common(v, dir);
	size_t hash = GITINDEX_SHA1;

	if (common < 0 || gittree_config(v, common, "config", take_format, &hash) == GITCONFIG_BAD)
		return 0;
	return hash;
}

/**
 * struct links - repositories of an index
 * @tree: the working tree; -1 if it is not known
 * @git: the git directory, where those of submodules are
 * @at: where the index is; @key: the same for all files that are one index
 * @n: how many there are, of which @max are looked at
 * @trees: how many directories are left out, of which @looked are new and have been looked for
 * @hash: the size of an object's name
 * @older: nothing in the index is another run's
 * @shared: the file is one that a split index refers to, of which any name may become a repository's
 * @unseen: something could not be looked at
 * @lost: as nobody knows the working tree
 * @beyond: it knows of a repository that is new in it, and not the command's
 */
struct links {
	struct gitvisit_known *g;
	const struct gitvisit *v;
	int tree, git;
	const char *at, *key;
	unsigned long n, max, trees, looked;
	size_t hash;
	bool older, shared, unseen, lost, beyond;
};

/* Whether it was there at the start, if this is not the start. */
static bool is_known_repo(struct links *l, const char *name, const uint64_t id[static 4],
			  struct timespec since)
{
	CLEANUP_FREE char *where = xasprintf("%s:%s", l->key, name);
	struct gitseen *seen = &l->g->seen;
	const size_t n = 4 * sizeof(*id);

	if (l->v->task != GITVISIT_SWEEP && gitvisit_is_older(l->g, since))
		gitseen_add(seen, GITSEEN_REPO, where, id, n);
	return l->v->task != GITVISIT_SWEEP || gitseen_has(seen, GITSEEN_REPO, where, id, n);
}

/* Of a directory that nobody can look into: whether it is still that. The command could look, if it is its. */
static bool is_closed_repo(struct links *l, int dir, const char *name)
{
	CLEANUP_FREE char *closed = xasprintf("%s:", name);
	struct stat st;
	uint64_t id[4];

	if (fstat(dir, &st) < 0)
		return false;
	id[0] = st.st_dev;
	id[1] = st.st_ino;
	id[2] = (uint64_t)st.st_ctim.tv_sec;
	id[3] = (uint64_t)st.st_ctim.tv_nsec;
	return is_known_repo(l, closed, id, st.st_ctim) || st.st_uid != geteuid();
}

/* Whether the .git in @dir is what it was at the start. */
static bool is_same_repo(struct links *l, int dir, const char *name)
{
	struct timespec made = { 0 };
	struct statx st;
	uint64_t id[4];

	if (statx(dir, DOT_GIT, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
		return errno == ENOENT || is_closed_repo(l, dir, name);
	if (st.stx_mask & STATX_BTIME)
		made = (struct timespec){ st.stx_btime.tv_sec, st.stx_btime.tv_nsec };
	id[0] = makedev(st.stx_dev_major, st.stx_dev_minor);
	id[1] = st.stx_ino;
	id[2] = (uint64_t)made.tv_sec;
	id[3] = (uint64_t)made.tv_nsec;
	return is_known_repo(l, name, id, made);
}

/* Where the command cannot have made a repository: it is the user's, and nothing is done there for a command. */
static bool is_out_of_reach(const struct links *l, int dir)
{
	CLEANUP_FREE char *path = fd_path(dir);
	const struct gitvisit_known *g = l->g;

	for (size_t i = 0; path && i < g->nroots; i++) {
		CLEANUP_FREE char *root = fd_path(g->roots[i]);

		if (root && path_beneath(path, root))
			return false;
	}
	return g->nroots > 0;
}

static void unmake(void *arg, int dir, const char *name)
{
	struct links *l = arg;
	CLEANUP_FREE char *done = NULL;

	if (is_out_of_reach(l, dir)) {
		l->beyond = true;
		return;
	}
	done = gitnested_unmake(dir, l->v->away);
	l->v->say(l->v->arg, l->at, LOOKS, name, done);
}

/*
 * A directory that the index leaves out: git takes the names in it from an object as soon as it is there.
 * Repositories are never among those that git leaves out, but a command may have written such an object. So
 * none may lie there, unless the object was in the index at the start.
 */
static void take_tree(struct links *l, const char *name, const uint8_t *tree)
{
	CLEANUP_FREE char *where = xasprintf("%s:%s", l->key, name);
	CLEANUP_FREE char *path = xstrndup(name, strlen(name) - 1);
	CLEANUP_CLOSE int dir = -1;
	uint64_t left = *l->v->read < GITVISIT_READ_MAX
				? (GITVISIT_READ_MAX - *l->v->read) / ENTRY_COST
				: 0;
	uint64_t before = left;

	l->trees++;
	if (l->v->task != GITVISIT_SWEEP && l->older)
		gitseen_add(&l->g->seen, GITSEEN_SPARSE, where, tree, l->hash);
	if (l->v->task != GITVISIT_SWEEP || l->unseen ||
	    gitseen_has(&l->g->seen, GITSEEN_SPARSE, where, tree, l->hash))
		return;
	l->lost |= l->tree < 0;
	if (l->lost)
		return;
	dir = fd_open_plain(l->tree, path, O_PATH | O_DIRECTORY);
	if (dir < 0)
		l->unseen = errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
	else
		l->unseen = !gitnested_find(dir, path, &left, unmake, l);
	l->unseen |= ++l->looked > NAMES_MAX;
	*l->v->read += (before - left) * ENTRY_COST;
}

/*
 * Where the working tree is not known, what the index had at the start is told; whatever else it has, nobody
 * can look for.
 */
static void take_unseen(struct links *l, const char *name)
{
	CLEANUP_FREE char *where = xasprintf("%s:%s", l->key, name);
	struct gitseen *seen = &l->g->seen;

	if (l->shared)
		l->lost = true;
	else if (l->v->task != GITVISIT_SWEEP && l->older)
		gitseen_add(seen, GITSEEN_LINK, where, "", 0);
	else if (l->v->task == GITVISIT_SWEEP && gitseen_has(seen, GITSEEN_LINK, where, "", 0))
		l->v->say(l->v->arg, l->at, LOOKS, name, UNSEEN);
	else
		l->lost = true;
}

/* By a link on the way git does not look for repositories either. */
static void take_repository(struct links *l, const char *name)
{
	bool look = l->n++ < l->max;
	CLEANUP_CLOSE int dir = -1;

	if (!look)
		return;
	if (l->tree < 0) {
		take_unseen(l, name);
		return;
	}
	dir = fd_open_plain(l->tree, name, O_PATH | O_DIRECTORY);
	if (dir < 0 && errno == EACCES && l->v->task == GITVISIT_SWEEP)
		l->v->say(l->v->arg, l->at, LOOKS, name, UNSEEN);
	else if (dir < 0)
		l->unseen |= errno != ENOENT && errno != ENOTDIR && errno != ELOOP &&
			     errno != ENAMETOOLONG && errno != EXDEV;
	if (dir < 0 || is_same_repo(l, dir, name) ||
	    (l->v->task == GITVISIT_SWEEP && gitmodule_is_led_to(l->g, l->v, dir, l->git)))
		return;
	unmake(l, dir, name);
}

static void take_link(void *arg, const char *name, const uint8_t *tree)
{
	if (tree)
		take_tree(arg, name, tree);
	else
		take_repository(arg, name);
}

bool indexstate_is_shared(const char *name)
{
	return strncasecmp(name, SHARED, strlen(SHARED)) == 0;
}

void indexstate_visit(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *name,
		      const char *at)
{
	CLEANUP_CLOSE int fd = -1, tree = -1;
	CLEANUP_FREE char *text = NULL, *found = NULL;
	CLEANUP_FREE char *key =
		xstrndup(at, strlen(at) - strlen(name)); /* git splits it as it likes */
	struct links links = { .g = g, .v = v, .at = at, .key = key };
	bool shared = indexstate_is_shared(name);
	struct gitvisit_identity id = { .older = false };
	enum gitindex is = GITINDEX_BAD;
	size_t n;

	if (gitvisit_identify(g, dir, name, &id) && v->task == GITVISIT_SWEEP &&
	    gitvisit_is_still(g, v, GITSEEN_PLAIN, at, &id))
		return;
	links.older = id.older;
	fd = fd_open_regular(dir, name, O_NOFOLLOW, &(struct error){ 0 });
	if (fd < 0 && (errno == ENOENT || errno == ELOOP || errno == EINVAL || errno == EISDIR))
		return;
	text = fd < 0 ? NULL : gitvisit_read_all(v, fd, INDEX_MAX, &n);
	tree = gittree_open(g, v, dir, at);
	links.tree = tree;
	links.git = dir;
	links.shared = shared;
	links.max = shared ? NAMES_MAX : LINKS_MAX;
	links.hash = hash_size(v, dir);
	if (text && links.hash)
		is = gitindex_check(text, n, links.hash, shared, take_link, &links, &found);
	if (links.n > links.max || links.unseen ||
	    ((links.lost || links.beyond) && is == GITINDEX_OK))
		is = GITINDEX_BAD;
	if (is == GITINDEX_OK && links.n == 0 && links.trees == 0)
		(void)gitvisit_is_still(g, v, GITSEEN_PLAIN, at, &id);
	/* as it was, but where nobody can look any more, the command may have made what it knows of */
	if (gitvisit_is_still(g, v, GITSEEN_INDEX, at, &id) && (!links.lost || shared))
		return;
	switch (is) {
	case GITINDEX_OK:
		break;
	case GITINDEX_ELSEWHERE:
		gitvisit_deal(v, dir, name, at, WRITES, found);
		break;
	case GITINDEX_BAD:
		gitvisit_deal(v, dir, name, at,
			      links.lost     ? LOST
			      : links.beyond ? BEYOND
			      : links.unseen ? "an index of git's with a directory that cannot be "
					       "looked at"
					     : "an index of git's that cannot be read whole",
			      "");
		break;
	}
}
