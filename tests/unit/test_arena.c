/* SPDX-License-Identifier: MIT
 *
 * The arena's file and the recorder's book of chunks: what is backed, what a
 * ring may refer to, what comes back, and how it is found again. */
#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "recorder/arena.h"
#include "recorder/map.h"
#include "recorder/proc.h"

static char err[TY_ERR_MAX];

static struct ty_arena_file create(uint64_t bytes)
{
	struct ty_settings s;
	struct ty_arena_file f;
	ty_settings_default(&s);
	s.arena_bytes = bytes;
	CU_ASSERT_EQUAL_FATAL(ty_arena_create(&f, &s, err), 0);
	ty_settings_free(&s);
	return f;
}

static uint64_t file_size(const struct ty_arena_file *f)
{
	struct stat st;
	CU_ASSERT_EQUAL_FATAL(fstat(f->fd, &st), 0);
	return (uint64_t)st.st_size;
}

static void test_create(void)
{
	struct ty_arena_file f = create(64u << 20);
	struct stat st;
	CU_ASSERT_EQUAL(fstat(f.fd, &st), 0);
	CU_ASSERT_EQUAL(st.st_mode & 0777, 0600);
	CU_ASSERT_EQUAL(file_size(&f), f.control + (uint64_t)f.backed * TY_CHUNK);
	CU_ASSERT((uint64_t)st.st_blocks * 512 >= file_size(&f)); /* backed, not sparse */
	CU_ASSERT_EQUAL(f.a->magic, TY_MAGIC);
	CU_ASSERT_EQUAL(f.a->reserve, 64u << 20);
	CU_ASSERT_EQUAL(f.a->owner_pid, getpid());
	CU_ASSERT(f.a->owner_start != 0);
	CU_ASSERT_EQUAL(f.a->chunk_off % TY_CHUNK, 0);
	CU_ASSERT(f.a->threads_off >= sizeof *f.a);
	CU_ASSERT_EQUAL(ty_arena_ready(&f), f.backed);
	struct ty_arena_file g = create(64u << 20);
	CU_ASSERT_NOT_EQUAL(memcmp(f.a->token, g.a->token, 16), 0);
	ty_arena_destroy(&g);
	ty_arena_destroy(&f);
}

static void test_book(void)
{
	struct ty_arena_file f = create(64u << 20);
	uint32_t next = atomic_load(&f.a->ready[0]);
	CU_ASSERT_FALSE(ty_arena_link(&f, 0));
	CU_ASSERT_FALSE(ty_arena_link(&f, f.backed + 1));
	CU_ASSERT_FALSE(ty_arena_link(&f, UINT32_MAX));
	CU_ASSERT_FALSE(ty_arena_link(&f, next)); /* nobody took it */
	uint32_t c = ty_ready_take(f.a);
	CU_ASSERT_EQUAL(c, next);
	CU_ASSERT_TRUE(ty_arena_link(&f, c));
	CU_ASSERT_FALSE(ty_arena_link(&f, c)); /* one ring has it */
	struct ty_chunk *ch = ty_arena_chunk(f.a, c - 1);
	atomic_store(&ch->committed, 800);
	atomic_store(&ch->next, 3);
	ty_arena_unlink(&f, c - 1);
	CU_ASSERT_EQUAL(atomic_load(&ch->committed), 0);
	CU_ASSERT_EQUAL(atomic_load(&ch->next), 0);
	CU_ASSERT_FALSE(ty_arena_link(&f, c)); /* in the queue again, not taken */
	uint32_t got;
	do
		got = ty_ready_take(f.a);
	while (got && got != c);
	CU_ASSERT_EQUAL(got, c);
	CU_ASSERT_TRUE(ty_arena_link(&f, c));
	ty_arena_destroy(&f);
}

/* Takes everything there is, again and again. */
static void test_growth(void)
{
	struct ty_arena_file f = create(0); /* the least there can be */
	uint32_t taken = 0;
	uint64_t now = ty_now();
	for (int i = 0; i < 200; i++) {
		while (ty_ready_take(f.a))
			taken++;
		ty_arena_stock(&f, now += 1000000);
	}
	CU_ASSERT_EQUAL(taken, f.backed); /* all of it, never more */
	CU_ASSERT_EQUAL(f.limit - f.backed, f.limit / 8); /* but what is kept for rows */
	CU_ASSERT_EQUAL(file_size(&f), f.a->reserve - (uint64_t)(f.limit / 8) * TY_CHUNK);
	/* a module that is mapped now still gets its table */
	struct ty_module_id id = { .kind = 1, .len = 1, .id = { 1 } };
	struct ty_rows *rows = calloc(1, TY_CHUNK);
	CU_ASSERT_EQUAL(ty_arena_publish(&f, &id, rows, TY_CHUNK), 0);
	CU_ASSERT_EQUAL(f.a->module[0].state, TY_MODULE_READY);
	ty_arena_stock(&f, now += 1000000);
	CU_ASSERT_EQUAL(f.limit - f.backed, f.limit / 8 - 1);
	free(rows);
	ty_arena_destroy(&f);
	f = create(256u << 20);
	uint32_t small = f.backed;
	for (uint32_t i = 0; i < small; i++)
		ty_ready_take(f.a);
	ty_arena_stock(&f, now);
	CU_ASSERT(ty_arena_ready(&f) >= 2 * small); /* twice what was used of late */
	ty_arena_destroy(&f);
}

static void test_nonsense(void)
{
	struct ty_arena_file f = create(32u << 20);
	uint32_t c = ty_ready_take(f.a);
	static const uint64_t takes[] = { UINT64_MAX, 1ull << 31, 0, 1ull << 60 };
	for (size_t i = 0; i < sizeof takes / sizeof *takes; i++) {
		atomic_store(&f.a->ready_take, takes[i]);
		ty_arena_stock(&f, ty_now());
		CU_ASSERT(f.backed <= f.limit);
		CU_ASSERT(ty_arena_ready(&f) <= TY_READY);
	}
	atomic_store(&f.a->ready_take, 1);
	atomic_store(&f.a->ready_put, 99999);
	ty_arena_stock(&f, ty_now());
	CU_ASSERT_FALSE(ty_arena_link(&f, f.backed + 7));
	(void)c;
	ty_arena_destroy(&f);
}

static void test_publish(void)
{
	struct ty_arena_file f = create(32u << 20);
	struct ty_module_id id = { .kind = 1, .len = 3, .id = { 1, 2, 3 } };
	size_t bytes = 3 * TY_CHUNK + 100;
	struct ty_rows *rows = calloc(1, bytes);
	rows->magic = TY_ROWS_MAGIC;
	memset((char *)rows + sizeof *rows, 0x5a, bytes - sizeof *rows);
	CU_ASSERT_EQUAL(ty_arena_publish(&f, &id, rows, bytes), 0);
	CU_ASSERT_EQUAL(f.a->module_count, 1);
	CU_ASSERT_EQUAL(f.a->module[0].state, TY_MODULE_READY);
	CU_ASSERT_EQUAL(memcmp(&f.a->module[0].id, &id, sizeof id), 0);
	uint32_t at = f.a->module[0].rows_off_chunk;
	CU_ASSERT_EQUAL(memcmp(ty_arena_chunk(f.a, at), rows, bytes), 0);
	for (uint32_t i = 0; i < 4; i++)
		CU_ASSERT_FALSE(ty_arena_link(&f, at + i + 1));
	for (uint32_t t; (t = ty_ready_take(f.a));)
		CU_ASSERT_FALSE(t > at && t <= at + 4); /* no ring gets a chunk of it */
	CU_ASSERT_EQUAL(ty_arena_publish(&f, &id, NULL, 0), 0);
	CU_ASSERT_EQUAL(f.a->module[1].state, TY_MODULE_NO_ROWS);
	/* no memory now: nothing is published, and it can be later */
	struct rlimit had, none = { .rlim_cur = f.control + (uint64_t)f.backed * TY_CHUNK };
	getrlimit(RLIMIT_FSIZE, &had);
	none.rlim_max = had.rlim_max;
	void (*was)(int) = signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &none);
	CU_ASSERT_EQUAL(ty_arena_publish(&f, &id, rows, bytes), -EAGAIN);
	CU_ASSERT_EQUAL(f.a->module_count, 2);
	CU_ASSERT_EQUAL(f.grow_errno, EFBIG);
	setrlimit(RLIMIT_FSIZE, &had);
	signal(SIGXFSZ, was);
	CU_ASSERT_EQUAL(ty_arena_publish(&f, &id, rows, bytes), 0);
	CU_ASSERT_EQUAL(f.a->module[2].state, TY_MODULE_READY);
	/* rings keep a quarter: at some point a table is refused, and said so */
	int rc = 0;
	uint32_t n = 3;
	for (; n < TY_MODULES && rc == 0; n++)
		rc = ty_arena_publish(&f, &id, rows, bytes);
	CU_ASSERT_EQUAL(rc, -ENOSPC);
	CU_ASSERT_EQUAL(f.a->module[n - 1].state, TY_MODULE_NO_ROWS);
	CU_ASSERT(f.limit - f.backed >= f.limit / 4 - 192);
	free(rows);
	ty_arena_destroy(&f);
}

static void test_attach(void)
{
	struct ty_arena_file f = create(32u << 20);
	struct ty_arena *a;
	char locator[sizeof f.locator];
	CU_ASSERT_EQUAL_FATAL(ty_arena_attach(&a, f.locator, err), 0);
	atomic_store(&a->enabled, 0);
	CU_ASSERT_EQUAL(atomic_load(&f.a->enabled), 0);
	ty_arena_detach(a);
	strcpy(locator, f.locator);
	char *last = locator + strlen(locator) - 1;
	*last = *last == '0' ? '1' : '0';
	CU_ASSERT_EQUAL(ty_arena_attach(&a, locator, err), -ESRCH);
	CU_ASSERT_EQUAL(ty_arena_attach(&a, "", err), -EINVAL);
	CU_ASSERT_EQUAL(ty_arena_attach(&a, "/etc/passwd:00112233445566778899aabbccddeeff", err), -EINVAL);
	f.a->abi = TY_ABI + 1;
	CU_ASSERT_EQUAL(ty_arena_attach(&a, f.locator, err), -EPROTO);
	strcpy(locator, f.locator);
	ty_arena_destroy(&f);
	CU_ASSERT(ty_arena_attach(&a, locator, err) < 0);
}

static void test_map(void)
{
	struct ty_map m = { 0 };
	uint64_t key, value, sum = 0;
	size_t at = 0, n = 0;
	CU_ASSERT_PTR_NULL(ty_map_find(&m, 5));
	for (uint64_t k = 0; k < 10000; k++)
		*ty_map_put(&m, k * 7919) = k;
	for (uint64_t k = 0; k < 10000; k++)
		CU_ASSERT_EQUAL_FATAL(*ty_map_find(&m, k * 7919), k);
	CU_ASSERT_PTR_NULL(ty_map_find(&m, 1));
	while (ty_map_next(&m, &at, &key, &value)) {
		CU_ASSERT_EQUAL(key, value * 7919);
		sum += value;
		n++;
	}
	CU_ASSERT_EQUAL(n, 10000);
	CU_ASSERT_EQUAL(sum, 10000ull * 9999 / 2);
	ty_map_free(&m);
}

int main(void)
{
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("arena", NULL, NULL);
	CU_add_test(s, "a new arena", test_create);
	CU_add_test(s, "which chunks a ring may refer to", test_book);
	CU_add_test(s, "growth ends at the reserve", test_growth);
	CU_add_test(s, "nonsense in the queue", test_nonsense);
	CU_add_test(s, "row tables", test_publish);
	CU_add_test(s, "found by its locator", test_attach);
	CU_add_test(s, "map", test_map);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed != 0;
}
