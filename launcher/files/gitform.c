#include "launcher/files/gitform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/xalloc.h"

#define TEXT_MAX  (64 * 1024 * 1024) /* packed-refs of half a million */
#define SHOWN_MAX 60

#define UNKNOWN "nothing that is known to be data, so that a tool might obey it"
#define HIDES	"git status and git diff outside leave out what it lists"
#define NO_FORM "git, a prompt or another tool might obey or show what is in it:"

/* Whether all of it is of the form. A file that has gone is; one that cannot be read is not. */
static bool has_form(const struct gitvisit *v, int dir, const char *name, const char *within,
		     gitgrammar *form, char **shown)
{
	CLEANUP_CLOSE int fd = fd_open_regular(dir, name, O_NOFOLLOW, &(struct error){ 0 });
	size_t n = 0;
	CLEANUP_FREE char *text = NULL;

	if (fd < 0 && errno == ENOENT)
		return true;
	text = fd < 0 ? NULL : gitvisit_read_all(v, fd, TEXT_MAX, &n);
	if (text && form(text, n, within))
		return true;
	*shown = xstrndup(text ? text : "", n < SHOWN_MAX ? n : SHOWN_MAX);
	return false;
}

void gitform_tell_unseen(const struct gitvisit *v, const char *at, const char *what,
			 const char *which)
{
	v->say(v->arg, at, what, which,
	       "it may have been there before; remove it if it is not yours");
}

void gitform_visit(struct gitvisit_known *g, const struct gitvisit *v, int dir, const char *name,
		   const char *at, const char *within, const struct gitname *is, bool unseen)
{
	const char *what = is->how == GITNAME_UNKNOWN ? UNKNOWN : NO_FORM;
	CLEANUP_FREE char *shown = NULL;
	struct gitvisit_identity id;

	if (!gitvisit_identify(g, dir, name, &id) ||
	    gitvisit_is_still(g, v, GITSEEN_FORM, at, &id) || v->task == GITVISIT_NOTE ||
	    (is->how == GITNAME_IS_TOLD && (v->task == GITVISIT_WARN || unseen)) ||
	    (is->form && has_form(v, dir, name, within, is->form, &shown)))
		return;
	if (is->how == GITNAME_IS_TOLD)
		v->say(v->arg, at, HIDES, "", "it has changed while the command ran");
	else if (unseen)
		gitform_tell_unseen(v, at, what, shown ? shown : "");
	else
		gitvisit_deal(v, dir, name, at, what, shown ? shown : "");
}
