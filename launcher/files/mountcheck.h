/*
 * mountcheck.h - whether each path leads to what has been mounted there, seen from inside
 *
 * A mount that nobody reaches protects nothing and says nothing: one on "/", below which every look-up
 * begins; one that another has covered since; one on a directory that was moved away meanwhile.
 */
#ifndef LAUNCHER_FILES_MOUNTCHECK_H
#define LAUNCHER_FILES_MOUNTCHECK_H

#include <stddef.h>

#include "base/error.h"
#include "launcher/launcher.h"
#include "launcher/files/mountplan.h"

/**
 * mountcheck_next() - the first step, from @i on, whose path leads past its mount
 *
 * Paths are looked up as the command will. To be called after the last mount. Return: its index; the
 * number of steps when all are reached.
 */
size_t mountcheck_next(const struct mountplan *p, size_t i);

/** mountcheck_past() - the words for what it found. Return: -1. */
int mountcheck_past(const char *path, int code, struct error *err);

/**
 * mountcheck_cwd() - open the working directory where the mounts have put it
 *
 * It must be what was judged, and lie in what is attached above it. Return: a descriptor (O_PATH),
 * which the caller owns; -1 with @err.
 */
int mountcheck_cwd(const struct mountplan *p, const struct launcher_plan *plan, struct error *err);

#endif
