/*
 * deniedpath.h - whether a path that is to be denied can be what its writer meant
 *
 * A path that names nothing denies nothing. Most often that is as wanted, for it may be made later; but
 * not where a shell, or another program, would have made another path of it.
 */
#ifndef POLICY_DENIEDPATH_H
#define POLICY_DENIEDPATH_H

/** deniedpath_slip() - what is wrong with @path, as it was written, and what to write; NULL if nothing is. */
const char *deniedpath_slip(const char *path);

#endif
