/* SPDX-License-Identifier: MIT
 * Description: numbers are written as printf would, but for halves, which are rounded up. */
#include <CUnit/Basic.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fmt.h"
#include "analyze/put.h"

static char *text;
static size_t length;
static FILE *out;

static void starts(void)
{
	out = open_memstream(&text, &length);
}

__attribute__((format(printf, 1, 2))) static void is(const char *format, ...)
{
	char want[512];
	va_list ap;
	va_start(ap, format);
	vsnprintf(want, sizeof want, format, ap);
	va_end(ap);
	fclose(out);
	CU_ASSERT_STRING_EQUAL(text, want);
	free(text);
}

static void test_put(void)
{
	static const uint64_t xs[] = { 0, 1, 9, 10, 15, 16, 999, 1000, 1001, 123456789, INT64_MAX, UINT64_MAX };
	for (size_t i = 0; i < sizeof xs / sizeof *xs; i++) {
		uint64_t x = xs[i];
		starts();
		ty_put_uint(out, x);
		putc(' ', out);
		ty_put_wide(out, x, 6, ' ');
		ty_put_wide(out, x, 6, '0');
		is("%" PRIu64 " %6" PRIu64 "%06" PRIu64, x, x, x);
		starts();
		unsigned n = ty_put_hex(out, x);
		is("0x%" PRIx64, x);
		CU_ASSERT_EQUAL(n, length);
		starts();
		ty_put_ns(out, (int64_t)x, 9, 4);
		uint64_t a = (int64_t)x < 0 ? -x : x;
		is("%s%4" PRIu64 ".%09" PRIu64, (int64_t)x < 0 ? "-" : "", a / 1000000000, a % 1000000000);
	}
	starts();
	ty_put_ns(out, INT64_MIN, 3, 0);
	is("-9223372036854775.808");
}

static void test_ns(void)
{
	static const struct { double ns; const char *text; } pairs[] = {
		{ 0, "0" }, { 1, "1 ns" }, { 999, "999 ns" }, { 999.4, "999 ns" }, { 999.6, "1.00 us" },
		{ 1000, "1.00 us" }, { 9994, "9.99 us" }, { 9996, "10.0 us" }, { 23450, "23.5 us" },
		{ 99940, "99.9 us" }, { 99960, "100 us" }, { 999.4e3, "999 us" }, { 999.6e3, "1.00 ms" },
		{ 59e9, "59.0 s" }, { 119e9, "119 s" }, { 120e9, "2.00 min" }, { 7200e9, "2.00 h" },
		{ -1, "-1 ns" }, { -1234, "-1.23 us" }, { 1.8e19, "5000000 h" }, { 3.6e24, "1000000000000 h" },
	};
	char buf[TY_FMT];
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		CU_ASSERT_STRING_EQUAL(ty_fmt_ns(buf, pairs[i].ns), pairs[i].text);
	CU_ASSERT_STRING_EQUAL(ty_fmt_bytes(buf, 1u << 20), "1.00 MiB");
	CU_ASSERT_STRING_EQUAL(ty_fmt_percent(buf, 0.123), "12.3 %");
}

/* Between the halves it is what printf says. */
static void test_as_printf(void)
{
	char buf[TY_FMT], want[TY_FMT];
	for (uint64_t ns = 1001; ns < 1000000; ns += 7) {
		double us = (double)ns / 1000;
		snprintf(want, sizeof want, "%.*f us", us >= 99.95 ? 0 : us >= 9.995 ? 1 : 2, us);
		unsigned last = us >= 99.95 ? 1000 : us >= 9.995 ? 100 : 10;
		if (ns % last != last / 2 && us < 999.5)
			CU_ASSERT_STRING_EQUAL(ty_fmt_ns(buf, (double)ns), want);
	}
}

int main(void)
{
	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	CU_pSuite s = CU_add_suite("fmt", NULL, NULL);
	CU_add_test(s, "put", test_put);
	CU_add_test(s, "ns", test_ns);
	CU_add_test(s, "as printf", test_as_printf);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}
