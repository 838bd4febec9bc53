/*
 * ttykeep.h - a terminal that the command holds without a relay, put back as it was
 *
 * Where not both of 0 and 1 are a terminal (pty.h) the command gets the user's own, and may set its
 * modes, its permissions and its flags. A small process looks at them before the command runs, and
 * puts them back when it is over, however it ended.
 */
#ifndef LAUNCHER_TTYKEEP_H
#define LAUNCHER_TTYKEEP_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/**
 * ttykeep_start() - fork the process, if one of 0, 1 and 2 is a terminal
 * @pidfd: of pid 1, whose end it waits for
 * @modes: false: the command cannot set modes (seccomp_options.no_modes), and what is typed is another's
 *
 * Permissions, and the flags of an open file that is shared with the shell, come back in any case. The
 * modes do where they are surely the run's: it is in the foreground, at the start and at the end, and
 * none of 0, 1 and 2 is a pipe, at whose other end a pager may have set them. Then the input that has come
 * meanwhile goes, too (ttyquiet.h). To be called before the command is released. Return: the process, 0 if
 * there is none; -1 with @err.
 */
pid_t ttykeep_start(int pidfd, bool modes, struct error *err);

/**
 * ttykeep_finish() - pid 1 is gone: wait until all is put back
 *
 * What the process has not done, since somebody has killed it, is done here, but for the permissions,
 * which the filter of the supervisor leaves alone.
 */
void ttykeep_finish(pid_t keeper);

#endif
