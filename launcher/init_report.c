#include "launcher/init_report.h"

#include <assert.h>
#include <limits.h>
#include <unistd.h>

#include "base/fd.h"

void init_fail(int status, int exit_code, const struct error *err)
{
	struct init_report report = { .exit_code = exit_code, .err = *err };

	static_assert(sizeof(report) <= PIPE_BUF, "a report must be one atomic write");
	(void)fd_write_all(status, &report, sizeof(report));
	_exit(exit_code);
}
