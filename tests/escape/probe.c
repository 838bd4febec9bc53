/*
 * probe.c - run one probe and say how it went: `escape_probe NAME [ARG]...`
 */
#include "tests/escape/probe.h"

#include <stdio.h>
#include <string.h>

static const struct probe *find(const struct probe *table, const char *name)
{
	for (; table->name; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

int main(int argc, char *argv[])
{
	const struct probe *const tables[] = { net_probes, process_probes, file_probes };
	const struct probe *p = NULL;
	int rc;

	for (size_t i = 0; argc > 1 && i < sizeof(tables) / sizeof(tables[0]) && !p; i++)
		p = find(tables[i], argv[1]);
	if (!p) {
		(void)fprintf(stderr, "usage: escape_probe NAME [ARG]...\n");
		return 64;
	}
	rc = p->run(argv + 2);
	if (rc == PROBE_SKIP)
		(void)puts("SKIP");
	else
		(void)puts(rc == 0 ? "OK" : strerrorname_np(rc));
	return 0;
}
