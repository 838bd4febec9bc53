/*
 * caps.c - give up every capability, for good
 *
 * By the system calls themselves: libcap would be one more library to load at every start.
 */
#include "launcher/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define CAP_BITS 64 /* two 32-bit words in capget(2), version 3 */

/* KEEP_CAPS is left off, and locked so. */
#define SECUREBITS                                                                               \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                         \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | \
	 SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static struct __user_cap_header_struct header(void)
{
	return (struct __user_cap_header_struct){ .version = _LINUX_CAPABILITY_VERSION_3 };
}

/* The kernel may know capabilities that our headers do not: it says where they end. */
static int drop_bounding(struct error *err)
{
	for (unsigned long cap = 0; cap < CAP_BITS; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		if (errno == EINVAL) /* past the last one; what is left will be seen */
			return 0;
		return error_set(err, errno, "cannot drop capability %lu from the bounding set",
				 cap);
	}
	return 0;
}

static int check_sets(struct error *err)
{
	struct __user_cap_header_struct h = header();
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &h, d) < 0)
		return error_set(err, errno, "cannot read the capabilities");
	for (size_t i = 0; i < ARRAY_SIZE(d); i++)
		if (d[i].effective || d[i].permitted || d[i].inheritable)
			return error_set(
				err, 0,
				"capabilities are left: word %zu effective %x permitted %x "
				"inheritable %x",
				i, d[i].effective, d[i].permitted, d[i].inheritable);
	return 0;
}

static int check_bounding_and_ambient(struct error *err)
{
	for (unsigned long cap = 0; cap < CAP_BITS; cap++) {
		int bounding = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (bounding < 0 && cap > 0)
			return 0; /* past the last one */
		if (bounding != 0)
			return error_set(err, 0, "capability %lu is left in the bounding set", cap);
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) != 0)
			return error_set(err, 0, "capability %lu is left in the ambient set", cap);
	}
	return 0;
}

int caps_check_none(struct error *err)
{
	int bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);

	if (check_sets(err) < 0 || check_bounding_and_ambient(err) < 0)
		return -1;
	if (bits < 0 || (bits & SECUREBITS) != SECUREBITS || (bits & SECBIT_KEEP_CAPS))
		return error_set(err, 0, "the securebits are %x instead of %x", (unsigned int)bits,
				 SECUREBITS);
	return 0;
}

int caps_drop_all(struct error *err)
{
	struct __user_cap_header_struct h = header();
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return error_set(err, errno, "cannot clear the ambient capabilities");
	if (prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0) < 0)
		return error_set(err, errno, "cannot lock the securebits");
	if (drop_bounding(err) < 0)
		return -1;
	if (syscall(SYS_capset, &h, none) < 0)
		return error_set(err, errno, "cannot drop the capabilities");
	return caps_check_none(err);
}
