/*
 * devpts.h - pseudo-terminals of the run's own
 */
#ifndef LAUNCHER_FILES_DEVPTS_H
#define LAUNCHER_FILES_DEVPTS_H

#include <stdbool.h>

/**
 * devpts_mount() - mount a new instance of devpts, for 256 of them, on /dev/pts
 *
 * Needs CAP_SYS_ADMIN over the mount namespace; the read-only flag of the whole tree must be set
 * before. With the host's instance a command could read and write the user's other terminals:
 * where this fails, landlock_plan.private_pts must stay false, and the command has no
 * pseudo-terminals at all; without rules for files it must not run.
 *
 * Return: whether /dev/pts is the run's own now; errno if not.
 */
bool devpts_mount(void);

#endif
