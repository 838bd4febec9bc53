/*
 * savedaudit.h - an audit log, read back
 */
#ifndef CLI_REPORT_SAVEDAUDIT_H
#define CLI_REPORT_SAVEDAUDIT_H

#include <stdio.h>

#include "base/error.h"
#include "cli/report/tally.h"

/**
 * savedaudit_read() - add up the lines of a log
 * @name: for messages
 *
 * Kinds of line that are not known are passed over, and so is half a line that a full disk has left.
 * Return: how many lines were no JSON, or -1 with @err.
 */
long savedaudit_read(FILE *in, const char *name, struct tally *t, struct error *err);

#endif
