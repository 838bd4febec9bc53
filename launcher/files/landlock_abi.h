/*
 * landlock_abi.h - which Landlock rights exist in which ABI; own constants
 *
 * Debian 12's <linux/landlock.h> stops at ABI 2, so nothing here depends on it.
 */
#ifndef LAUNCHER_FILES_LANDLOCK_ABI_H
#define LAUNCHER_FILES_LANDLOCK_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define LANDLOCK_ABI_MIN 5  /* Linux 6.10: the first that mediates device ioctls */
#define LANDLOCK_ABI_MAX 10 /* the highest that has been reviewed; newer kernels are used as it */

#define LL_FS_EXECUTE	   (1ULL << 0)
#define LL_FS_WRITE_FILE   (1ULL << 1)
#define LL_FS_READ_FILE	   (1ULL << 2)
#define LL_FS_READ_DIR	   (1ULL << 3)
#define LL_FS_REMOVE_DIR   (1ULL << 4)
#define LL_FS_REMOVE_FILE  (1ULL << 5)
#define LL_FS_MAKE_CHAR	   (1ULL << 6)
#define LL_FS_MAKE_DIR	   (1ULL << 7)
#define LL_FS_MAKE_REG	   (1ULL << 8)
#define LL_FS_MAKE_SOCK	   (1ULL << 9)
#define LL_FS_MAKE_FIFO	   (1ULL << 10)
#define LL_FS_MAKE_BLOCK   (1ULL << 11)
#define LL_FS_MAKE_SYM	   (1ULL << 12)
#define LL_FS_REFER	   (1ULL << 13) /* ABI 2 */
#define LL_FS_TRUNCATE	   (1ULL << 14) /* ABI 3 */
#define LL_FS_IOCTL_DEV	   (1ULL << 15) /* ABI 5 */
#define LL_FS_RESOLVE_UNIX (1ULL << 16) /* ABI 9 */

#define LL_NET_BIND_TCP		(1ULL << 0) /* ABI 4 */
#define LL_NET_CONNECT_TCP	(1ULL << 1) /* ABI 4 */
#define LL_NET_BIND_UDP		(1ULL << 2) /* ABI 10 */
#define LL_NET_CONNECT_SEND_UDP (1ULL << 3) /* ABI 10 */

#define LL_SCOPE_ABSTRACT_UNIX (1ULL << 0) /* ABI 6 */
#define LL_SCOPE_SIGNAL	       (1ULL << 1) /* ABI 6 */

/* The rights that a rule on something other than a directory may carry; others are EINVAL. */
#define LL_FS_FILE                                                                               \
	(LL_FS_EXECUTE | LL_FS_WRITE_FILE | LL_FS_READ_FILE | LL_FS_TRUNCATE | LL_FS_IOCTL_DEV | \
	 LL_FS_RESOLVE_UNIX)

/** struct landlock_attr - struct landlock_ruleset_attr of ABI 6 and later */
struct landlock_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

/**
 * struct landlock_rights - what a kernel can mediate
 * @abi: the ABI these masks belong to, LANDLOCK_ABI_MIN to LANDLOCK_ABI_MAX
 * @fs, @net, @scoped: every right of that ABI
 * @attr_size: how much of struct landlock_attr that ABI knows
 */
struct landlock_rights {
	int abi;
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
	size_t attr_size;
};

/**
 * landlock_abi_rights() - the masks for what landlock_create_ruleset(VERSION) answered
 * @version: the kernel's answer; above LANDLOCK_ABI_MAX it is used as LANDLOCK_ABI_MAX
 * @code: errno when @version is -1
 *
 * Pure, so that a test can play any kernel. Return: 0; -1 with @err, which names the remedy (a
 * newer kernel, the lsm= boot parameter), when there is no Landlock or it is too old.
 */
int landlock_abi_rights(int version, int code, struct landlock_rights *out, struct error *err);

/** landlock_abi_query() - landlock_abi_rights() for the running kernel. */
int landlock_abi_query(struct landlock_rights *out, struct error *err);

#endif
