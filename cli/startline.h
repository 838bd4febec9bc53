/*
 * startline.h - the first line of a run's audit log: what its sandbox is, and that it was tried
 */
#ifndef CLI_STARTLINE_H
#define CLI_STARTLINE_H

#include <stdbool.h>

#include "base/error.h"
#include "launcher/digest.h"
#include "launcher/launcher.h"

struct audit;
struct policy;

/**
 * struct startline - what it says; filled while files may still be opened
 * @policy: SHA-256 of the policy's rules in a text form
 */
struct startline {
	char policy[DIGEST_HEX_SIZE];
	enum fs_mode fs;
	bool capture, unix_sockets, ptrace;
};

/** startline_digest() - the digest of every rule, in order, and of what an unknown host gets. */
int startline_digest(const struct policy *p, char out[DIGEST_HEX_SIZE], struct error *err);

/** startline_write() - the line. */
void startline_write(struct audit *a, const struct startline *s,
		     const struct launcher_proof *proof);

#endif
