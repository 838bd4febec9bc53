#include "base/fdreserve.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

static int held[FDRESERVE_MAX];
static size_t nheld;
static unsigned lent;
static bool filled;

void fdreserve_fill(void)
{
	filled = true;
	while (nheld < FDRESERVE_MAX) {
		int fd = nheld ? fcntl(held[0], F_DUPFD_CLOEXEC, 0)
			       : open("/dev/null", O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return;
		held[nheld++] = fd;
	}
}

void fdreserve_lend(void)
{
	if (lent++ > 0)
		return;
	while (nheld > 0)
		(void)close(held[--nheld]);
}

void fdreserve_back(void)
{
	if (--lent == 0 && filled)
		fdreserve_fill();
}
