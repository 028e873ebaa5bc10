/* SPDX-License-Identifier: MIT
 *
 * The latencies of a run that was recorded: its requests, cut as the report
 * cuts them.  Runs in `tarry experiment`, by the readers' passes. */
#include "experiment/measure.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include "analyze/report.h"
#include "analyze/run.h"

/* Events that should be there and are not. */
static uint64_t lost(const struct run *r)
{
	static const char *const recorder[] = { "bad_record", "no_memory", "no_slot", "store_full", "store_behind",
						"trimmed" };
	const char *text = ty_store_meta(r->store, "losses.recorder");
	json_t *o = text ? json_loads(text, 0, NULL) : NULL;
	size_t n;
	const char *const *names = ty_store_losses(r->store, &n);
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], "ring_full") == 0)
			sum += ty_sum_loss(r, i);
	for (size_t i = 0; i < sizeof recorder / sizeof *recorder; i++)
		sum += (uint64_t)json_integer_value(json_object_get(o, recorder[i]));
	json_decref(o);
	return sum;
}

static int take(struct ty_latencies *l, const struct run *r, char *err)
{
	if (r->rule == TY_RULE_NONE || r->rows.n == 0)
		return ty_err(err, -ENODATA, "no requests in the recording; tarry-report(1) says how to get some");
	uint64_t n = lost(r);
	if (n > r->counts.events / 1000)
		return ty_err(err, -ENODATA, "%llu of the recording's events were lost, more than one in a thousand",
			      (unsigned long long)n);
	for (size_t i = 0; i < r->rows.n; i++)
		if (ty_latencies_add(l, r->rows.v[i].latency) < 0)
			return ty_err(err, -ENOMEM, "out of memory");
	return 0;
}

int ty_latencies_requests(struct ty_latencies *l, const char *store, char *err)
{
	struct run r = { .opt = { .store = store, .tail = 0.99 } };
	int rc = ty_pass_load(&r, err);
	if (rc == 0)
		rc = ty_pass_names(&r, err);
	if (rc == 0)
		rc = ty_pass_cut(&r, err);
	if (rc == 0)
		rc = take(l, &r, err);
	ty_run_free(&r);
	return rc;
}
