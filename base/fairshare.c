#include "base/fairshare.h"

bool fairshare_may(const struct fairshare *f, size_t mine, size_t n)
{
	size_t left = f->taken < f->max ? f->max - f->taken : 0;
	size_t kept = f->max / FAIRSHARE_KEPT;

	if (n > left)
		return false;
	if (f->takers <= 1)
		return true;
	return mine == 0 || mine + n <= kept / FAIRSHARE_LATE || mine + n + kept <= left - n;
}
