/*
 * fairshare.h - what several take of, and none may use up
 *
 * One rule: nobody has more than is left besides, so that what is left is there for whoever comes
 * next. Who comes late in a row of such takers would find little, and after some of them nothing; so
 * a quarter of all is kept for those who have little so far. Whoever is many takers at once can use
 * that up, too, FAIRSHARE_LATE of them at the earliest.
 */
#ifndef BASE_FAIRSHARE_H
#define BASE_FAIRSHARE_H

#include <stdbool.h>
#include <stddef.h>

#define FAIRSHARE_KEPT 4  /* one part of so many is for those who have little */
#define FAIRSHARE_LATE 64 /* of them that it is enough for */

/**
 * struct fairshare - a stock
 * @max, @taken: what there is, and how much of it all together have
 * @takers: how many share it; one alone may have everything
 */
struct fairshare {
	size_t max, taken, takers;
};

/**
 * fairshare_may() - whether a taker may have @n more
 * @mine: what it has
 */
bool fairshare_may(const struct fairshare *f, size_t mine, size_t n);

#endif
