/*
 * devpts.c - pseudo-terminals of the run's own
 *
 * Opening /dev/ptmx, which stays the host's node, looks for the instance in its neighbour "pts"
 * (Documentation/filesystems/devpts.rst), and so finds the new one.
 */
#include "launcher/files/devpts.h"

#include <sys/mount.h>

bool devpts_mount(void)
{
	return mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		     "newinstance,ptmxmode=0666,mode=0620") == 0;
}
