/*
 * hiddenplan.h - what is to be hidden in the mount plan: credentials, what is ours, what is denied
 */
#ifndef LAUNCHER_FILES_HIDDENPLAN_H
#define LAUNCHER_FILES_HIDDENPLAN_H

#include "base/error.h"
#include "launcher/files/mountsteps.h"

/**
 * hiddenplan_add() - add a step for each path that is to be hidden, and keep those that are missing in mind
 * @p: with @seen
 *
 * Credential places and our own directories by each home, what variables have moved, denied paths, and all
 * of it by the names that second mounts give it. Return: 0, or -1 with @err.
 */
int hiddenplan_add(struct mountplan *p, const struct launcher_plan *plan, struct error *err);

/** hiddenplan_list() - fill in @hidden, sorted, and @second, once it is settled which steps hold. */
void hiddenplan_list(struct mountplan *p);

/** hiddenplan_clear() - free what the two have filled in, and @parents. */
void hiddenplan_clear(struct mountplan *p);

#endif
