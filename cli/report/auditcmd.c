/*
 * auditcmd.c - `sbx-net audit verify FILE`: whether the hash chain of an audit log holds
 *
 * Lines that were cut off the end leave a chain that holds. So the last hash is printed, to be kept out of
 * reach of whoever may write the log; --last HASH asks whether that line is still there, and with it all
 * before. Others may have come behind it.
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
	fprintf(stderr, "sbx-net: usage: sbx-net audit verify [--last HASH] FILE\n");
	return OPTIONS_EXIT_USAGE;
}

/*
 * struct checked - what has been read
 * @lines: how many; @at: which of them has the hash that was asked for, 0 for none
 */
struct checked {
	struct audit_chain chain;
	unsigned long lines, at;
};

/* Return: whether each line follows from the one before; if not, that has been said. */
static bool follow(FILE *in, const char *name, const char *last, struct checked *c)
{
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;
	ssize_t n;

	audit_chain_init(&c->chain);
	while ((n = getline(&line, &size, in)) > 0) {
		c->lines++;
		if (line[n - 1] != '\n' || !audit_chain_check(&c->chain, line, (size_t)n - 1)) {
			printf("%s:%lu: %s\n", name, c->lines,
			       c->lines > 1 || strstr(line, "\"chain\":")
				       ? "the chain is broken here"
				       : "no chain begins here: was it written with "
					 "--audit-chain?");
			return false;
		}
		if (last && strcmp(c->chain.last, last) == 0)
			c->at = c->lines;
	}
	return true;
}

static int verify(FILE *in, const char *name, const char *last)
{
	struct checked c = { .lines = 0 };

	if (!follow(in, name, last, &c))
		return EXIT_BROKEN;
	if (ferror(in)) {
		fprintf(stderr, "sbx-net: cannot read '%s': %s\n", name, strerror(errno));
		return LAUNCHER_EXIT_SETUP;
	}
	if (c.lines == 0) {
		printf("%s: no line\n", name);
		return EXIT_BROKEN;
	}
	if (last && !c.at) {
		printf("%s: none of %lu lines has the hash %s: lines were cut off, or it is of "
		       "another log\n",
		       name, c.lines, last);
		return EXIT_BROKEN;
	}
	printf("%s: %lu line%s, the chain holds; last %s\n", name, c.lines, c.lines == 1 ? "" : "s",
	       c.chain.last);
	if (last)
		printf("%s: line %lu has the hash that was asked for\n", name, c.at);
	return fflush(stdout) == 0 ? 0 : LAUNCHER_EXIT_SETUP;
}

static int audit(const struct run_options *o)
{
	char *const *word = o->command;
	FILE *in;
	int status;

	if (o->ncommand != 2 || strcmp(word[0], "verify") != 0)
		return usage();
	in = fopen(word[1], "re");
	if (!in) {
		fprintf(stderr, "sbx-net: cannot read '%s': %s\n", word[1], strerror(errno));
		return LAUNCHER_EXIT_SETUP;
	}
	status = verify(in, word[1], o->last);
	(void)fclose(in);
	return status;
}

int audit_main(int argc, char **argv)
{
	return command_plain("audit", audit, argc, argv);
}
