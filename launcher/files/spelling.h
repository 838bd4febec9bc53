/*
 * spelling.h - file systems on which a locked or hidden name can be spelled in a second way
 */
#ifndef LAUNCHER_FILES_SPELLING_H
#define LAUNCHER_FILES_SPELLING_H

#include "base/error.h"

struct mountplan;

/**
 * spelling_check() - whether each lock and cover in what the command may write holds for every spelling
 * @plan: carried out
 * @accept: WEAKER_SPELLING where that is accepted; never for what is hidden
 * @weaker: receives WEAKER_SPELLING where it was needed
 *
 * Return: 0, or -1 with @err, which names the path and the way out.
 */
int spelling_check(const struct mountplan *plan, unsigned accept, unsigned *weaker,
		   struct error *err);

#endif
