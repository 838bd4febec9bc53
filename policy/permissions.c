#include "policy/permissions.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

/* The argument of "TOOL(argument)", which the caller frees; NULL if it is another tool's rule. */
static char *argument(const char *rule, const char *tool)
{
	size_t n = strlen(tool), len = strlen(rule);

	if (strncmp(rule, tool, n) != 0 || rule[n] != '(' || len < n + 2 || rule[len - 1] != ')')
		return NULL;
	return xstrndup(rule + n + 1, len - n - 2);
}

static enum permission refuse(bool deny)
{
	return deny ? PERMISSION_BAD : PERMISSION_LOOSE;
}

static enum permission host_rule(const char *arg, bool deny, enum settings_list_id *list,
				 char **value)
{
	static const char prefix[] = "domain:";

	if (deny && strcmp(arg, "*") == 0)
		arg = "domain:*";
	if (strncmp(arg, prefix, sizeof(prefix) - 1) != 0 || !arg[sizeof(prefix) - 1])
		return refuse(deny);
	*list = deny ? SETTINGS_DENIED_DOMAINS : SETTINGS_ALLOWED_DOMAINS;
	*value = xstrdup(arg + sizeof(prefix) - 1);
	return PERMISSION_TAKEN;
}

/*
 * These rules follow gitignore(5): a pattern without a slash, but at its end, is of any depth. An allow
 * rule stays what it is: it may not become more.
 */
static bool is_any_depth(const char *path, bool deny)
{
	size_t n = strcspn(path, "/");

	return deny && !path[n + strspn(path + n, "/")] && strcmp(path, ".") != 0 &&
	       strcmp(path, "..") != 0 && path[0] != '~' && path[0] != '$';
}

static enum permission path_rule(const char *arg, bool deny, enum settings_list_id id,
				 enum settings_list_id *list, char **value)
{
	CLEANUP_FREE char *path = xstrdup(arg);
	size_t len = strlen(path);
	bool whole =
		true; /* without its end, "NAME/" "**" has no slash, but is no NAME of any depth */

	if (len >= 3 && strcmp(path + len - 3, "/**") == 0) {
		path[len -= 3] = '\0';
		whole = false;
	}
	/* "//" "**" is everything there is, and not what is beneath the settings' directory */
	if (strspn(path, "/") == len && strncmp(arg, "//", 2) == 0)
		return refuse(deny);
	/* What is denied may be a pattern (cli/pathglob.h), but not everything there is. */
	if (len == 0 || strchr("!{", path[0]) || strpbrk(path, "{") ||
	    (strpbrk(path, "*?[") && (!deny || strspn(path, "*./") == len)))
		return refuse(deny);
	*list = id;
	if (whole && is_any_depth(path, deny))
		*value = xasprintf("**/%s", path);
	else if (strncmp(path, "//", 2) == 0)
		*value = xstrdup(path + 1);
	else if (path[0] == '/')
		*value = xasprintf(".%s", path);
	else
		*value = take_ptr(path);
	return PERMISSION_TAKEN;
}

/*
 * Whether @rule means one of the tools that we read, and is not written as such a rule is: in another
 * case, with blanks, without its bracket, by a pattern that holds for its name. Nobody may drop it as a
 * rule about something else.
 */
static bool is_slip(const char *rule)
{
	static const char *const tools[] = { "WebFetch", "Read", "Edit", "Write" };
	static const char blank[] = " \t\r\n";
	const char *name = rule + strspn(rule, blank);
	size_t n = strcspn(name, " \t\r\n(:");
	CLEANUP_FREE char *pattern = xstrndup(name, n);

	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		CLEANUP_FREE char *arg = argument(rule, tools[i]);

		if (n == strlen(tools[i]) && strncasecmp(name, tools[i], n) == 0)
			return !arg && strcmp(rule, tools[i]) != 0;
		if (strpbrk(pattern, "*?[") && fnmatch(pattern, tools[i], FNM_CASEFOLD) == 0)
			return true;
	}
	return false;
}

enum permission permission_parse(const char *rule, bool deny, enum settings_list_id *list,
				 char **value)
{
	CLEANUP_FREE char *host = argument(rule, "WebFetch");
	CLEANUP_FREE char *read = argument(rule, "Read");
	CLEANUP_FREE char *edit = argument(rule, "Edit");
	CLEANUP_FREE char *write = argument(rule, "Write");

	if (host)
		return host_rule(host, deny, list, value);
	if (read)
		/* Reading is allowed already; an allow rule opens nothing more. */
		return deny ? path_rule(read, deny, SETTINGS_DENY_READ, list, value)
			    : PERMISSION_NONE;
	if (edit)
		return path_rule(edit, deny, deny ? SETTINGS_DENY_WRITE : SETTINGS_ALLOW_WRITE,
				 list, value);
	if (write && deny)
		return path_rule(write, deny, SETTINGS_DENY_WRITE, list, value);
	/* The bare name of a tool means every use of it. */
	if (!deny && strcmp(rule, "WebFetch") == 0)
		return PERMISSION_LOOSE;
	if (deny && strcmp(rule, "WebFetch") == 0) {
		*list = SETTINGS_DENIED_DOMAINS;
		*value = xstrdup("*");
		return PERMISSION_TAKEN;
	}
	if (is_slip(rule))
		return refuse(deny);
	return PERMISSION_NONE;
}
