/*
 * bench_ruleset.c - what a policy of 10, 10^4 and 10^6 entries costs
 *
 * Prints, for each size: processor time to load a list file, memory by the kernel's count, and
 * nanoseconds for a decision about a four-label name that is listed and about one with a label
 * more that is not. Nothing is asserted about time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "policy/listfile.h"
#include "policy/policy.h"

#define LOOKUPS 1000000u

static double now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double resident_mib(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	if (f)
		(void)fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1024 * 1024);
}

/* Names as long as those of public block lists: 21 bytes on average. */
static void entry_name(char out[64], unsigned i)
{
	(void)snprintf(out, 64, "%x.metrics%u.ad%x.com", i % 251, i, i * 2654435761u >> 20);
}

static double lookup_ns(const struct policy *p, unsigned entries, bool hit)
{
	static struct target t[4096];
	struct decision d;
	unsigned denied = 0;
	double start;

	for (unsigned i = 0; i < 4096; i++) {
		char name[64], text[80];

		entry_name(name, i * 7919u % entries);
		(void)snprintf(text, sizeof(text), "%s%s:443", hit ? "" : "x.", name);
		if (target_parse_authority(text, strlen(text), 0, &t[i]) != TARGET_OK)
			abort();
	}
	start = now();
	for (unsigned i = 0; i < LOOKUPS; i++) {
		policy_decide(p, &t[i % 4096], &d);
		denied += d.code == CODE_DENIED;
	}
	if (denied != (hit ? LOOKUPS : 0))
		abort();
	return (now() - start) * 1e9 / LOOKUPS;
}

/* A list file of that many names, in memory. */
static char *make_list(unsigned entries, size_t *len)
{
	char *text = xmalloc((size_t)entries * 64);

	*len = 0;
	for (unsigned i = 0; i < entries; i++) {
		entry_name(text + *len, i);
		*len += strlen(text + *len);
		text[(*len)++] = '\n';
	}
	return text;
}

static void run(unsigned entries)
{
	struct policy *p = policy_new();
	double before, start, load, after, hit, miss;
	struct error err;
	size_t len;
	CLEANUP_FREE char *text = make_list(entries, &len);

	before = resident_mib();
	start = now();
	if (listfile_parse(p, LIST_DENY, text, len, "block.list", &err)) {
		fprintf(stderr, "%s\n", err.msg);
		exit(1);
	}
	load = now() - start;
	after = resident_mib();
	hit = lookup_ns(p, entries, true);
	miss = lookup_ns(p, entries, false);
	printf("%8zu entries: load %6.3f s, memory %5.1f MiB, decision %4.0f ns listed, %4.0f ns "
	       "not\n",
	       policy_count(p, LIST_DENY), load, after - before, hit, miss);
	policy_free(p);
}

int main(void)
{
	run(10);
	run(10000);
	run(1000000);
	return 0;
}
