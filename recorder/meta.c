/* SPDX-License-Identifier: MIT
 *
 * Provenance of a recording: where, when, with what it was made, and what is
 * missing from it.  Recorder's main thread.  Values are JSON; keys are only
 * ever added.
 */
#include "recorder/meta.h"
#include "recorder/orders.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include "common/err.h"

uint64_t ty_realtime(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

json_t *ty_meta_text(const char *s)
{
	json_t *j = json_string(s);
	if (j)
		return j;
	char *copy = strdup(s);
	for (char *p = copy; p && *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	j = json_string(copy ? copy : "");
	free(copy);
	return j;
}

/* Takes over value. */
static char *dump(json_t *value)
{
	char *s = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	json_decref(value);
	return s;
}

static void put(struct ty_recorder *r, const char *key, json_t *value)
{
	char *s = dump(value);
	if (s)
		ty_writer_meta(r->writer, key, s);
	free(s);
}

static void put_host(struct ty_recorder *r)
{
	struct utsname u;
	char buf[256];
	if (uname(&u) == 0) {
		put(r, "host", ty_meta_text(u.nodename));
		snprintf(buf, sizeof buf, "%s %s %s", u.sysname, u.release, u.machine);
		put(r, "kernel", ty_meta_text(buf));
	}
	ty_proc_cpu(buf, sizeof buf);
	put(r, "cpu", ty_meta_text(buf));
	put(r, "cores", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
	ty_proc_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", buf, sizeof buf);
	buf[strcspn(buf, "\n")] = 0;
	put(r, "clocksource", ty_meta_text(buf));
	put(r, "glibc", ty_meta_text(gnu_get_libc_version()));
}

static void put_orders(struct ty_recorder *r)
{
	char *words = ty_orders_text(r->orders->o);
	put(r, "orders", ty_meta_text(words ? words : "?"));
	put(r, "orders.state", ty_orders_json(r, false));
	free(words);
}

void ty_meta_start(struct ty_recorder *r, char *const *command)
{
	json_t *words = json_array();
	for (; command && *command; command++)
		json_array_append_new(words, ty_meta_text(*command));
	put(r, "command", words);
	put(r, "tool", ty_meta_text("tarry " TY_VERSION));
	put_host(r);
	put(r, "start", json_integer((json_int_t)r->began));
	put(r, "start_realtime", json_integer((json_int_t)r->began_real));
	put(r, "config", ty_meta_text(r->set->text ? r->set->text : ""));
	put(r, "requests", ty_meta_text(r->set->requests));
	put(r, "capture_bytes", json_integer(r->set->capture_bytes));
	if (r->orders)
		put_orders(r);
	put(r, "min_path_ns", json_integer((json_int_t)r->set->min_path_ns));
	const char *preload = getenv("LD_PRELOAD");
	put(r, "environment", json_pack("{s:o}", "LD_PRELOAD", ty_meta_text(preload ? preload : "")));
	put(r, "arena", ty_meta_text(r->arena.locator));
	put(r, "state", ty_meta_text("recording"));
}

static json_t *losses(const struct ty_recorder *r, const struct ty_written *w)
{
	const struct ty_arena *a = r->arena.a;
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "bad_record", (json_int_t)r->lost.bad_record,
			 "bad_bytes", (json_int_t)r->lost.bad_bytes,
			 "no_memory", (json_int_t)r->lost.no_memory,
			 "path_missed", (json_int_t)r->lost.path_missed,
			 "no_slot", (json_int_t)atomic_load_explicit(&a->no_slot, memory_order_relaxed),
			 "store_full", (json_int_t)w->failed,
			 "store_behind", (json_int_t)w->behind,
			 "trimmed", (json_int_t)w->trimmed,
			 "rows_no_room", (json_int_t)r->modules.no_room,
			 "other_version", (json_int_t)atomic_load_explicit(&a->refused, memory_order_relaxed));
}

static json_t *checks(struct ty_recorder *r)
{
	struct ty_checks c;
	ty_worker_checks(r->worker, &c);
	return json_pack("{s:I, s:I, s:I, s:I}", "agree", (json_int_t)c.agree, "shorter", (json_int_t)c.shorter,
			 "differ", (json_int_t)c.differ, "skipped", (json_int_t)c.skipped);
}

void ty_meta_running(struct ty_recorder *r)
{
	struct ty_written w;
	ty_writer_status(r->writer, &w);
	put(r, "losses.recorder", losses(r, &w));
	if (r->set->self_check)
		put(r, "selfcheck", checks(r));
	if (r->orders && ty_orders_changed(r))
		put(r, "orders.state", ty_orders_json(r, false));
}

static uint64_t cpu(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What recording cost: the drain and the writer grow with events; row tables
 * and symbols are paid once for each module. */
static json_t *own_cost(const struct ty_recorder *r, const struct ty_written *w)
{
	uint64_t per_event = r->drain_cpu + w->cpu_ns;
	return json_pack("{s:I, s:I, s:I, s:f}", "cpu_ns", (json_int_t)cpu(CLOCK_PROCESS_CPUTIME_ID), "drain_cpu_ns",
			 (json_int_t)per_event, "events", (json_int_t)r->drained, "drain_cpu_s_per_million_events",
			 r->drained ? (double)per_event / 1e3 / (double)r->drained : 0.0);
}

static int put_now(struct ty_store *s, const char *key, json_t *value, char *err)
{
	char *v = dump(value);
	int rc = v ? ty_store_put_meta(s, key, v, err) : ty_err(err, -ENOMEM, "out of memory");
	free(v);
	return rc;
}

int ty_meta_end(struct ty_recorder *r, struct ty_store *s, const struct ty_written *w, bool names, char *err)
{
	char *coverage = ty_coverage_json(r);
	int rc = coverage ? ty_store_put_meta(s, "coverage", coverage, err) : 0;
	free(coverage);
	if (rc == 0)
		rc = put_now(s, "losses.recorder", losses(r, w), err);
	if (rc == 0)
		rc = put_now(s, "selfcheck", checks(r), err);
	if (rc == 0)
		rc = put_now(s, "recorder", own_cost(r, w), err);
	if (rc == 0 && r->orders)
		rc = put_now(s, "orders.state", ty_orders_json(r, names), err);
	if (rc == 0)
		rc = put_now(s, "end", json_integer((json_int_t)ty_now()), err);
	if (rc == 0)
		rc = put_now(s, "end_realtime", json_integer((json_int_t)ty_realtime()), err);
	if (rc == 0)
		rc = put_now(s, "arena", ty_meta_text(""), err);
	if (rc == 0)
		rc = put_now(s, "state", ty_meta_text(w->err[0] ? "incomplete" : "complete"), err);
	return rc;
}
