/* SPDX-License-Identifier: MIT
 *
 * The self-check on stacks of this program: right paths agree, any altered
 * frame is reported, and where libunwind has nothing to go by it says so
 * instead of agreeing.
 */
#include <CUnit/Basic.h>
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>

#include "recorder/selfcheck.h"
#include "tests/unit/walk_self.h"

enum { SNAPSHOT = 65536 };

static struct ty_selfcheck *check;
static struct ty_mapping all[SELF_MODULES];
static uint64_t top;

/* The last stack taken, as the recorder would get it. */
static struct self_walk walk;
static uint64_t stack[SNAPSHOT / 8];
static size_t stack_bytes;
static unsigned outcome[4], altered[4];

static int run(const uint64_t *frames, size_t count, size_t bytes, uint16_t flags)
{
	return ty_selfcheck_run(check, all, (size_t)self_module_count, walk.pc, walk.sp, walk.bp, stack, bytes, frames,
				count, flags);
}

static __attribute__((no_sanitize("address"))) void take(void)
{
	static uint64_t wrong[SELF_FRAMES];
	static unsigned turn;
	stack_bytes = walk.hi - walk.sp < SNAPSHOT ? walk.hi - walk.sp : SNAPSHOT;
	for (size_t i = 0; i < stack_bytes / 8; i++)
		stack[i] = *(const volatile uint64_t *)(uintptr_t)(walk.sp + i * 8);
	outcome[run(walk.frame, (size_t)walk.count, stack_bytes, 0)]++;
	memcpy(wrong, walk.frame, (size_t)walk.count * sizeof *wrong);
	wrong[turn++ % (unsigned)walk.count] ^= 4;
	altered[run(wrong, (size_t)walk.count, stack_bytes, 0)]++;
}

static __attribute__((noinline, no_sanitize("address"))) void leaf(void)
{
	SELF_WALK(&walk, top);
	take();
}

static __attribute__((noinline)) int with_alloca(int n)
{
	char *p = alloca((size_t)n * 40 + 1);
	memset(p, n, (size_t)n * 40 + 1);
	leaf();
	return n ? p[n] + with_alloca(n - 1) : p[0];
}

static __attribute__((noinline)) int realigned(int n)
{
	char aligned[64] __attribute__((aligned(64))), *p = alloca((size_t)n * 16 + 1);
	memset(aligned, n, sizeof aligned);
	p[n] = 1;
	leaf();
	return n ? aligned[n] + p[n] + realigned(n - 1) : aligned[0];
}

/* The call is the last instruction: the return address is not in the function. */
static jmp_buf back;

static __attribute__((noinline, noreturn)) void leaf_jumps(void)
{
	SELF_WALK(&walk, top);
	take();
	longjmp(back, 1);
}

static __attribute__((noinline, noreturn)) void dead_end(void)
{
	leaf_jumps();
}

static __attribute__((noinline)) void jumped(void)
{
	if (!setjmp(back))
		dead_end();
}

static int compare(const void *a, const void *b)
{
	leaf();
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int sig)
{
	leaf();
	realigned(2);
}

static void test_agrees(void)
{
	memset(outcome, 0, sizeof outcome);
	memset(altered, 0, sizeof altered);
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 120; i++) {
		int v[] = { 5, 2, 9, 1, 7 };
		with_alloca(6);
		realigned(5);
		qsort(v, 5, sizeof *v, compare);
		raise(SIGUSR1);
		jumped();
	}
	printf("    agree %u, shorter %u, differ %u, skipped %u; altered: differ %u\n",
	       outcome[TY_CHECK_AGREE], outcome[TY_CHECK_SHORTER], outcome[TY_CHECK_DIFFER],
	       outcome[TY_CHECK_SKIPPED], altered[TY_CHECK_DIFFER]);
	CU_ASSERT(outcome[TY_CHECK_AGREE] > 2000);
	CU_ASSERT_EQUAL(outcome[TY_CHECK_SHORTER], 0);
	CU_ASSERT_EQUAL(outcome[TY_CHECK_DIFFER], 0);
	CU_ASSERT_EQUAL(outcome[TY_CHECK_SKIPPED], 0);
	CU_ASSERT_EQUAL(altered[TY_CHECK_DIFFER], outcome[TY_CHECK_AGREE]);
}

static void test_partial(void)
{
	size_t n, whole;
	with_alloca(5);
	whole = n = (size_t)walk.count;
	CU_ASSERT_FATAL(n > 8);
	CU_ASSERT_EQUAL(run(walk.frame, n, stack_bytes, 0), TY_CHECK_AGREE);
	/* A path that was cut is right as far as it goes; a complete one must not be short. */
	for (n = 2; n < whole; n++) {
		CU_ASSERT_EQUAL(run(walk.frame, n, stack_bytes, TY_F_CUT), TY_CHECK_AGREE);
		CU_ASSERT_EQUAL(run(walk.frame, n, stack_bytes, TY_F_MISS), TY_CHECK_AGREE);
		CU_ASSERT_EQUAL(run(walk.frame, n, stack_bytes, 0), TY_CHECK_DIFFER);
	}
	CU_ASSERT_EQUAL(run(walk.frame, 1, stack_bytes, TY_F_LEAF), TY_CHECK_SKIPPED);
	/* One frame too many: libunwind had come to the regular end. */
	walk.frame[whole] = walk.frame[whole - 1];
	CU_ASSERT_EQUAL(run(walk.frame, whole + 1, stack_bytes, 0), TY_CHECK_SHORTER);
	/* The snapshot ends before the path does: what is there is compared. */
	CU_ASSERT_EQUAL(run(walk.frame, whole, 0, 0), TY_CHECK_SKIPPED);
	size_t skipped = 0, agreed = 0;
	for (size_t bytes = 0; bytes < stack_bytes; bytes += 8) {
		int r = run(walk.frame, whole, bytes, 0);
		skipped += r == TY_CHECK_SKIPPED && !agreed;
		agreed += r == TY_CHECK_AGREE;
	}
	CU_ASSERT_EQUAL(skipped + agreed, (stack_bytes + 7) / 8);
	CU_ASSERT(agreed > 10);
	walk.frame[2] ^= 4;
	CU_ASSERT_EQUAL(run(walk.frame, whole, stack_bytes - 64, 0), TY_CHECK_DIFFER);
	walk.frame[2] ^= 4;
	CU_ASSERT_EQUAL(run(walk.frame, 0, stack_bytes, 0), TY_CHECK_SKIPPED);
}

static void test_unknown(void)
{
	struct ty_mapping *program = NULL;
	with_alloca(3);
	/* Nothing is known. */
	CU_ASSERT_EQUAL(ty_selfcheck_run(check, all, 0, walk.pc, walk.sp, walk.bp, stack, stack_bytes, walk.frame,
					 (size_t)walk.count, 0),
			TY_CHECK_SKIPPED);
	/* Only the program is known, not the C library above main. */
	for (int i = 0; i < self_module_count; i++)
		if (strstr(ty_elf_path(all[i].e), "self/exe"))
			program = &all[i];
	CU_ASSERT_PTR_NOT_NULL_FATAL(program);
	CU_ASSERT_EQUAL(ty_selfcheck_run(check, program, 1, walk.pc, walk.sp, walk.bp, stack, stack_bytes, walk.frame,
					 (size_t)walk.count, 0),
			TY_CHECK_SHORTER);
}

/* What a hostile process might send. */
static void test_garbage(void)
{
	uint64_t x = 88172645463325252ULL;
	with_alloca(6);
	static uint64_t good[SNAPSHOT / 8];
	memcpy(good, stack, sizeof good);
	for (int i = 0; i < 2000; i++) {
		for (int k = 0; k < 1 + i % 20; k++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			stack[x % (stack_bytes / 8)] = i & 1 ? x : walk.sp + (x >> 20) % stack_bytes;
		}
		int r = ty_selfcheck_run(check, all, (size_t)self_module_count, walk.pc, walk.sp,
					 i % 3 ? walk.bp : x, stack, stack_bytes, walk.frame, (size_t)walk.count, 0);
		CU_ASSERT(r >= TY_CHECK_AGREE && r <= TY_CHECK_SKIPPED);
		memcpy(stack, good, sizeof good);
	}
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	top = self_stack_top();
	self_modules();
	if (ty_selfcheck_new(&check))
		return 1;
	for (int i = 0; i < self_module_count; i++) {
		const struct self_module *m = &self_module[i];
		all[i] = (struct ty_mapping){ m->start, m->end, m->base, m->e };
	}
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("selfcheck", NULL, NULL);
	CU_add_test(s, "right and altered paths", test_agrees);
	CU_add_test(s, "partial paths and snapshots", test_partial);
	CU_add_test(s, "unknown modules", test_unknown);
	CU_add_test(s, "garbage", test_garbage);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	ty_selfcheck_free(check);
	self_modules_free();
	return failed != 0;
}
