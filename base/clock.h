/*
 * clock.h - the time that only goes forward, by which waits and rates are measured
 *
 * CLOCK_MONOTONIC: nobody sets it, and it stands still while the machine is suspended.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/** clock_ms() - milliseconds since some start; never 0, so that 0 may stand for "not yet". */
uint64_t clock_ms(void);

/** clock_us() - the same in microseconds. */
uint64_t clock_us(void);

#endif
