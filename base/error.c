#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"

/* Cuts silently: a message that does not fit is still a message. */
static void append(char *msg, const char *text)
{
	size_t have = strlen(msg);

	if (have < ERROR_MSG_MAX - 1)
		(void)snprintf(msg + have, ERROR_MSG_MAX - have, "%s", text);
}

int error_set(struct error *err, int code, const char *fmt, ...)
{
	char raw[ERROR_MSG_MAX];
	va_list ap;

	if (!err)
		return -1;
	err->code = code;
	va_start(ap, fmt);
	if (vsnprintf(raw, sizeof(raw), fmt, ap) < 0)
		raw[0] = '\0';
	va_end(ap);
	(void)printable(err->msg, sizeof(err->msg), raw);
	if (code) {
		append(err->msg, ": ");
		append(err->msg, strerror(code));
	}
	return -1;
}

int error_wrap(struct error *err, const char *fmt, ...)
{
	char raw[ERROR_MSG_MAX];
	char old[ERROR_MSG_MAX];
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	if (vsnprintf(raw, sizeof(raw), fmt, ap) < 0)
		raw[0] = '\0';
	va_end(ap);
	memcpy(old, err->msg, sizeof(old));
	(void)printable(err->msg, sizeof(err->msg), raw);
	append(err->msg, ": ");
	append(err->msg, old);
	return -1;
}
