/*
 * topview.h - the table of `sbx-net top`
 */
#ifndef CLI_REPORT_TOPVIEW_H
#define CLI_REPORT_TOPVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/stats.h"

/**
 * struct topview_row - one session
 * @now: what it has done
 * @up, @down: bytes a second since the last look; not shown unless @rates
 * @news: refused something since then
 */
struct topview_row {
	struct stats now;
	uint64_t up, down;
	bool news;
};

/**
 * struct topview - how it is shown
 * @columns, @lines: of the terminal; 0 for no bound
 * @colour: it knows colours
 * @rates: bytes a second rather than in all
 */
struct topview {
	unsigned columns, lines;
	bool colour, rates;
};

/** topview_sort() - the busiest first, then by age. */
void topview_sort(struct topview_row *row, size_t n);

/** topview_print() - the table; no line is wider, and not more of them, than @view says. */
void topview_print(const struct topview *view, const struct topview_row *row, size_t n, FILE *out);

#endif
