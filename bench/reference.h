/* SPDX-License-Identifier: MIT
 * A fixed piece of work, never to be changed: what other work is measured
 * against, in turn with it, so that a slow moment of the machine is not taken
 * for slow code.  Sorts 8192 numbers by radix and follows them through 64 KiB. */
#ifndef BENCH_REFERENCE_H
#define BENCH_REFERENCE_H

#include <stdint.h>
#include <string.h>

#define REFERENCE_N 8192 /* numbers each time */

static uint64_t reference_a[REFERENCE_N], reference_b[REFERENCE_N];
static uint32_t reference_table[16384];

static void reference_sort(unsigned shift)
{
	uint32_t at[256] = { 0 }, sum = 0;
	for (int i = 0; i < REFERENCE_N; i++)
		at[reference_a[i] >> shift & 255]++;
	for (int i = 0; i < 256; i++) {
		uint32_t n = at[i];
		at[i] = sum;
		sum += n;
	}
	for (int i = 0; i < REFERENCE_N; i++)
		reference_b[at[reference_a[i] >> shift & 255]++] = reference_a[i];
	memcpy(reference_a, reference_b, sizeof reference_a);
}

static inline void reference_work(void)
{
	uint64_t x = 88172645463325252u;
	uint32_t sum = 0;
	for (int i = 0; i < REFERENCE_N; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		reference_a[i] = x ^= x << 17;
	}
	for (unsigned shift = 0; shift < 32; shift += 8)
		reference_sort(shift);
	for (int i = 0; i < REFERENCE_N; i++)
		sum += reference_table[(reference_a[i] * 0x9e3779b97f4a7c15u) >> 50] += (uint32_t)i;
	__asm__ volatile("" : : "r"(sum)); /* or the compiler leaves the work out */
}

#endif
