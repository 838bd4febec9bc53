/*
 * selfpath.h - where our own program is
 */
#ifndef CLI_SELFPATH_H
#define CLI_SELFPATH_H

/** selfpath() - absolute path of the running program, which the caller frees; NULL if unknown. */
char *selfpath(void);

#endif
