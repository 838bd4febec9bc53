#include "cli/suffixfile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/xalloc.h"

struct suffixes *suffixfile_read(void)
{
	CLEANUP_CLOSE int fd = open(SUFFIXFILE_PATH, O_RDONLY | O_CLOEXEC);
	CLEANUP_FREE char *bytes = NULL;
	struct suffixes *s = NULL;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    st.st_size <= SUFFIX_BYTES_MAX) {
		size_t n = (size_t)st.st_size;

		bytes = xmalloc(n);
		if (read(fd, bytes, n) == (ssize_t)n)
			s = suffixes_new(bytes, n);
	}
	if (!s)
		log_info("no public suffix list in %s: no answer can be widened", SUFFIXFILE_PATH);
	return s;
}
