/*
 * printable.h - text of unknown origin, fit for a line of a terminal
 *
 * Names of files and keys of settings may be a stranger's: a repository's, or the command's. What
 * is printed of them must not move the cursor, set a title or turn the direction of writing.
 */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include <stddef.h>

/**
 * printable() - a copy that shows as it reads
 * @out: receives it, always terminated; cut if too small. Not @s
 * @size: of @out, at least 1
 *
 * UTF-8 stays, but for characters that control; each byte of those, and of what is not UTF-8, becomes
 * \xNN. A backslash stays: what has been escaped before is not escaped again. log_escape() is the
 * stricter one, for what a peer has chosen. Return: @out.
 */
char *printable(char *out, size_t size, const char *s);

#endif
