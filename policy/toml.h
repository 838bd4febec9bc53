/*
 * toml.h - strings, booleans and their keys out of a TOML 1.0 file, strictly
 *
 * For the settings of another program (codex.h): the values are handed to a callback with their
 * whole key. Numbers, dates and the like are checked for their outline only and handed over as
 * TOML_OTHER. What is not understood is an error with its line; nothing is passed over.
 */
#ifndef POLICY_TOML_H
#define POLICY_TOML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define TOML_DEPTH_MAX 32	     /* segments of a key, and values in values */
#define TOML_KEY_MAX   1024	     /* bytes of all segments of a key together */
#define TOML_FILE_MAX  (1024 * 1024) /* bytes */

/** enum toml_kind - what a value is */
enum toml_kind {
	TOML_STRING,
	TOML_TRUE,
	TOML_FALSE,
	TOML_OTHER, /* a number or a date */
	TOML_TABLE, /* a [header] or an inline table: the members follow */
	TOML_ARRAY, /* an array: the elements follow, with @element set */
};

/**
 * struct toml_item - one value; every pointer is valid during the call only
 * @key: its whole key, @nkey segments
 * @element: it stands in an array of that key
 * @text: decoded, for strings; else NULL. Never holds a NUL.
 */
struct toml_item {
	const char *const *key;
	size_t nkey;
	enum toml_kind kind;
	bool element;
	const char *text;
	unsigned line;
};

/** typedef toml_cb - Return: 0 to go on, -1 with @err to stop */
typedef int toml_cb(void *arg, const struct toml_item *item, struct error *err);

/**
 * toml_parse() - hand over every value in the order of the text
 * @file: for messages
 *
 * A key that is given twice is not noticed here. Return: 0, or -1 with @err ("FILE:LINE: ...").
 */
int toml_parse(const char *text, size_t len, const char *file, toml_cb *cb, void *arg,
	       struct error *err);

#endif
