/* SPDX-License-Identifier: MIT
 *
 * Sketch of durations (see sketch.h): the parts that are not in the hot loop.
 * Runs in readers.  Must stay true: a quantile is within 1/128 of the exact
 * one, and merging two sketches equals sketching all values. */
#include "analyze/sketch.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/quantile.h"

int ty_sketch_octave(struct ty_sketch *s, unsigned k)
{
	s->oct[k] = calloc(TY_SKETCH_SUB, sizeof *s->oct[k]);
	return s->oct[k] ? 0 : -ENOMEM;
}

int ty_sketch_merge(struct ty_sketch *into, const struct ty_sketch *from)
{
	for (unsigned k = 0; k < TY_SKETCH_OCTAVES; k++) {
		if (!from->oct[k])
			continue;
		if (!into->oct[k] && ty_sketch_octave(into, k))
			return -ENOMEM;
		for (unsigned i = 0; i < TY_SKETCH_SUB; i++) {
			uint64_t sum = (uint64_t)into->oct[k][i] + from->oct[k][i];
			into->oct[k][i] = sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
		}
	}
	into->n += from->n;
	return 0;
}

static uint64_t middle(unsigned k, unsigned sub)
{
	if (k == 0)
		return sub;
	uint64_t width = 1ull << (k - 1);
	return (TY_SKETCH_SUB + sub) * width + width / 2;
}

uint64_t ty_sketch_quantile(const struct ty_sketch *s, double q)
{
	if (!s->n)
		return 0;
	uint64_t at = ty_quantile_at(s->n, q), seen = 0, last = 0;
	for (unsigned k = 0; k < TY_SKETCH_OCTAVES; k++) {
		if (!s->oct[k])
			continue;
		for (unsigned i = 0; i < TY_SKETCH_SUB; i++) {
			if (!s->oct[k][i])
				continue;
			seen += s->oct[k][i];
			last = middle(k, i);
			if (seen > at)
				return last;
		}
	}
	return last;
}

void ty_sketch_free(struct ty_sketch *s)
{
	for (unsigned k = 0; k < TY_SKETCH_OCTAVES; k++) {
		free(s->oct[k]);
		s->oct[k] = NULL;
	}
	s->n = 0;
}
