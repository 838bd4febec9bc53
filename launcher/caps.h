/*
 * caps.h - give up every capability, for good
 */
#ifndef LAUNCHER_CAPS_H
#define LAUNCHER_CAPS_H

#include "base/error.h"

/**
 * caps_drop_all() - empty the bounding, ambient, inheritable, permitted and effective sets
 *
 * Also sets and locks the securebits noroot, no-setuid-fixup, keep-caps (off) and
 * no-ambient-raise, so that uid 0 gains nothing by exec. Needs CAP_SETPCAP in the caller's user
 * namespace, which the creator of a user namespace has. Every set is read back.
 *
 * Return: 0; -1 with @err when anything failed or a bit is left.
 */
int caps_drop_all(struct error *err);

/**
 * caps_check_none() - whether all five sets are empty and the securebits are locked
 *
 * Return: 0, or -1 with @err that names the set and the capability that is left.
 */
int caps_check_none(struct error *err);

#endif
