/*
 * route.h - inside proxy/: from a target to a connected upstream side, or to a refusal
 */
#ifndef PROXY_ROUTE_H
#define PROXY_ROUTE_H

#include "proxy/conn.h"

/** route_judge() - decide @t, and ask, resolve, dial as the verdict says. */
void route_judge(struct conn *c, const struct target *t);

/** route_dial() - the target was judged: reach it (again). */
void route_dial(struct conn *c);

#endif
