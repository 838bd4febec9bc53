/*
 * probe.c - run one probe and say how it went: `escape_probe NAME [ARG]...`
 */
#include "tests/escape/probe.h"

#include <stdio.h>
#include <string.h>

const struct probe *probe_find(const char *name)
{
	const struct probe *const tables[] = { net_probes, process_probes, file_probes,
					       whole_probes };

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct probe *p = tables[i]; p->name; p++)
			if (strcmp(p->name, name) == 0)
				return p;
	return NULL;
}

int main(int argc, char *argv[])
{
	const struct probe *p = argc > 1 ? probe_find(argv[1]) : NULL;
	int rc;

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
