/*
 * fuzz_hostsfile.c - the hosts file
 *
 * Properties: lines are independent of each other (what a file holds is what its two halves hold
 * together), and no text before a line keeps that line from being read.
 */
#include <stdlib.h>
#include <string.h>

#include "dns/hostsfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char last[] = "\n192.0.2.77 last.fuzz.example\n";

static size_t count(const char *text, size_t n)
{
	struct error err;
	struct hostsfile *h = hostsfile_parse(text, n, &err);
	size_t held;

	if (!h)
		abort();
	held = hostsfile_count(h);
	hostsfile_close(h);
	return held;
}

static void check_last_line(const char *text, size_t n)
{
	struct hostname name = { .len = 17, .s = "last.fuzz.example" };
	struct error err;
	struct hostsfile *h = hostsfile_parse(text, n, &err);
	struct addr v[4];
	bool found = false;
	size_t got;

	if (!h)
		abort();
	got = hostsfile_lookup(h, &name, v, 4);
	for (size_t i = 0; i < got; i++)
		found |= v[i].bytes[0] == 192 && v[i].bytes[3] == 77;
	if (got > 4 || (!found && got < 4))
		abort();
	hostsfile_close(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + sizeof(last));
	const char *cut;

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	memcpy(text + size, last, sizeof(last));
	cut = memchr(text + size / 2, '\n', size - size / 2 + 1);
	if (!cut)
		abort(); /* "last" begins with one */
	cut++;
	if (count(text, size + sizeof(last) - 1) !=
	    count(text, (size_t)(cut - text)) +
		    count(cut, size + sizeof(last) - 1 - (size_t)(cut - text)))
		abort();
	check_last_line(text, size + sizeof(last) - 1);
	free(text);
	return 0;
}
