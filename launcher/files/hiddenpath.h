/*
 * hiddenpath.h - where something that is to be hidden lies, by way of symbolic links
 *
 * Who replaces a link, or makes what one leads to, brings something to light by a name that was to be
 * hidden. So each link on the way is a name to hide, and so is the place of what is missing.
 */
#ifndef LAUNCHER_FILES_HIDDENPATH_H
#define LAUNCHER_FILES_HIDDENPATH_H

#include <stdbool.h>

/** typedef hiddenpath_name - takes a name in a canonical directory: a link, or what is missing */
typedef void hiddenpath_name(void *arg, const char *dir, const char *name);

/** struct hiddenpath - what has become of a path */
struct hiddenpath {
	int fd;	   /* O_PATH, of its end; -1 if there is none */
	int code;  /* why, as errno: ENOENT for what is missing */
	bool back; /* a ".." comes behind what is missing, and would go back from it */
};

/**
 * hiddenpath_find() - follow an absolute path to its end
 * @name: called for each link, and for the first component that is missing
 *
 * The descriptor is the caller's.
 */
struct hiddenpath hiddenpath_find(const char *path, hiddenpath_name *name, void *arg);

#endif
