/*
 * mountplan.h - what is to be mounted where, worked out before anything is mounted
 */
#ifndef LAUNCHER_FILES_MOUNTPLAN_H
#define LAUNCHER_FILES_MOUNTPLAN_H

#include "base/error.h"
#include "launcher/files/mountsteps.h"
#include "launcher/files/protect.h"
#include "launcher/launcher.h"

/**
 * mountplan_make() - open every path once and settle which steps hold
 *
 * Called in the new mount namespace, before anything is mounted. Return: 0, or -1 with @err.
 */
int mountplan_make(const struct launcher_plan *plan, const struct protect *protect,
		   struct mountplan *out, struct error *err);

/** mountplan_clear() - close and free. */
void mountplan_clear(struct mountplan *p);

#endif
