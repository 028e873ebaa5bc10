/* SPDX-License-Identifier: MIT
 *
 * The data of the page: the objects of report, tree, tail and blame, where the
 * recording comes from, and a sample of its requests.  Runs in readers.  Must
 * stay true: the figures are those of the other commands, computed by the same
 * passes, and events are read once for all of them. */
#include "analyze/html.h"

#include <stdio.h>

#include "analyze/json.h"
#include "analyze/objects.h"
#include "analyze/report.h"
#include "analyze/where_options.h"

#define FORMAT 1
#define FACTORS 5
#define FACTOR_LEAST 0.05
#define COUNTS_LIMIT ((size_t)96 << 20) /* as in html_blame.c */
#define APART 100u /* sites that are told apart from others of their names */

void ty_html_watch(struct ty_html *h, struct run *r)
{
	h->tail.q = r->opt.tail;
	h->tail.k = TY_HTML_SLOWEST;
	h->tail.counts.limit = COUNTS_LIMIT;
	ty_tail_watch(&h->tail, r);
	h->run = r;
	ty_html_blame_watch(h);
}

void ty_html_free(struct ty_html *h)
{
	ty_tail_free(&h->tail);
	ty_html_blame_free(h);
}

/* ---- where the recording comes from ---- */

static json_t *meta(const struct run *r, const char *key)
{
	const char *text = ty_store_meta(r->store, key);
	json_t *j = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
	return j || !text ? j : ty_json_text(text);
}

static json_t *recording(const struct run *r)
{
	static const char *const keys[] = { "state", "host", "kernel", "cpu", "cores", "clocksource", "glibc", "tool",
		"command", "config", "start_realtime", "end_realtime", "end", "min_path_ns", "recorder", "trimmed",
		"selfcheck", "orders" };
	json_t *o = json_object();
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		ty_json_set(o, keys[i], meta(r, keys[i]));
	/* of --from and --to */
	ty_json_set(o, "from_ns", r->from ? ty_json_integer(r->from) : json_null());
	ty_json_set(o, "to_ns", r->to != UINT64_MAX ? ty_json_integer(r->to) : json_null());
	ty_json_set(o, "threads", ty_json_integer(r->t.nthreads));
	ty_json_set(o, "rule_words", ty_json_text(ty_rule_words(r, (char[TY_NAME_MAX]){ "" })));
	return o;
}

/* The counters of report.losses in words. */
static json_t *loss_words(const struct run *r)
{
	json_t *o = json_object(), *recorder = meta(r, "losses.recorder");
	const char *key;
	json_t *v;
	size_t n;
	const char *const *names = ty_store_losses(r->store, &n);
	json_object_foreach(recorder, key, v)
		ty_json_set(o, key, ty_json_text(ty_recorder_loss_what(key)));
	for (size_t i = 0; i < n; i++)
		ty_json_set(o, names[i], ty_json_text(ty_store_loss_what(r->store, i)));
	json_decref(recorder);
	return o;
}

struct named { uint32_t site; uint16_t op; char *function; };

static int by_name(const void *a, const void *b)
{
	const struct named *p = a, *q = b;
	return p->op != q->op ? (p->op < q->op ? -1 : 1) : strcmp(p->function, q->function);
}

/* Of sites with one name: the caller that tells each apart, and what the text report puts behind its name. */
static void add_apart(json_t *o, json_t *words, const struct run *r, const struct named *v, size_t n)
{
	uint32_t list[APART];
	struct ty_apart apart;
	char id[17];
	for (size_t i = 0; i < n; i++)
		list[i] = v[i].site;
	for (size_t i = 0; i < n; i++) {
		if (!ty_site_apart(r, list[i], list, n, &apart))
			continue;
		ty_json_set(o, ty_site_id(r, list[i], id), ty_json_text(apart.caller));
		ty_json_set(words, id, ty_json_text(apart.words));
	}
}

static void put_apart(json_t *data, const struct run *r)
{
	json_t *o = json_object(), *words = json_object();
	struct named v[APART] = { 0 };
	char buf[TY_NAME_MAX];
	size_t n = 0;
	for (size_t i = 0; i < r->nrank && n < APART; i++) {
		uint32_t site = r->rank[i];
		v[n] = (struct named){ site, r->sites.v[site].op, strdup(ty_site_function(r, site, buf)) };
		n += v[n].function != NULL;
	}
	qsort(v, n, sizeof *v, by_name);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && !by_name(&v[i], &v[next]); next++)
			;
		if (next > i + 1)
			add_apart(o, words, r, v + i, next - i);
	}
	for (size_t i = 0; i < n; i++)
		free(v[i].function);
	ty_json_set(data, "apart", o);
	ty_json_set(data, "apart_words", words);
}

/* The kinds of blame in words. */
static json_t *kind_words(void)
{
	json_t *o = json_object();
	for (unsigned k = TY_K_HELD; k < TY_K_KINDS; k++)
		ty_json_set(o, ty_kind_name(k), json_string(ty_kind_words(k)));
	return o;
}

/* ---- the sites ---- */

/* Those outside of requests by their time, after all others. */
static int by_weight(const void *a, const void *b, void *arg)
{
	const struct run *r = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	double p = ty_html_weight(r, x), q = ty_html_weight(r, y);
	uint64_t s = r->sites.v[x].total_all, t = r->sites.v[y].total_all;
	return p != q ? (p > q ? -1 : 1) : s != t ? (s > t ? -1 : 1) : x < y ? -1 : x > y;
}

/* Which sites are listed one by one, so that the page does not grow with a program's call paths; NULL: no memory. */
static bool *choose_sites(const struct run *r)
{
	bool *only = calloc(r->sites.n + 1, sizeof *only);
	uint32_t *site = malloc((r->nrank + 1) * sizeof *site);
	if (only && site) {
		memcpy(site, r->rank, r->nrank * sizeof *site);
		qsort_r(site, r->nrank, sizeof *site, by_weight, (void *)(uintptr_t)r);
		for (size_t i = 0; i < r->nrank && i < TY_HTML_LISTED; i++)
			only[site[i]] = true;
	}
	free(site);
	if (!site) {
		free(only);
		only = NULL;
	}
	return only;
}

/* The sum of the others. */
static json_t *sites_left(const struct run *r, const bool *only)
{
	json_t *o = json_object();
	struct ty_share sum = { 0 };
	uint64_t n = 0, waits = 0, total = 0;
	for (size_t i = 0; i < r->nrank; i++) {
		uint32_t k = r->rank[i];
		if (only[k])
			continue;
		n++;
		waits += r->sites.v[k].waits;
		total += r->sites.v[k].total;
		sum.share += r->res.site[k].share;
		sum.tail += r->res.site[k].tail;
		sum.mean += r->res.site[k].mean;
	}
	ty_json_set(o, "sites", ty_json_integer(n));
	ty_json_set(o, "waits", ty_json_integer(waits));
	ty_json_set(o, "total_ns", ty_json_integer(total));
	ty_json_set(o, "share", r->res.valid ? ty_json_real(sum.share) : json_null());
	ty_json_set(o, "tail_share", r->res.valid ? ty_json_real(sum.tail) : json_null());
	ty_json_set(o, "mean_ns", ty_json_real(sum.mean));
	return o;
}

static int add_report(json_t *o, const struct run *r, char *err)
{
	bool *only = choose_sites(r);
	if (!only)
		return ty_err(err, -ENOMEM, "out of memory");
	ty_json_set(o, "report", ty_report_object(r, only));
	ty_json_set(o, "sites_left", sites_left(r, only));
	free(only);
	return 0;
}

/* ---- the commands ---- */

static int add_tree(json_t *o, struct run *r, char *err)
{
	struct ty_tree t = { 0 };
	struct ty_factors f = { 0 };
	const struct ty_tree_wanted wanted = { .k = FACTORS, .d = FACTOR_LEAST };
	const struct ty_tree_show show = { .least = FACTOR_LEAST / 5 };
	int e = ty_tree_make(&t, &f, r, &wanted, err);
	if (!e)
		ty_json_set(o, "tree", ty_tree_object(&t, &f, r, &show));
	ty_factors_free(&f);
	ty_tree_free(&t);
	return e;
}

static int add_tail(json_t *o, struct ty_html *h, char *err)
{
	int e = ty_tail_sums(&h->tail, err);
	if (!e)
		e = ty_tail_wakers(&h->tail, err);
	if (!e)
		ty_json_set(o, "tail", ty_tail_object(&h->tail));
	return e;
}

static int add_requests(json_t *o, struct ty_html *h, struct run *r, char *err)
{
	json_t *sample = NULL;
	ty_json_set(o, "latency", ty_html_latency(&r->rows));
	int e = ty_html_sample(r, &h->tail.counts, &sample);
	if (e)
		return ty_err(err, e, "choosing requests: %s", strerror(-e));
	ty_json_set(o, "sample", sample);
	return 0;
}

static int add_blame(json_t *o, struct ty_html *h, char *err)
{
	json_t *blame = NULL;
	int e = ty_html_blame(h, &blame, err);
	if (!e)
		ty_json_set(o, "blame", blame);
	return e;
}

int ty_html_write(struct ty_html *h, struct run *r, char *err)
{
	json_t *o = json_object(), *head = json_object();
	ty_json_set(head, "format", json_integer(FORMAT));
	ty_json_set(head, "version", json_string(TY_VERSION));
	ty_json_set(o, "page", head);
	ty_json_set(o, "recording", recording(r));
	ty_json_set(o, "loss_words", loss_words(r));
	ty_json_set(o, "kind_words", kind_words());
	int e = add_report(o, r, err);
	put_apart(o, r);
	if (!e && r->rule != TY_RULE_NONE && r->rows.n) {
		e = add_requests(o, h, r, err);
		if (!e)
			e = add_tree(o, r, err);
		if (!e)
			e = add_tail(o, h, err);
	}
	/* what only the report's requests needed, before those of blame are added up */
	ty_ledger_free(&h->tail.counts);
	ty_ledger_free(&r->rows);
	if (!e)
		e = add_blame(o, h, err);
	if (!e)
		e = ty_html_file(h->file, o, err);
	json_decref(o);
	return e;
}
