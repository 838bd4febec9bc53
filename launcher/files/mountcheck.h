/*
 * mountcheck.h - whether each path leads to what has been mounted there, seen from inside
 *
 * A mount that nobody reaches protects nothing and says nothing: one on "/", below which every look-up
 * begins; one that another has covered since; one on a directory that was moved away meanwhile.
 */
#ifndef LAUNCHER_FILES_MOUNTCHECK_H
#define LAUNCHER_FILES_MOUNTCHECK_H

#include "base/error.h"
#include "launcher/launcher.h"
#include "launcher/files/mountplan.h"

/**
 * mountcheck_steps() - look up the path of each step as the command will
 *
 * To be called after the last mount. Return: 0, or -1 with @err, which names the path that leads past
 * its mount.
 */
int mountcheck_steps(const struct mountplan *p, struct error *err);

/**
 * mountcheck_cwd() - open the working directory where the mounts have put it
 *
 * It must be what was judged, and lie in what is attached above it. Return: a descriptor (O_PATH),
 * which the caller owns; -1 with @err.
 */
int mountcheck_cwd(const struct mountplan *p, const struct launcher_plan *plan, struct error *err);

#endif
