/* SPDX-License-Identifier: MIT
 *
 * Blocks of requests for the jackknife (see blocks.h).  Runs in readers.  Must
 * stay true: every block has at least two requests, or there is one block. */
#include "analyze/blocks.h"

#include <math.h>

#include "analyze/radix.h"
#include "analyze/vec.h"

#define FEWEST 20u              /* blocks for which errors are worth something */
#define MANY ((size_t)16 << 20) /* sums; more than the fewest blocks only below that */

/* More blocks make steadier errors, longer ones keep what is correlated in time
 * together.  widen: Student's t for blocks - 1 over the normal quantile, both
 * at 97.5 %. */
static const struct { size_t requests; uint32_t blocks; double widen; } plan[] = {
	{ 10000, 100, 1.0124 }, { 1000, 50, 1.0253 }, { 2 * FEWEST, FEWEST, 1.0679 }, { 0, 1, 1 },
};

int ty_blocks_make(struct ty_blocks *b, const struct ty_ledger *rows, size_t width)
{
	size_t n = rows->n, k = 0;
	while (n < plan[k].requests || (plan[k].blocks > FEWEST && width * plan[k].blocks > MANY))
		k++;
	*b = (struct ty_blocks){ .n = plan[k].blocks, .widen = plan[k].widen, .of = calloc(n + 1, 1) };
	uint64_t *end = ty_vec_huge(malloc((n + 1) * sizeof *end), n * sizeof *end);
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
