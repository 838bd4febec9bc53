/*
 * Theory of operation
 *
 * zsh's prompt (vcs_info, "%m") shows the subject of what a rebase, git am or a merge is at, as it finds it:
 * from the list of what is done and to be done, or from the message. These are texts of a person's, and too
 * much would be lost if they were put away; so what controls a terminal is taken out of them.
 */
#include "launcher/files/gitshown.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "launcher/files/gitgrammar.h"
#include "launcher/files/gitstate.h"

#define TEXT_MAX (64 * 1024 * 1024) /* a mail may hold a large file */
#define SHOWS	 "a prompt would show control characters that are in it"

/** struct shown - @head: the part before the first empty line. "*" stands for the number of a mail */
struct shown {
	enum gitname_place place;
	const char *name;
	bool head;
};

static const struct shown files[] = {
	{ GITNAME_GIT, "MERGE_MSG", true },   { GITNAME_LINKED, "MERGE_MSG", true },
	{ GITNAME_REBASE, "done", false },    { GITNAME_REBASE, "git-rebase-todo", false },
	{ GITNAME_SEQUENCER, "todo", false }, { GITNAME_APPLY, "final-commit", true },
	{ GITNAME_APPLY, "msg-clean", true }, { GITNAME_APPLY, "*", true },
};

static bool is_number(const char *name)
{
	return *name && name[strspn(name, "0123456789")] == '\0';
}

static const struct shown *find(enum gitname_place place, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (files[i].place == place &&
		    (strcmp(files[i].name, "*") == 0 ? is_number(name)
						     : strcmp(files[i].name, name) == 0))
			return &files[i];
	return NULL;
}

/* A carriage return is part of the end of a line, or leads the cursor back. */
static bool is_loud(const char *p, size_t n)
{
	return gitgrammar_is_control(p, n) && p[0] != '\t' && !(p[0] == '\r' && n == 1);
}

static bool quieten_line(char *p, size_t n)
{
	bool found = false;

	for (size_t i = 0; i < n; i++)
		if (is_loud(p + i, n - i)) {
			p[i] = '?';
			found = true;
		}
	return found;
}

bool gitshown_quieten(char *text, size_t n, bool head)
{
	bool found = false;

	for (size_t at = 0; at < n;) {
		const char *eol = memchr(text + at, '\n', n - at);
		size_t len = eol ? (size_t)(eol - text) - at : n - at;

		if (head && len == 0)
			break;
		if (head || !gitstate_is_exec(text + at, len))
			found |= quieten_line(text + at, len);
		at += len + 1;
	}
	return found;
}

void gitshown_visit(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *name,
		    const char *at, enum gitname_place place)
{
	const struct shown *s = find(place, name);
	CLEANUP_CLOSE int fd = -1;
	CLEANUP_FREE char *text = NULL;
	struct gitvisit_identity id;
	size_t n = 0;

	if (!s || !gitvisit_identify(g, dir, name, &id) ||
	    gitvisit_is_still(g, v, GITSEEN_FORM, at, &id) || v->task != GITVISIT_SWEEP)
		return;
	fd = fd_open_regular(dir, name, O_NOFOLLOW, &(struct error){ 0 });
	text = fd < 0 ? NULL : gitvisit_read_all(v, fd, TEXT_MAX, &n);
	if (!text)
		gitvisit_put_away(v, dir, name, at,
				  "a text that a prompt shows, which cannot be read whole", "");
	else if (!gitshown_quieten(text, n, s->head))
		return;
	else if (gitvisit_replace(dir, name, text, n) == 0)
		v->say(v->arg, at, SHOWS, "",
		       GITVISIT_GONE "there are question marks in their place");
	else
		gitvisit_put_away(v, dir, name, at, SHOWS, "");
}
