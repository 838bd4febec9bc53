/*
 * fdreserve.h - descriptors kept back for this process's own work
 *
 * Connections may take every descriptor there is. What decides about them (reading the policy again,
 * listing our own addresses) must work all the same: whoever it would turn away must not be able to
 * keep it from being read.
 */
#ifndef BASE_FDRESERVE_H
#define BASE_FDRESERVE_H

#define FDRESERVE_MAX 12 /* more than a reload or a list of addresses has open at a time */

/** fdreserve_fill() - keep descriptors back, as far as there are any; done once, before connections come. */
void fdreserve_fill(void);

/**
 * fdreserve_lend() - let what follows have them; calls may nest
 *
 * Nothing that a stranger causes may open descriptors before fdreserve_back(). Without
 * fdreserve_fill() there is nothing to lend.
 */
void fdreserve_lend(void);

/** fdreserve_back() - keep them back again. */
void fdreserve_back(void);

#endif
