/* SPDX-License-Identifier: MIT
 *
 * `tarry info`: under which order each object was, and what became of it.  Runs in
 * readers.  Must stay true: an order that did nothing does not look as if it had. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/fmt.h"
#include "analyze/info.h"
#include "analyze/orders.h"

#define FEW 20 /* objects, unless --all */

static uint64_t count_of(json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

static const char *text_of(json_t *o, const char *key, const char *otherwise)
{
	const char *s = json_string_value(json_object_get(o, key));
	return s ? s : otherwise;
}

static void put_word(json_t *o, const char *key)
{
	char fit[4 * 30 + 1];
	printf("%s", ty_fmt_fit(fit, sizeof fit, text_of(o, key, "?"), 30));
}

static void put_theta(json_t *o)
{
	double theta = json_number_value(json_object_get(o, "theta"));
	if (theta > 1)
		printf("%7s\n", "native");
	else
		printf("%7.3g\n", theta);
}

static void put_object(json_t *o)
{
	static const char *const keys[] = { "waits", "grants", "choices", "reordered", "forced", "bounded", "native" };
	char fit[4 * 30 + 1], n[TY_FMT];
	const char *name = text_of(o, "name", text_of(o, "object", "(others)"));
	printf("  %-30s", ty_fmt_fit(fit, sizeof fit, name, 30));
	printf("  %-8s", ty_fmt_fit(fit, sizeof fit, text_of(o, "order", "?"), 30));
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		printf("%11s", ty_fmt_count(n, count_of(o, keys[i])));
	put_theta(o);
}

static void put_objects(const struct ty_info *i, json_t *list)
{
	size_t n = json_array_size(list), rows = i->all || n <= FEW ? n : FEW;
	if (!n)
		return;
	printf("  %-30s  %-8s%11s%11s%11s%11s%11s%11s%11s%7s\n", "object", "order", "waits", "grants", "choices",
	       "reordered", "forced", "bounded", "native", "theta");
	for (size_t k = 0; k < rows; k++)
		put_object(json_array_get(list, k));
	if (rows < n)
		printf("  and %zu more (--all)\n", n - rows);
	printf("  choices: grants that found two or more waiting; reordered: of these, to another than who had waited\n"
	       "  longest; forced: by the bound of being passed over; bounded: had been missed; native: left to\n"
	       "  libc; theta: the part of choices among grants below which an object is left to libc\n");
}

static void put_fsync(json_t *f)
{
	char a[TY_FMT], b[TY_FMT], c[TY_FMT];
	if (!count_of(f, "calls"))
		return;
	printf("  fsync ");
	put_word(f, "policy");
	printf(": %s calls, %s flushes, %s shared another's", ty_fmt_count(a, count_of(f, "calls")),
	       ty_fmt_count(b, count_of(f, "done")), ty_fmt_count(c, count_of(f, "shared")));
	if (count_of(f, "lazy"))
		printf(", %s returned before their data was on disk", ty_fmt_count(a, count_of(f, "lazy")));
	putchar('\n');
}

void ty_info_orders(const struct ty_info *i)
{
	json_t *o = ty_info_meta(i, "orders.state"), *list, *line, *room;
	size_t k;
	char times[200], a[TY_FMT], fit[4 * 120 + 1];
	if (!o)
		return;
	printf("\norders: %s%s\n", ty_fmt_fit(fit, sizeof fit, text_of(o, "text", "?"), 120),
	       ty_orders_times(o, times, sizeof times));
	if (json_array_size(json_object_get(o, "rules"))) {
		printf("  age by ");
		put_word(o, "age");
		printf(", a waiter looks for itself after %s\n", ty_fmt_ns(a, (double)count_of(o, "bound_ns")));
	}
	list = json_object_get(o, "unmatched");
	json_array_foreach(list, k, line) {
		printf("  ");
		ty_fmt_put(stdout, json_is_string(line) ? json_string_value(line) : "?");
		printf("%s\n", strcmp(i->state, "recording") ? "" : " so far");
	}
	room = json_object_get(o, "no_room");
	if (count_of(room, "paths") + count_of(room, "variables"))
		printf("  no room for %" PRIu64 " call paths and %" PRIu64 " variables, whose waits were native\n",
		       count_of(room, "paths"), count_of(room, "variables"));
	put_fsync(json_object_get(o, "fsync"));
	put_objects(i, json_object_get(o, "objects"));
}
