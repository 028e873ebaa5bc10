/* SPDX-License-Identifier: MIT
 *
 * Which orders a recording was made under.  Runs in readers.  Must stay true: a
 * recording with an order never looks like one without. */
#include "analyze/orders.h"

#include <stdio.h>
#include "analyze/fmt.h"

#define SHOWN 4u /* switches in one line */

json_t *ty_orders_state(const struct run *r)
{
	const char *text = r->store ? ty_store_meta(r->store, "orders.state") : NULL;
	return text ? json_loads(text, 0, NULL) : NULL;
}

const char *ty_orders_times(json_t *state, char *buf, size_t size)
{
	json_t *list = json_object_get(state, "switches"), *one;
	size_t i, n = 0;
	char at[TY_FMT];
	*buf = 0;
	json_array_foreach(list, i, one) {
		if (i == SHOWN)
			break;
		n += (size_t)snprintf(buf + n, size - n, "%s %s from %s", i ? "," : ";",
				      json_is_true(json_object_get(one, "native")) ? "native" : "ordered",
				      ty_fmt_ns(at, (double)json_integer_value(json_object_get(one, "at_ns"))));
		if (n >= size)
			return buf;
	}
	if (json_array_size(list) > SHOWN)
		snprintf(buf + n, size - n, ", and %zu switches more", json_array_size(list) - SHOWN);
	return buf;
}

void ty_orders_show(const struct run *r)
{
	char times[200], fit[4 * 110 + 1];
	json_t *state = ty_orders_state(r);
	const char *text = json_string_value(json_object_get(state, "text"));
	if (state)
		printf("  under orders: %s%s\n", ty_fmt_fit(fit, sizeof fit, text ? text : "?", 110),
		       ty_orders_times(state, times, sizeof times));
	json_decref(state);
}
