/* SPDX-License-Identifier: MIT
 *
 * A mergeable sketch of durations: counts in log-linear buckets, 64 to each
 * power of two, so that the middle of a bucket is within 1/128 of every value
 * in it (values below 64 ns are exact).  An octave's buckets are allocated when
 * the first value falls into it: a site costs a few hundred bytes. */
#ifndef TY_SKETCH_H
#define TY_SKETCH_H

#include <stdint.h>

#define TY_SKETCH_SUB 64u
#define TY_SKETCH_OCTAVES 59u /* 0: values below 64; k: [64 << (k-1), 64 << k) */

struct ty_sketch {
	uint32_t *oct[TY_SKETCH_OCTAVES]; /* [64]; a bucket saturates at UINT32_MAX */
	uint64_t n;
};

int ty_sketch_octave(struct ty_sketch *s, unsigned k); /* allocates; 0 or -ENOMEM */

static inline unsigned ty_sketch_octave_of(uint64_t v)
{
	return v >= TY_SKETCH_SUB ? 58u - (unsigned)__builtin_clzll(v) : 0;
}
static inline unsigned ty_sketch_sub_of(uint64_t v, unsigned k)
{
	return k ? (unsigned)(v >> (k - 1)) - TY_SKETCH_SUB : (unsigned)v;
}
/* A number for the bucket of a value. */
static inline uint16_t ty_sketch_bucket(uint64_t v)
{
	unsigned k = ty_sketch_octave_of(v);
	return (uint16_t)(k * TY_SKETCH_SUB + ty_sketch_sub_of(v, k));
}

static inline int ty_sketch_count(struct ty_sketch *s, uint16_t bucket)
{
	unsigned k = bucket / TY_SKETCH_SUB, sub = bucket % TY_SKETCH_SUB;
	if (__builtin_expect(!s->oct[k], 0)) {
		int r = ty_sketch_octave(s, k);
		if (r)
			return r;
	}
	s->oct[k][sub] += s->oct[k][sub] != UINT32_MAX;
	s->n++;
	return 0;
}

static inline int ty_sketch_add(struct ty_sketch *s, uint64_t v)
{
	return ty_sketch_count(s, ty_sketch_bucket(v));
}

int ty_sketch_merge(struct ty_sketch *into, const struct ty_sketch *from);
/* The middle of the bucket that holds the quantile (quantile.h); 0 when empty. */
uint64_t ty_sketch_quantile(const struct ty_sketch *s, double q);
void ty_sketch_free(struct ty_sketch *s);

#endif
