/*
 * main.c - the program; everything it can do stands in the table of commands.c
 */
#include "cli/commands.h"

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

int main(int argc, char **argv)
{
	return commands_main(argc, argv);
}
