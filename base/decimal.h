/*
 * decimal.h - numbers as text where printf() would be most of the work
 */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

#define DECIMAL_MAX 20 /* digits of UINT64_MAX */

/** decimal_format() - @v without leading zeros and without a terminator. Return: how many digits. */
size_t decimal_format(uint64_t v, char out[DECIMAL_MAX]);

#endif
