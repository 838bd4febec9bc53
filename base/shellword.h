/*
 * shellword.h - a word as it has to be typed for a shell to pass it on as it is
 *
 * For hints that are meant to be copied: to a shell `[2001:db8::1]:443` and `*.example.com` are patterns
 * of file names, which zsh (and bash with failglob) takes for an error where no file matches.
 */
#ifndef BASE_SHELLWORD_H
#define BASE_SHELLWORD_H

#include <stddef.h>

/** SHELLWORD_MAX() - enough for any word of @n bytes */
#define SHELLWORD_MAX(n) (4 * (n) + 4)

/**
 * shellword() - quote a word if it has to be
 * @out: receives it: printable ASCII, always terminated
 * @size: of @out, at least 8; what does not fit is cut, and the quotes are closed
 *
 * Words of letters, digits and what no shell looks at stay as they are; others stand in single quotes.
 * With a byte that is not printable it is $'...', which is not plain POSIX. Return: @out.
 */
const char *shellword(char *out, size_t size, const char *word);

#endif
