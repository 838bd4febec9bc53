#include "base/decimal.h"

#include <string.h>

size_t decimal_format(uint64_t v, char out[DECIMAL_MAX])
{
	char digits[DECIMAL_MAX];
	size_t i = DECIMAL_MAX;

	do
		digits[--i] = (char)('0' + v % 10);
	while (v /= 10);
	memcpy(out, digits + i, DECIMAL_MAX - i);
	return DECIMAL_MAX - i;
}
