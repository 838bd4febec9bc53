/*
 * main.c - the program; everything it can do stands in the table of commands.c
 */
#include <signal.h>
#include <stdio.h>

#include "cli/commands.h"
#include "base/closefds.h"
#include "launcher/launcher.h"

#ifdef __SANITIZE_ADDRESS__
/*
 * LeakSanitizer looks for leaks at exit by a process of its own, and the supervisor's filter kills
 * whoever clones. The unit tests look for leaks.
 */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

/*
 * A descriptor of ours that became 0, 1 or 2 would be the command's to use. Where a caller ignores the
 * end of its children, the kernel reaps ours, and nobody learns a status.
 */
int main(int argc, char **argv)
{
	struct error err;

	(void)signal(SIGCHLD, SIG_DFL);
	if (closefds_fill_stdio(&err) < 0) {
		(void)fprintf(stderr, "sbx-net: %s\n", err.msg);
		return LAUNCHER_EXIT_SETUP;
	}
	return commands_main(argc, argv);
}
