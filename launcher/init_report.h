/*
 * init_report.h - what pid 1, and the command before it is one, tell the supervisor of the start
 */
#ifndef LAUNCHER_INIT_REPORT_H
#define LAUNCHER_INIT_REPORT_H

#include "base/error.h"
#include "launcher/launcher.h"

/**
 * struct init_report - how the start went; one atomic write on a pipe
 * @exit_code: 0: the proof has held, and the command waits for its release
 * @err: why the command never ran, unless @exit_code is 0
 * @proof: if it is
 */
struct init_report {
	int exit_code;
	struct error err;
	struct launcher_proof proof;
};

/** init_fail() - send a report and end this process with its exit code. */
void init_fail(int status, int exit_code, const struct error *err) __attribute__((noreturn));

#endif
