#include "policy/deniedpath.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define BLANK " \t\r\n\v\f"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LOWER "abcdefghijklmnopqrstuvwxyz"

/* "file:", "https://": RFC 3986 3.1 */
static bool is_url(const char *path)
{
	size_t n = strspn(path, UPPER LOWER "0123456789+.-");

	return n > 1 && path[n] == ':' &&
	       (strncmp(path + n, "://", 3) == 0 || strncmp(path, "file:", 5) == 0);
}

/* "$HOME" or "${X}" as a component; "$slug.tsx" is a name that files have. */
static bool has_variable(const char *path)
{
	const char *at = strncmp(path, "./$", 3) == 0 ? path + 2 : path;

	if (path[0] == '$' || strstr(path, "${"))
		return true;
	while ((at = strstr(at, "/$"))) {
		size_t n = strspn(at + 2, UPPER "_0123456789");

		if (n > 0 && (at[2 + n] == '/' || !at[2 + n]))
			return true;
		at += 2;
	}
	return false;
}

const char *deniedpath_slip(const char *path)
{
	size_t n = strlen(path);

	if (n == 0)
		return "is empty";
	if (strspn(path, BLANK) > 0 || strchr(BLANK, path[n - 1]))
		return "begins or ends with a blank, which no path needs: remove it (\"?\" stands "
		       "for one that is part of a name)";
	if (has_variable(path))
		return "has a variable in it, which nobody replaces here: write the path out, or "
		       "begin it with ~/ (a file whose name begins with $ is ./$...)";
	if (path[0] == '~' && path[1] && path[1] != '/')
		return "begins with ~ and a name, which is not looked up here: write that home "
		       "directory out (a file of that name is ./~...)";
	if (is_url(path))
		return "is a URL: write the path without its scheme";
	return NULL;
}
