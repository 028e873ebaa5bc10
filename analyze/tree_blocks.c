/* SPDX-License-Identifier: MIT
 *
 * Blocks of requests for the jackknife, the same as the report's (variance.c):
 * in order of end, of equal numbers, more of them where there are many
 * requests.  Runs in readers. */
#include "analyze/tree.h"

#include <math.h>

#include "analyze/radix.h"

#define MANY ((size_t)16 << 20) /* sums; more than the fewest blocks only below that */

int ty_blocks_make(struct ty_blocks *b, const struct ty_ledger *rows, size_t width)
{
	static const struct { size_t requests; uint32_t blocks; double widen; } plan[] = {
		{ 10000, 100, 1.0124 }, { 1000, 50, 1.0253 }, { 40, 20, 1.0679 }, { 0, 1, 1 },
	};
	size_t n = rows->n, k = 0;
	while (n < plan[k].requests || (plan[k].blocks > 20 && width * plan[k].blocks > MANY))
		k++;
	*b = (struct ty_blocks){ .n = plan[k].blocks, .widen = plan[k].widen, .of = calloc(n + 1, 1) };
	uint64_t *end = malloc((n + 1) * sizeof *end);
	uint32_t *row = malloc((n + 1) * sizeof *row);
	int e = b->of && end && row ? 0 : -ENOMEM;
	for (size_t i = 0; !e && i < n; i++) {
		end[i] = rows->v[i].end;
		row[i] = (uint32_t)i;
	}
	if (!e)
		e = ty_radix_sort(end, row, n);
	for (size_t i = 0; !e && i < n; i++)
		b->of[row[i]] = (uint8_t)(i * b->n / n);
	free(end);
	free(row);
	return e;
}

double ty_blocks_error(const struct ty_blocks *b, const double *left_out)
{
	double sum = 0, sq = 0;
	if (b->n < 2)
		return NAN;
	for (uint32_t i = 0; i < b->n; i++)
		sum += left_out[i];
	for (uint32_t i = 0; i < b->n; i++)
		sq += (left_out[i] - sum / b->n) * (left_out[i] - sum / b->n);
	return b->widen * sqrt(sq * (b->n - 1) / b->n);
}
