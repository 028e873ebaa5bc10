/* SPDX-License-Identifier: MIT
 *
 * Folded stacks, as flame graph programs read them: "root;...;leaf;operation N",
 * one line per call path, N microseconds of waiting or a number of waits.  Runs
 * in readers.  Must stay true: paths that read the same are one line. */
#include <inttypes.h>

#include "analyze/export.h"

struct folded {
	struct export *x;
	struct ty_sums sums;
	uint32_t *canonical;
	int e;
};
struct line { char *text; uint64_t waits, ns; };

static int add_event(void *arg, const struct ty_ev *e)
{
	struct folded *f = arg;
	if (e->kind != TY_EV_WAIT && e->kind != TY_EV_OPEN)
		return 0;
	struct ty_sum_key k = { .path = f->canonical[e->path], .op = e->op };
	return ty_sums_add(&f->sums, &k, 1, ty_export_ns(f->x, e));
}

static void add_part(struct folded *f, uint32_t site, uint64_t waits, uint64_t ns)
{
	const struct run *r = &f->x->run;
	const struct ty_site *s = &r->sites.v[site];
	struct ty_sum_key k = { .path = TY_NONE, .op = TY_NONE };
	if (site != TY_SITE_HELD)
		k = (struct ty_sum_key){ .path = s->path < r->t.npaths ? f->canonical[s->path] : TY_NONE,
					 .op = s->op };
	int e = ty_sums_add(&f->sums, &k, waits, ns);
	f->e = f->e ? f->e : e;
}

static void add_request(void *arg, const struct ty_req *q)
{
	struct folded *f = arg;
	for (size_t i = 0; i < q->firm; i++)
		add_part(f, q->part[i].site, 1, q->part[i].end - q->part[i].begin);
	for (size_t i = 0; i < q->nfold; i++)
		add_part(f, q->fold[i].site, q->fold[i].waits, q->fold[i].ns);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

static int print_lines(struct folded *f)
{
	int settled = ty_sums_settle(&f->sums);
	struct line *v = settled ? NULL : calloc(f->sums.n + 1, sizeof *v);
	int e = v ? 0 : -ENOMEM;
	for (size_t i = 0; !e && i < f->sums.n; i++) {
		const struct ty_sum *s = &f->sums.v[i];
		v[i] = (struct line){ ty_export_stack(&f->x->run, s->key.path,
						      ty_export_op(&f->x->run, s->key.op)),
				      s->waits, s->ns };
		e = v[i].text ? 0 : -ENOMEM;
	}
	if (!e)
		qsort(v, f->sums.n, sizeof *v, by_text);
	for (size_t i = 0; !e && i < f->sums.n; i++) {
		if (i + 1 < f->sums.n && !strcmp(v[i].text, v[i + 1].text)) {
			v[i + 1].waits += v[i].waits;
			v[i + 1].ns += v[i].ns;
			continue;
		}
		uint64_t weight = f->x->waits ? v[i].waits : (v[i].ns + 500) / 1000;
		if (weight)
			fprintf(f->x->out, "%s %" PRIu64 "\n", v[i].text, weight);
	}
	for (size_t i = 0; v && i < f->sums.n; i++)
		free(v[i].text);
	free(v);
	return e;
}

int ty_export_folded(struct export *x, char *err)
{
	struct folded f = { .x = x };
	bool inside = x->in_requests;
	struct ty_walk w = { .event = inside ? NULL : add_event,
			     .request = inside ? add_request : NULL,
			     .arg = &f };
	int e = ty_pass_names(&x->run, err);
	f.canonical = e ? NULL : ty_export_canonical(&x->run);
	if (!e && !f.canonical)
		e = ty_err(err, -ENOMEM, "out of memory");
	if (!e)
		e = ty_export_walk(x, &w, err);
	if (!e && inside && x->run.rule == TY_RULE_NONE)
		e = ty_err(err, -ENODATA,
			   "--in-requests: there are no requests in this recording; name a rule with "
			   "--requests");
	if (!e && (f.e || (f.e = print_lines(&f))))
		e = ty_err(err, f.e, "out of memory");
	ty_sums_free(&f.sums);
	free(f.canonical);
	return e;
}
