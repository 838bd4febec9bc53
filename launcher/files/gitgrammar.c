#include "launcher/files/gitgrammar.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "launcher/files/gitconfig.h"
#include "launcher/files/gitopts.h"

#define SHA1_HEX      40
#define SHA256_HEX    64
#define REF	      "ref: "
#define REFS	      "refs/"
#define NO_BRANCH     REFS "heads/.invalid" /* of a repository whose references are in a table */
#define FORBIDDEN     " ~^:?*[\\"	    /* in a name of a reference */
#define DOT_LOCK      ".lock"
#define WORD_CHARS    "-_=."
#define KEY_CHARS     "-_=.@+!"
#define MADE	      "empty_dir:"
#define FOR_MERGE     "not-for-merge"
#define NOT_FOR_MERGE (sizeof(FOR_MERGE) - 1)

/** struct line - one, without its end */
struct line {
	const char *p;
	size_t n;
};

static bool starts_with(struct line l, const char *prefix)
{
	size_t n = strlen(prefix);

	return l.n >= n && memcmp(l.p, prefix, n) == 0;
}

static struct line behind(struct line l, size_t n)
{
	return (struct line){ l.p + n, l.n - n };
}

/* Takes the next line out of what is left. Return: whether there was one. */
static bool next_line(struct line *rest, struct line *out)
{
	const char *eol = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
	size_t n = eol ? (size_t)(eol - rest->p) : rest->n;

	if (rest->n == 0)
		return false;
	*out = (struct line){ rest->p, n };
	*rest = behind(*rest, n + (eol ? 1 : 0));
	return true;
}

/* Whether each line is one of @is. */
static bool are_lines(const char *text, size_t n, bool (*is)(struct line l))
{
	struct line rest = { text, n }, l;

	while (next_line(&rest, &l))
		if (!is(l))
			return false;
	return true;
}

/* A text of one line, whose end may be missing. */
static struct line one_line(const char *text, size_t n)
{
	struct line l = { text, n };

	if (n > 0 && text[n - 1] == '\n')
		l.n--;
	return l;
}

/* How many digits of an object's name it begins with, if those are all of a name; else 0. */
static size_t object_length(struct line l)
{
	size_t n = 0;

	while (n < l.n && isxdigit((unsigned char)l.p[n]))
		n++;
	return n == SHA1_HEX || n == SHA256_HEX ? n : 0;
}

static bool is_object(struct line l)
{
	return l.n > 0 && object_length(l) == l.n;
}

bool gitgrammar_is_control(const char *p, size_t n)
{
	return (unsigned char)p[0] < 0x20 || p[0] == 0x7f ||
	       (n > 1 && (unsigned char)p[0] == 0xc2 && (unsigned char)p[1] >= 0x80 &&
		(unsigned char)p[1] < 0xa0);
}

static bool is_shown(struct line l)
{
	for (size_t i = 0; i < l.n; i++)
		if (gitgrammar_is_control(l.p + i, l.n - i) && l.p[i] != '\t')
			return false;
	return true;
}

static bool is_made_of(struct line l, const char *others)
{
	for (size_t i = 0; i < l.n; i++)
		if (!l.p[i] || !(isalnum((unsigned char)l.p[i]) || strchr(others, l.p[i])))
			return false;
	return true;
}

bool gitgrammar_is_component(const char *name, size_t n)
{
	const size_t lock = strlen(DOT_LOCK);

	if (n == 0 || name[0] == '.' || (n >= lock && memcmp(name + n - lock, DOT_LOCK, lock) == 0))
		return false;
	for (size_t i = 0; i < n; i++)
		if (gitgrammar_is_control(name + i, n - i) || name[i] == '/' ||
		    strchr(FORBIDDEN, name[i]) || (i > 0 && name[i] == '.' && name[i - 1] == '.') ||
		    (i > 0 && name[i] == '{' && name[i - 1] == '@'))
			return false;
	return true;
}

bool gitgrammar_is_refname(const char *text, size_t n)
{
	for (size_t at = 0;;) {
		const char *slash = at < n ? memchr(text + at, '/', n - at) : NULL;
		size_t len = slash ? (size_t)(slash - text) - at : n - at;

		if (!gitgrammar_is_component(text + at, len))
			return false;
		if (!slash)
			return true;
		at += len + 1;
	}
}

static bool is_full_refname(struct line l)
{
	return starts_with(l, REFS) && gitgrammar_is_refname(l.p, l.n);
}

/* A name that no program takes for an option. */
static bool is_revision(struct line l)
{
	return l.n > 0 && l.p[0] != '-' && gitgrammar_is_refname(l.p, l.n);
}

bool gitgrammar_objects(const char *text, size_t n, const char *at)
{
	(void)at;
	return gitopts_are_objects(text, n);
}

bool gitgrammar_number(const char *text, size_t n, const char *at)
{
	(void)at;
	return gitopts_is_number(text, n);
}

bool gitgrammar_word(const char *text, size_t n, const char *at)
{
	(void)at;
	return is_made_of(one_line(text, n), WORD_CHARS);
}

bool gitgrammar_text(const char *text, size_t n, const char *at)
{
	(void)at;
	return are_lines(text, n, is_shown);
}

/* git makes no branch whose name a tool could take for an option; a prompt's command line is made of it. */
static bool is_option(struct line name)
{
	return starts_with(name, REFS "heads/-");
}

bool gitgrammar_head(const char *text, size_t n, const char *at)
{
	struct line l = one_line(text, n), name;

	(void)at;
	if (!starts_with(l, REF))
		return is_object(l);
	name = behind(l, strlen(REF));
	return (is_full_refname(name) && !is_option(name)) ||
	       (name.n == strlen(NO_BRANCH) && memcmp(name.p, NO_BRANCH, name.n) == 0);
}

/*
 * How much of a reference's path another must share, so that none stands for one of another kind,
 * of a remote, say, for a branch: of "refs/heads/x" the first two parts, of "refs/remotes/o/HEAD" all
 * but the last.
 */
static size_t shared_length(const char *at)
{
	const char *kind = strncmp(at, REFS, strlen(REFS)) == 0 ? at + strlen(REFS) : NULL;
	const char *slash = kind ? strchr(kind, '/') : NULL;

	if (slash && strncmp(kind, "remotes/", strlen("remotes/")) == 0)
		slash = strrchr(kind, '/');
	return slash ? (size_t)(slash - at) + 1 : 0;
}

bool gitgrammar_ref(const char *text, size_t n, const char *at)
{
	struct line l = one_line(text, n), name;
	size_t shared = shared_length(at);

	if (!starts_with(l, REF))
		return is_object(l);
	name = behind(l, strlen(REF));
	if (name.n == strlen("HEAD") && memcmp(name.p, "HEAD", name.n) == 0)
		return strncmp(at, REFS "heads/", strlen(REFS "heads/")) == 0;
	return shared > 0 && name.n > shared && memcmp(name.p, at, shared) == 0 &&
	       is_full_refname(name);
}

static bool is_packed_ref(struct line l)
{
	size_t n = object_length(l);

	if (starts_with(l, "#"))
		return is_shown(l);
	if (starts_with(l, "^"))
		return is_object(behind(l, 1));
	return n > 0 && l.n > n && l.p[n] == ' ' && is_full_refname(behind(l, n + 1));
}

bool gitgrammar_packed_refs(const char *text, size_t n, const char *at)
{
	(void)at;
	return are_lines(text, n, is_packed_ref);
}

static bool is_fetched(struct line l)
{
	size_t n = object_length(l);

	if (n == 0 || l.n == n || l.p[n] != '\t')
		return false;
	l = behind(l, n + 1);
	if (starts_with(l, FOR_MERGE))
		l = behind(l, NOT_FOR_MERGE);
	return starts_with(l, "\t") && is_shown(l);
}

bool gitgrammar_fetch_head(const char *text, size_t n, const char *at)
{
	(void)at;
	return are_lines(text, n, is_fetched);
}

bool gitgrammar_revisions(const char *text, size_t n, const char *at)
{
	(void)at;
	return are_lines(text, n, is_revision);
}

bool gitgrammar_branch(const char *text, size_t n, const char *at)
{
	struct line l = one_line(text, n);

	(void)at;
	return (l.n == strlen("detached HEAD") && memcmp(l.p, "detached HEAD", l.n) == 0) ||
	       (is_full_refname(l) && !is_option(l));
}

static bool is_ref_or_object(struct line l)
{
	return is_object(l) || is_full_refname(l);
}

bool gitgrammar_refs(const char *text, size_t n, const char *at)
{
	(void)at;
	return are_lines(text, n, is_ref_or_object);
}

static bool is_author(struct line l)
{
	static const char *const names[] = { "GIT_AUTHOR_NAME=", "GIT_AUTHOR_EMAIL=",
					     "GIT_AUTHOR_DATE=" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (starts_with(l, names[i])) {
			l = behind(l, strlen(names[i]));
			return gitopts_is_quoted(l.p, l.n);
		}
	return false;
}

bool gitgrammar_author(const char *text, size_t n, const char *at)
{
	(void)at;
	return are_lines(text, n, is_author);
}

bool gitgrammar_sign(const char *text, size_t n, const char *at)
{
	struct line l = one_line(text, n);

	(void)at;
	return l.n == 0 ||
	       (starts_with(l, "-S") && !starts_with(l, "-S-") && is_made_of(l, KEY_CHARS));
}

static bool is_pick(struct line l)
{
	static const char *const verbs[] = { "pick ", "p ", "revert " };

	while (l.n > 0 && (l.p[0] == ' ' || l.p[0] == '\t'))
		l = behind(l, 1);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (starts_with(l, verbs[i]))
			return true;
	return l.n == 0 || starts_with(l, "#");
}

bool gitgrammar_todo(const char *text, size_t n, const char *at)
{
	(void)at;
	return are_lines(text, n, is_pick);
}

static void take_metadata(void *arg, const struct gitconfig_variable *var)
{
	const char *key = var->key;
	bool *other = arg;

	*other |= strcasecmp(var->section, "svn-remote") != 0 ||
		  strpbrk(var->value, " \t\n\"'\\$`") ||
		  (strcasecmp(key, "reposroot") != 0 && strcasecmp(key, "uuid") != 0 &&
		   strcasecmp(key, "branches-maxrev") != 0 && strcasecmp(key, "tags-maxrev") != 0);
}

bool gitgrammar_svn_metadata(const char *text, size_t n, const char *at)
{
	bool other = false;

	(void)at;
	return gitconfig_parse(text, n, take_metadata, &other) == GITCONFIG_OK && !other;
}

static bool makes_none(struct line l)
{
	return !memmem(l.p, l.n, MADE, strlen(MADE));
}

/* git svn rebase makes the others, wherever that is; links of the working tree may lead there, too. */
bool gitgrammar_svn_log(const char *text, size_t n, const char *at)
{
	(void)at;
	return are_lines(text, n, makes_none);
}

static bool is_comment(struct line l)
{
	return l.n == 0 || l.p[0] == '#';
}

bool gitgrammar_comments(const char *text, size_t n, const char *at)
{
	(void)at;
	return are_lines(text, n, is_comment);
}

bool gitgrammar_none(const char *text, size_t n, const char *at)
{
	(void)text;
	(void)at;
	return n == 0;
}
