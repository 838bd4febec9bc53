/*
 * hashbang.h - the first line of a script, as the kernel and env(1) read it
 */
#ifndef CLI_HASHBANG_H
#define CLI_HASHBANG_H

#include <stdbool.h>

#define HASHBANG_MAX 256 /* BINPRM_BUF_SIZE of the kernel */

/**
 * struct hashbang - "#!INTERPRETER ARGUMENT", a value
 * @interpreter: as it stands there; perhaps relative
 * @argument: the rest of the line, one word to the kernel; "" if there is none
 */
struct hashbang {
	char interpreter[HASHBANG_MAX];
	char argument[HASHBANG_MAX];
};

/** hashbang_read() - false for what has none, or cannot be read (and so is no script that runs). */
bool hashbang_read(const char *path, struct hashbang *out);

/**
 * hashbang_env() - whether env(1) is the interpreter, and what it looks up in PATH
 * @name: receives that; "" if there is none
 */
bool hashbang_env(const struct hashbang *h, char name[static HASHBANG_MAX]);

#endif
