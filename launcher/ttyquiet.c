#include "launcher/ttyquiet.h"

#include <poll.h>
#include <stdint.h>
#include <termios.h>

#include "base/clock.h"

#define QUIET_MS 30
#define MAX_MS	 300

void ttyquiet_discard(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t end = clock_ms() + MAX_MS;
	struct termios was, raw;

	if (tcgetattr(fd, &was) < 0)
		return;
	raw = was;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
	/* Output that a key has stopped stays so until IXON goes, whatever modes come (n_tty_set_termios()). */
	raw.c_iflag &= ~(tcflag_t)IXON;
	raw.c_cc[VMIN] = 1; /* poll(2) heeds it */
	raw.c_cc[VTIME] = 0;
	(void)tcsetattr(fd, TCSANOW, &raw);
	do
		(void)tcflush(fd, TCIFLUSH);
	while (clock_ms() < end && poll(&p, 1, QUIET_MS) == 1 && p.revents & POLLIN);
	(void)tcsetattr(fd, TCSANOW, &was);
}
