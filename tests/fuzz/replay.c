/*
 * replay.c - main() for a fuzz target without libFuzzer
 *
 * Runs every file of the corpus directory, and of each file every prefix and a bounded number of
 * deterministic one-byte changes, so that ctest covers the property under any compiler. An empty
 * or missing corpus is a failure: a replay of nothing proves nothing.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX   (1u << 20)
#define CHANGES_MAX 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run_exact(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1); /* exact size: a sanitizer sees an over-read */

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	(void)LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void run_file(uint8_t *data, size_t size)
{
	uint32_t seed = 2463534242u;

	run_exact(data, size);
	for (size_t n = 0; n < size && n < CHANGES_MAX; n++)
		run_exact(data, n);
	for (int i = 0; size && i < CHANGES_MAX; i++) {
		size_t at;
		uint8_t old;

		seed ^= seed << 13;
		seed ^= seed >> 17;
		seed ^= seed << 5;
		at = seed % size;
		old = data[at];
		data[at] = (uint8_t)(seed >> 16);
		run_exact(data, size);
		data[at] = old;
	}
}

int main(int argc, char **argv)
{
	uint8_t *data = malloc(INPUT_MAX);
	unsigned files = 0;
	struct dirent *e;
	DIR *dir;

	if (argc != 2 || !data || !(dir = opendir(argv[1]))) {
		fprintf(stderr, "usage: %s CORPUS_DIR (which must exist)\n", argv[0]);
		return 2;
	}
	while ((e = readdir(dir))) {
		char path[4096];
		FILE *f;
		size_t n;

		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", argv[1], e->d_name);
		f = fopen(path, "rb");
		if (!f) {
			perror(path);
			return 2;
		}
		n = fread(data, 1, INPUT_MAX, f);
		(void)fclose(f);
		run_file(data, n);
		files++;
	}
	(void)closedir(dir);
	free(data);
	printf("%u corpus files replayed\n", files);
	return files ? 0 : 1;
}
