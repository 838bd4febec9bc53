/*
 * records.h - records that are passed on: taken apart, checked, and put together again
 */
#ifndef DNS_RECORDS_H
#define DNS_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "dns/wire.h"
#include "policy/hostname.h"

/** records_known() - whether the type is one of enum recordtype, none of which holds an address. */
bool records_known(uint16_t type);

/**
 * records_parse() - the records of a type that a server answers for a name
 * @type: one of enum recordtype
 * @out: possibly none, when the server has nothing of this type
 *
 * The data is read field by field; names in it lose their compression. Nothing else of the message
 * is kept: no other type, no additional section.
 *
 * Return: PARSE_OK, or PARSE_BAD for a malformed message, one that answers something else, or more
 * than WIRE_RECORDS_MAX records or WIRE_RECORDS_BYTES bytes.
 */
enum parse records_parse(const void *p, size_t n, const struct hostname *name, uint16_t type,
			 struct wire_records *out);

#endif
