#include "launcher/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/shellword.h"
#include "base/xalloc.h"
#include "launcher/launcher.h"

#define WORD_SHOWN 128 /* of what is to be typed */

#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin" /* when the environment has none */

int program_exit_code(int code)
{
	if (code == ENOSYS)
		return LAUNCHER_EXIT_SETUP; /* an answer about execveat(2), and not about the program */
	return code == ENOENT || code == ENOTDIR ? LAUNCHER_EXIT_NOTFOUND : LAUNCHER_EXIT_NOEXEC;
}

/* 0 if the file can be executed, else the errno that says why not. */
static int check_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	if (!S_ISREG(st.st_mode))
		return EACCES;
	return path_may(AT_FDCWD, path, X_OK) ? 0 : errno;
}

static const char *search_path(char *const *envp)
{
	for (; *envp; envp++)
		if (strncmp(*envp, "PATH=", 5) == 0)
			return *envp + 5;
	return PATH_DEFAULT;
}

/* Walks PATH; an entry that exists but cannot be executed is remembered and the search goes on. */
static int search(const char *name, const char *dirs, char **path)
{
	int code = ENOENT;

	for (;;) {
		size_t n = strcspn(dirs, ":");
		CLEANUP_FREE char *try =
			n == 0 ? xasprintf("./%s", name) : xasprintf("%.*s/%s", (int)n, dirs, name);
		int rc = check_file(try);

		if (rc == 0) {
			*path = take_ptr(try);
			return 0;
		}
		if (rc != ENOENT && rc != ENOTDIR && rc != EISDIR)
			code = rc;
		if (dirs[n] == '\0')
			return code;
		dirs += n + 1;
	}
}

int program_find(const char *name, char *const *envp, char **path, struct error *err)
{
	bool direct = strchr(name, '/') != NULL;
	char word[WORD_SHOWN];
	int code = ENOENT;

	if (direct) {
		code = check_file(name);
		if (code == 0)
			*path = xstrdup(name);
	} else if (*name) {
		code = search(name, search_path(envp), path);
	}
	if (code == 0)
		return 0;
	if (code == EPERM || code == ENOSYS) {
		(void)error_set(
			err, code,
			"cannot find out whether %s can be run (a container's seccomp filter "
			"may be in the way)",
			name);
		return LAUNCHER_EXIT_SETUP;
	}
	if (code == ENOENT && strchr(name, ' '))
		(void)error_set(err, 0,
				"%s: command not found; it is one word with blanks in it: leave "
				"out the quotes, or run: sh -c '...'",
				name);
	else if (code == ENOENT && !direct && strchr(name, '='))
		(void)error_set(
			err, 0,
			"%s: command not found; to set a variable for the command: --env %s", name,
			shellword(word, sizeof(word), name));
	else if (code == ENOENT && !direct)
		(void)error_set(err, 0, "%s: command not found", name);
	else if (code == ENOENT && strncmp(name, "/tmp/", 5) == 0)
		(void)error_set(err, code,
				"%s (the sandbox has its own /tmp; grant it with --exec)", name);
	else
		(void)error_set(err, code, "%s", name);
	return program_exit_code(code);
}
