/*
 * ownpath.h - who can have made a path of ours what it is, where HOME or a variable says where that is
 *
 * After `sudo -E` or `su -m` HOME is another user's, who could have root obey a settings file of his, or
 * write where a link of his leads.
 */
#ifndef CLI_OWNPATH_H
#define CLI_OWNPATH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/** ownpath_is_roots() - whether an owner is root, also one outside of this user namespace. */
bool ownpath_is_roots(uid_t uid);

/**
 * ownpath_check() - whether root alone has made a path, as it is named and where it leads
 * @path: absolute; what of it is missing is no matter
 *
 * Asked by root only: who is an ordinary user risks no more than what is his, and containers run as users
 * to whom nothing belongs. "/" itself is not looked at: whoever has that has everything. Return: 0, or -1
 * with @err, which says what to type.
 */
int ownpath_check(const char *path, struct error *err);

#endif
