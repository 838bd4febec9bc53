/*
 * devpts.c - pseudo-terminals of the run's own
 *
 * Opening /dev/ptmx, which stays the host's node, looks for the instance in its neighbour "pts"
 * (Documentation/filesystems/devpts.rst), and so finds the new one.
 *
 * The kernel counts those of all instances together (kernel.pty.max, 4,096 as a rule): one run must
 * not have them all.
 */
#include "launcher/files/devpts.h"

#include <sys/mount.h>

bool devpts_mount(void)
{
	return mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		     "newinstance,ptmxmode=0666,mode=0620,max=256") == 0;
}
