/*
 * learn.h - --learn FILE: at the end of a run, what it needed goes into a settings file
 *
 * Theory of operation: the directory of the file is opened, the file locked and read before the
 * command runs, which may be able to write there. At the end the text of then is merged with what
 * was learnt and put in place by rename: what the command did to the file meanwhile does not count.
 */
#ifndef CLI_REPORT_LEARN_H
#define CLI_REPORT_LEARN_H

#include "base/error.h"
#include "cli/report/tally.h"

struct learn;

/** learn_new() - NULL with @err if the file is none of ours, or another run learns there. */
struct learn *learn_new(const char *file, struct error *err);

/** learn_free() - NULL is allowed. */
void learn_free(struct learn *l);

/** learn_dir() - the directory in which learn_save() writes. */
const char *learn_dir(const struct learn *l);

/**
 * learn_save() - write the file and say on stderr what is new
 *
 * Return: 0, or -1 with @err; then the file is as it was.
 */
int learn_save(const struct learn *l, const struct tally *t, struct error *err);

#endif
