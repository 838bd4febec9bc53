/*
 * error.h - an error value on the caller's stack
 *
 * A set-up function that fails returns -1 (or NULL) and fills a struct error. The value owns
 * nothing, needs no release, and fits one write() on a pipe, so that a child can send it to its
 * parent after fork().
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#define ERROR_MSG_MAX 1020

/**
 * struct error - what went wrong
 * @code: the errno value, or 0 where none applies
 * @msg: one sentence for the user, without a final newline, always terminated
 */
struct error {
	int code;
	char msg[ERROR_MSG_MAX];
};

/**
 * error_set() - fill an error
 * @err: what to fill; NULL is allowed and ignored
 * @code: an errno value whose text is appended ("msg: No such file"), or 0
 * @fmt: printf format of the message; what comes of it is made printable()
 *
 * Return: always -1, so that a caller can write `return error_set(...)`.
 */
int error_set(struct error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * error_wrap() - put what was being done in front of an error ("policy: cannot open x")
 * @err: an error that has been set; NULL is allowed and ignored
 * @fmt: printf format of the prefix, without the colon
 *
 * Return: always -1.
 */
int error_wrap(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
