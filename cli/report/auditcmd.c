/*
 * auditcmd.c - `sbx-net audit verify FILE`: whether the hash chain of an audit log holds
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "launcher/launcher.h"
#include "proxy/audit_chain.h"

#define EXIT_BROKEN 1

static int usage(void)
{
	fprintf(stderr, "sbx-net: usage: sbx-net audit verify FILE\n");
	return OPTIONS_EXIT_USAGE;
}

static int verify(FILE *in, const char *name)
{
	CLEANUP_FREE char *line = NULL;
	struct audit_chain chain;
	unsigned long number = 0;
	size_t size = 0;
	ssize_t n;

	audit_chain_init(&chain);
	while ((n = getline(&line, &size, in)) > 0) {
		number++;
		if (line[n - 1] != '\n' || !audit_chain_check(&chain, line, (size_t)n - 1)) {
			printf("%s:%lu: %s\n", name, number,
			       number > 1 || strstr(line, "\"chain\":")
				       ? "the chain is broken here"
				       : "no chain begins here: was it written with "
					 "--audit-chain?");
			return EXIT_BROKEN;
		}
	}
	if (ferror(in)) {
		fprintf(stderr, "sbx-net: cannot read '%s': %s\n", name, strerror(errno));
		return LAUNCHER_EXIT_SETUP;
	}
	if (number == 0) {
		printf("%s: no line\n", name);
		return EXIT_BROKEN;
	}
	printf("%s: %lu line%s, the chain holds; last %s\n", name, number, number == 1 ? "" : "s",
	       chain.last);
	return fflush(stdout) == 0 ? 0 : LAUNCHER_EXIT_SETUP;
}

int audit_main(int argc, char **argv)
{
	FILE *in;
	int status;

	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		command_help(stdout, command_find("audit"));
		return 0;
	}
	if (argc != 3 || strcmp(argv[1], "verify") != 0)
		return usage();
	in = fopen(argv[2], "re");
	if (!in) {
		fprintf(stderr, "sbx-net: cannot read '%s': %s\n", argv[2], strerror(errno));
		return LAUNCHER_EXIT_SETUP;
	}
	status = verify(in, argv[2]);
	(void)fclose(in);
	return status;
}
