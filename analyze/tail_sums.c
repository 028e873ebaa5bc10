/* SPDX-License-Identifier: MIT
 *
 * The excess of the slowest requests over the mean, split exactly by site and
 * cause (docs/ARITHMETIC.md).  Runs in readers.  Must stay true: all causes and
 * running add up to the excess. */
#include "analyze/tail.h"

#include <math.h>

#include "analyze/blocks.h"

#define HARDLY 0.01 /* of the other requests wait at an "other site"; in the tail, */
#define OFTENER 10  /* so many times that part does */

/* Sums of one site over the requests of one block: all, and those in the tail. */
struct part { double n, t, n_tail, t_tail; };
struct block { double n, l, n_tail, l_tail; };

/* For correlations, over all requests; l is latency - mean. */
struct moments { unsigned __int128 tt; double nn, nl, tl; };

struct work {
	struct ty_tail *t;
	size_t sites;        /* the last is running */
	struct ty_blocks blocks;
	struct part *part;   /* [block * sites + site] */
	struct block *block, all;
	struct moments *m;
	double ll;
	uint64_t *waits;     /* [sites] of the request in hand */
};

unsigned ty_repeat(uint64_t n)
{
	unsigned i = n < 3 ? (unsigned)n : 65 - (unsigned)__builtin_clzll(n - 1);
	return i < TY_REPEATS ? i : TY_REPEATS - 1;
}

const char *ty_repeat_name(unsigned i)
{
	static const char *const names[TY_REPEATS] = { "0", "1", "2", "3-4", "5-8", "9-16", "17-32", "33-64", "65+" };
	return names[i];
}

static void add(struct work *w, size_t site, uint32_t block, bool tail, double l, uint64_t waits, uint64_t ns)
{
	struct part *p = &w->part[(size_t)block * w->sites + site];
	struct moments *m = &w->m[site];
	double n = (double)waits, x = (double)ns;
	p->n += n;
	p->t += x;
	if (tail) {
		p->n_tail += n;
		p->t_tail += x;
	}
	m->nn += n * n;
	m->nl += n * l;
	m->tt += (unsigned __int128)ns * ns;
	m->tl += x * l;
	if (site + 1 < w->sites)
		w->t->site[site].repeat[tail][ty_repeat(waits)]++;
}

static int gather(struct work *w)
{
	struct ty_tail *t = w->t;
	const struct ty_row *row, *crow;
	const uint32_t *site, *csite;
	const uint64_t *ns, *waits;
	size_t i = 0;
	int e = ty_ledger_rewind(&t->r->rows);
	if (!e)
		e = ty_ledger_rewind(&t->counts);
	while (!e && (e = ty_ledger_next(&t->r->rows, &row, &site, &ns)) == 1) {
		if ((e = ty_ledger_next(&t->counts, &crow, &csite, &waits)) != 1)
			return e < 0 ? e : -EPROTO;
		e = 0;
		for (uint32_t j = 0; j < crow->n; j++)
			w->waits[csite[j]] = waits[j];
		bool tail = row->latency >= t->from;
		uint64_t rest = row->latency;
		double l = (double)row->latency - t->mean;
		struct block *b = &w->block[w->blocks.of[i]];
		b->n++;
		b->l += l;
		b->n_tail += tail;
		b->l_tail += tail ? l : 0;
		w->ll += l * l;
		for (uint32_t j = 0; j < row->n; j++) {
			rest -= ns[j];
			add(w, site[j], w->blocks.of[i], tail, l, w->waits[site[j]], ns[j]);
		}
		add(w, w->sites - 1, w->blocks.of[i++], tail, l, 1, rest);
		for (uint32_t j = 0; j < crow->n; j++)
			w->waits[csite[j]] = 0;
	}
	return e;
}

struct causes { double share, more, longer; };

/* Of one site: E[T|tail] - E[T] over the excess, and its two parts. */
static struct causes split(struct block b, struct part p)
{
	struct causes c = { 0 };
	double excess = b.l_tail / b.n_tail - b.l / b.n;
	double n = p.n / b.n, n_tail = p.n_tail / b.n_tail, t = p.t / b.n, t_tail = p.t_tail / b.n_tail;
	if (!(excess > 0) || !(n > 0))
		return c;
	c.share = (t_tail - t) / excess;
	c.more = (n_tail - n) * (t / n) / excess;
	c.longer = c.share - c.more; /* E[N|tail] (mean wait in the tail - mean wait) */
	return c;
}

static void errors(struct work *w, size_t site, struct part all, struct ty_tail_site *s)
{
	double share[256] = { 0 }, more[256] = { 0 }, longer[256] = { 0 };
	for (uint32_t b = 0; b < w->blocks.n; b++) {
		const struct part *p = &w->part[(size_t)b * w->sites + site];
		const struct block *k = &w->block[b];
		struct block rest = { w->all.n - k->n, w->all.l - k->l, w->all.n_tail - k->n_tail, w->all.l_tail - k->l_tail };
		struct causes c = { 0 };
		if (rest.n_tail > 0)
			c = split(rest, (struct part){ all.n - p->n, all.t - p->t, all.n_tail - p->n_tail,
						      all.t_tail - p->t_tail });
		share[b] = c.share;
		more[b] = c.more;
		longer[b] = c.longer;
	}
	s->se = ty_blocks_error(&w->blocks, share);
	s->more_se = ty_blocks_error(&w->blocks, more);
	s->longer_se = ty_blocks_error(&w->blocks, longer);
}

/* Pearson's r^2 from sums; xl is around the mean of l, whose sum is 0 but for rounding. */
static double r2(double n, long double xx, double x, double xl, double l, double ll)
{
	long double vx = xx - (long double)x * x / n, vl = ll - (long double)l * l / n, c = xl - (long double)x * l / n;
	return vx > xx * 1e-15L && vl > 0 ? (double)(c * c / (vx * vl)) : NAN;
}

static void one_site(struct work *w, size_t site, struct ty_tail_site *s)
{
	struct ty_tail *t = w->t;
	struct part all = { 0 };
	const struct moments *m = &w->m[site];
	for (uint32_t b = 0; b < w->blocks.n; b++) {
		const struct part *p = &w->part[(size_t)b * w->sites + site];
		all.n += p->n;
		all.t += p->t;
		all.n_tail += p->n_tail;
		all.t_tail += p->t_tail;
	}
	s->n = all.n / w->all.n;
	s->t = all.t / w->all.n;
	s->n_tail = w->all.n_tail > 0 ? all.n_tail / w->all.n_tail : 0;
	s->t_tail = w->all.n_tail > 0 ? all.t_tail / w->all.n_tail : 0;
	uint64_t in_tail = 0, others = 0;
	for (unsigned i = 1; i < TY_REPEATS; i++) {
		in_tail += s->repeat[1][i];
		others += s->repeat[0][i];
	}
	s->repeat[1][0] = t->n_tail - in_tail;
	s->repeat[0][0] = t->n - t->n_tail - others;
	double part = t->n > t->n_tail ? (double)others / (double)(t->n - t->n_tail) : 0;
	s->other = in_tail && part <= HARDLY && (double)in_tail / (double)t->n_tail >= OFTENER * part;
	s->r2_count = r2(w->all.n, m->nn, all.n, m->nl, w->all.l, w->ll);
	s->r2_time = r2(w->all.n, (long double)m->tt, all.t, m->tl, w->all.l, w->ll);
	if (!t->valid || !(all.n > 0))
		return;
	struct causes c = split(w->all, all);
	s->share = c.share;
	s->more = c.more;
	s->longer = c.longer;
	errors(w, site, all, s);
}

static int by_share(const void *a, const void *b)
{
	const struct ty_cause_row *p = a, *q = b;
	double x = fabs(p->share), y = fabs(q->share);
	if (x != y)
		return x > y ? -1 : 1;
	return p->site != q->site ? (p->site < q->site ? -1 : 1) : (int)p->cause - (int)q->cause;
}

static int list_causes(struct ty_tail *t)
{
	size_t sites = t->r->sites.n;
	t->cause = calloc(2 * sites + 1, sizeof *t->cause);
	if (!t->cause)
		return -ENOMEM;
	t->sum = t->running.share;
	for (uint32_t i = 0; i < sites; i++) {
		const struct ty_tail_site *s = &t->site[i];
		t->sum += s->share;
		if (s->other && s->share != 0) {
			t->cause[t->causes++] = (struct ty_cause_row){ i, TY_CAUSE_OTHER_SITE, s->share, s->se };
			continue;
		}
		if (s->more != 0)
			t->cause[t->causes++] = (struct ty_cause_row){ i, TY_CAUSE_MORE, s->more, s->more_se };
		if (s->longer != 0)
			t->cause[t->causes++] = (struct ty_cause_row){ i, TY_CAUSE_LONGER, s->longer, s->longer_se };
	}
	qsort(t->cause, t->causes, sizeof *t->cause, by_share);
	return 0;
}

static void latencies(struct work *w)
{
	struct ty_tail *t = w->t;
	const struct ty_ledger *rows = &t->r->rows;
	unsigned __int128 sum = 0, tail = 0;
	for (size_t i = 0; i < rows->n; i++) {
		sum += rows->v[i].latency;
		if (rows->v[i].latency < t->from)
			continue;
		tail += rows->v[i].latency;
		t->n_tail++;
	}
	t->n = rows->n;
	t->mean = (double)((long double)sum / (long double)t->n);
	t->mean_tail = t->n_tail ? (double)((long double)tail / (long double)t->n_tail) : 0;
	t->excess = t->mean_tail - t->mean;
	t->valid = t->n_tail && t->excess > 0;
}

int ty_tail_sums(struct ty_tail *t, char *err)
{
	struct work w = { .t = t, .sites = t->r->sites.n + 1 };
	int e = t->error ? t->error : t->counts.n == t->r->rows.n ? 0 : -EPROTO;
	if (e)
		return ty_err(err, e, "counting waits: %s", strerror(-e));
	t->from = t->r->res.tail_at;
	latencies(&w);
	e = ty_blocks_make(&w.blocks, &t->r->rows, w.sites);
	t->blocks = w.blocks.n > 1 ? w.blocks.n : 0;
	t->site = calloc(w.sites, sizeof *t->site);
	w.part = calloc((size_t)w.blocks.n * w.sites, sizeof *w.part);
	w.block = calloc(w.blocks.n, sizeof *w.block);
	w.m = calloc(w.sites, sizeof *w.m);
	w.waits = calloc(w.sites, sizeof *w.waits);
	if (!e)
		e = t->site && w.part && w.block && w.m && w.waits ? gather(&w) : -ENOMEM;
	for (uint32_t b = 0; !e && b < w.blocks.n; b++) {
		w.all.n += w.block[b].n;
		w.all.l += w.block[b].l;
		w.all.n_tail += w.block[b].n_tail;
		w.all.l_tail += w.block[b].l_tail;
	}
	for (size_t i = 0; !e && i < w.sites - 1; i++)
		one_site(&w, i, &t->site[i]);
	if (!e) {
		one_site(&w, w.sites - 1, &t->running);
		e = list_causes(t);
	}
	free(w.blocks.of);
	free(w.part);
	free(w.block);
	free(w.m);
	free(w.waits);
	return e ? ty_err(err, e, "adding up the tail: %s", strerror(-e)) : 0;
}
