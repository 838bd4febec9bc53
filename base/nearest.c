#include "base/nearest.h"

#include <string.h>

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/*
 * Optimal string alignment distance: three rows of the usual table are enough, the third for the
 * swap of two neighbours. Both words are shorter than NEAREST_WORD_MAX.
 */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t rows[3][NEAREST_WORD_MAX + 1];

	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *now = rows[i % 3];
		const size_t *last = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t cost = a[i - 1] != b[j - 1];

			now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + cost);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
	}
	return rows[na % 3][nb];
}

/* A third of the word may be wrong, and one letter always. */
static size_t tolerance(size_t len)
{
	return len < 6 ? 1 : len / 3;
}

size_t nearest_word(const char *word, const char *const *words, size_t n)
{
	size_t len = strlen(word), best = n, best_distance = 0;

	if (!len || len > NEAREST_WORD_MAX)
		return n;
	for (size_t i = 0; i < n; i++) {
		size_t other = words[i] ? strlen(words[i]) : NEAREST_WORD_MAX + 1;
		size_t d;

		if (other > NEAREST_WORD_MAX)
			continue;
		d = distance(word, len, words[i], other);
		if (d > 1 && strncmp(word, words[i], len) == 0)
			d = 1; /* a beginning is as near as one slip */
		if (d > tolerance(len))
			continue;
		if (best == n || d < best_distance) {
			best = i;
			best_distance = d;
		}
	}
	return best;
}
