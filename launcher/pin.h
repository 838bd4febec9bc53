/*
 * pin.h - run a program only if its bytes have a given SHA-256
 */
#ifndef LAUNCHER_PIN_H
#define LAUNCHER_PIN_H

#include <stdint.h>

#include "base/error.h"

#define PIN_BYTES 32 /* SHA-256 */

/**
 * pin_parse_hex() - parse --pin-sha256
 * @text: exactly what sha256sum prints: an empty or sloppy pin must not mean "no pin"
 * @out: untouched on failure
 *
 * Return: 0, or -1 with @err.
 */
int pin_parse_hex(const char *text, uint8_t out[PIN_BYTES], struct error *err);

/**
 * pin_check() - hash a program and yield the descriptor to execute
 * @fd: the program, opened O_PATH or for reading; stays the caller's
 * @want: the digest it must have
 *
 * Refuses what is not a regular file, what cannot be read, an empty file and scripts ("#!": the
 * pin would say nothing about the interpreter). A file that this user can change is hashed while
 * it is copied into a sealed memfd, which is what runs then: a write after the hash changes
 * nothing. Must run before seccomp and needs /proc.
 *
 * Return: a CLOEXEC descriptor for execveat(2), which the caller owns; -1 with @err (code EACCES
 * when the digest differs).
 */
int pin_check(int fd, const uint8_t want[PIN_BYTES], struct error *err);

#endif
