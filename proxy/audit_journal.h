/*
 * audit_journal.h - a line of the audit log as an entry of the systemd journal
 *
 * The native protocol (systemd's JOURNAL_NATIVE_PROTOCOL): one datagram an entry, FIELD=value a
 * line. Member "host" becomes SBX_NET_HOST and so on; MESSAGE is a sentence, PRIORITY 4 for what
 * was refused and 6 for the rest.
 */
#ifndef PROXY_AUDIT_JOURNAL_H
#define PROXY_AUDIT_JOURNAL_H

#include <stddef.h>

#include "base/error.h"

#define AUDIT_JOURNAL_SOCKET "/run/systemd/journal/socket"
#define AUDIT_JOURNAL_MAX    16384

/** audit_journal_open() - connect to @socket. Return: the descriptor, or -1 with @err. */
int audit_journal_open(const char *socket, struct error *err);

/**
 * audit_journal_format() - the datagram for a line
 * @line, @n: a JSON object, as base/jsonout writes it
 *
 * Return: its length; 0 if the line is no such object or does not fit.
 */
size_t audit_journal_format(const char *line, size_t n, char out[AUDIT_JOURNAL_MAX]);

#endif
