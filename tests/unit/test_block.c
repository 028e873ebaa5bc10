/* SPDX-License-Identifier: MIT
 *
 * Unit test of the block codec: any event values come back as they were, and
 * no damaged block is taken for a good one or read out of bounds. */
#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/block.h"

static uint64_t rng_state;

static uint64_t rng(void) /* splitmix64 */
{
	uint64_t z = rng_state += 0x9e3779b97f4a7c15ULL;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* A number of a random width, so that each length code is met. */
static uint64_t wide(void)
{
	unsigned bits = (unsigned)(rng() % 65);
	return bits == 0 ? 0 : rng() >> (64 - bits);
}

static void random_events(struct ty_ev *ev, size_t n)
{
	uint32_t thread = 0;
	for (size_t i = 0; i < n; i++) {
		if (rng() % 40 == 0)
			thread = rng() % 100 ? (uint32_t)(rng() % 50) : (uint32_t)rng();
		bool usual = rng() % 2;
		ev[i] = (struct ty_ev){
			.begin = wide(), .end = wide(), .object = usual ? rng() % 50 : wide(),
			.aux = usual ? rng() % 3 : wide(), .thread = thread,
			.path = usual ? (uint32_t)(rng() % 20) : (uint32_t)wide(), .rec = (uint32_t)i,
			.op = usual ? (uint16_t)(rng() % 5) : (uint16_t)wide(), .err = usual ? 0 : (uint16_t)wide(),
			.flags = (uint16_t)(rng() % 4), .kind = (uint8_t)(rng() % 4), .cls = (uint8_t)(rng() % 8),
		};
	}
}

static bool same(const struct ty_ev *a, const struct ty_ev *b)
{
	return a->begin == b->begin && a->end == b->end && a->object == b->object && a->aux == b->aux &&
	       a->thread == b->thread && a->path == b->path && a->rec == b->rec && a->op == b->op &&
	       a->err == b->err && a->flags == b->flags && a->kind == b->kind && a->cls == b->cls;
}

static void check_round(const struct ty_ev *ev, size_t n)
{
	struct ty_packer *p = ty_packer_new();
	struct ty_unpacker *u = ty_unpacker_new();
	struct ty_ev *back = malloc(n * sizeof *back);
	struct ty_block_head h = { 0 };
	const void *data;
	size_t len = 0, differ = 0;
	CU_ASSERT_EQUAL_FATAL(ty_block_pack(p, ev, n, 77, &data, &len), 0);
	CU_ASSERT_EQUAL_FATAL(ty_block_head(&h, data, len), 0);
	CU_ASSERT_EQUAL_FATAL(h.count, n);
	CU_ASSERT_EQUAL(h.complete_to, 77);
	uint64_t min = UINT64_MAX, max = 0;
	for (size_t i = 0; i < n; i++) {
		min = ev[i].begin < min ? ev[i].begin : min;
		max = ev[i].end > max ? ev[i].end : max;
	}
	CU_ASSERT_EQUAL(h.min_begin, min);
	CU_ASSERT_EQUAL(h.max_end, max);
	void *exact = malloc(len); /* so that a sanitizer sees a read past the end */
	memcpy(exact, data, len);
	CU_ASSERT_EQUAL_FATAL(ty_block_unpack(u, exact, len, back), 0);
	for (size_t i = 0; i < n; i++)
		differ += !same(&ev[i], &back[i]);
	CU_ASSERT_EQUAL(differ, 0);
	free(exact);
	free(back);
	ty_packer_free(p);
	ty_unpacker_free(u);
}

static void test_any_values(void)
{
	static const size_t sizes[] = { 1, 2, 3, 17, 100, 255, 256, 257, 1000, 5000, TY_BLOCK_MAX };
	rng_state = 1;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct ty_ev *ev = malloc(sizes[i] * sizeof *ev);
		random_events(ev, sizes[i]);
		check_round(ev, sizes[i]);
		free(ev);
	}
}

static void test_extremes(void)
{
	struct ty_ev ev[6];
	memset(ev, 0xff, sizeof ev);
	memset(&ev[1], 0, sizeof ev[1]);
	memset(&ev[4], 0, sizeof ev[4]);
	ev[5] = (struct ty_ev){ .begin = UINT64_MAX, .end = 0, .object = 1, .aux = 1 };
	for (uint32_t i = 0; i < 6; i++)
		ev[i].rec = i;
	check_round(ev, 6);
}

/* More than 65536 / 2 different shapes and objects: the widest indices. */
static void test_all_different(void)
{
	size_t n = TY_BLOCK_MAX;
	struct ty_ev *ev = calloc(n, sizeof *ev);
	for (size_t i = 0; i < n; i++) {
		ev[i].path = ev[i].rec = (uint32_t)i;
		ev[i].object = ev[i].aux = i * 0x123456789abULL;
		ev[i].thread = (uint32_t)(n - i);
	}
	check_round(ev, n);
	free(ev);
}

/* One packer and one unpacker for blocks of many sizes: nothing is left over. */
static void test_reuse(void)
{
	struct ty_packer *p = ty_packer_new();
	struct ty_unpacker *u = ty_unpacker_new();
	struct ty_ev *ev = malloc(5000 * sizeof *ev), *back = malloc(5000 * sizeof *back);
	rng_state = 2;
	for (int round = 0; round < 200; round++) {
		size_t n = 1 + rng() % 5000, len = 0, differ = 0;
		const void *data;
		random_events(ev, n);
		CU_ASSERT_EQUAL_FATAL(ty_block_pack(p, ev, n, 0, &data, &len), 0);
		CU_ASSERT_EQUAL_FATAL(ty_block_unpack(u, data, len, back), 0);
		for (size_t i = 0; i < n; i++)
			differ += !same(&ev[i], &back[i]);
		CU_ASSERT_EQUAL(differ, 0);
	}
	free(ev);
	free(back);
	ty_packer_free(p);
	ty_unpacker_free(u);
}

static void test_refused(void)
{
	struct ty_packer *p = ty_packer_new();
	struct ty_unpacker *u = ty_unpacker_new();
	struct ty_ev ev[10], back[10];
	struct ty_block_head h;
	const void *data;
	size_t len = 0;
	rng_state = 3;
	random_events(ev, 10);
	CU_ASSERT_EQUAL(ty_block_pack(p, ev, 0, 0, &data, &len), -EINVAL);
	CU_ASSERT_EQUAL(ty_block_pack(p, ev, TY_BLOCK_MAX + 1, 0, &data, &len), -EINVAL);
	CU_ASSERT_EQUAL_FATAL(ty_block_pack(p, ev, 10, 0, &data, &len), 0);
	uint8_t *b = malloc(len);
	memcpy(b, data, len);
	for (size_t cut = 0; cut < len; cut++)
		CU_ASSERT_EQUAL(ty_block_unpack(u, b, cut, back), -EBADMSG);
	for (size_t i = 0; i < len; i++) { /* the checksum sees each bit of each byte */
		b[i] ^= (uint8_t)(1u << i % 8);
		CU_ASSERT_TRUE(ty_block_unpack(u, b, len, back) < 0);
		b[i] ^= (uint8_t)(1u << i % 8);
	}
	b[3]++;
	CU_ASSERT_EQUAL(ty_block_head(&h, b, len), -ENOTSUP);
	b[3]--;
	CU_ASSERT_EQUAL(ty_block_unpack(u, b, len, back), 0);
	free(b);
	ty_packer_free(p);
	ty_unpacker_free(u);
}

/* Bytes changed under a right checksum: refused or read, within bounds (sanitizers watch). */
static void test_damaged(void)
{
	struct ty_packer *p = ty_packer_new();
	struct ty_unpacker *u = ty_unpacker_new();
	struct ty_ev *ev = malloc(300 * sizeof *ev);
	const void *data;
	size_t len = 0, refused = 0;
	rng_state = 4;
	random_events(ev, 300);
	CU_ASSERT_EQUAL_FATAL(ty_block_pack(p, ev, 300, 0, &data, &len), 0);
	for (int round = 0; round < 20000; round++) {
		struct ty_block_head h;
		uint8_t *b = malloc(len);
		memcpy(b, data, len);
		for (unsigned k = 0; k <= rng() % 3; k++)
			b[rng() % 4 ? TY_BLOCK_HEAD + rng() % (len - TY_BLOCK_HEAD) : rng() % len] = (uint8_t)rng();
		ty_block_seal(b, len);
		if (ty_block_head(&h, b, len) == 0) {
			struct ty_ev *back = malloc(h.count * sizeof *back);
			refused += ty_block_unpack(u, b, len, back) < 0;
			free(back);
		}
		free(b);
	}
	CU_ASSERT_TRUE(refused > 1000);
	free(ev);
	ty_packer_free(p);
	ty_unpacker_free(u);
}

static void test_varints(void)
{
	uint8_t b[16];
	uint64_t v = 0;
	rng_state = 5;
	for (int i = 0; i < 10000; i++) {
		uint64_t x = wide();
		uint8_t *e = ty_varint_put(b, x);
		CU_ASSERT_PTR_EQUAL(ty_varint_get(b, e, &v), e);
		CU_ASSERT_EQUAL(v, x);
		CU_ASSERT_PTR_NULL(ty_varint_get(b, e - 1, &v));
		CU_ASSERT_EQUAL(ty_unzigzag(ty_zigzag(x)), x);
	}
	memset(b, 0x80, sizeof b);
	CU_ASSERT_PTR_NULL(ty_varint_get(b, b + sizeof b, &v));
}

int main(void)
{
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("block", NULL, NULL);
	CU_ADD_TEST(s, test_varints);
	CU_ADD_TEST(s, test_any_values);
	CU_ADD_TEST(s, test_extremes);
	CU_ADD_TEST(s, test_all_different);
	CU_ADD_TEST(s, test_reuse);
	CU_ADD_TEST(s, test_refused);
	CU_ADD_TEST(s, test_damaged);
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}
