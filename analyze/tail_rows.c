/* SPDX-License-Identifier: MIT
 *
 * Watches requests while they are cut: how often each waits at each site, and
 * the slowest ones with all their waits.  Runs in readers.  Must stay true: one
 * row for each row of the run, in the same order; memory is by requests and
 * sites, and for the K slowest by their waits. */
#include "analyze/tail.h"

static void fail(struct ty_tail *t, int e)
{
	if (e && !t->error)
		t->error = e;
}

static void start_over(struct ty_tail *t)
{
	ty_ledger_free(&t->counts);
	for (size_t i = 0; i < t->nslow; i++)
		free(t->slow[i].wait);
	t->nslow = 0;
}

static void count(struct ty_tail *t, uint32_t *n, uint32_t site, uint32_t waits)
{
	if (TY_RESERVE(t->count, t->count_cap, (size_t)site + 1, (size_t)1024) ||
	    TY_RESERVE(t->touched, t->touched_cap, (size_t)*n + 1, (size_t)256)) {
		fail(t, -ENOMEM);
		return;
	}
	if (!t->count[site])
		t->touched[(*n)++] = site;
	t->count[site] += waits;
}

static void add_counts(struct ty_tail *t, const struct ty_req *q)
{
	struct ty_row row = { .end = q->last };
	for (size_t i = 0; i < q->firm; i++)
		if (q->part[i].end > q->part[i].begin)
			count(t, &row.n, q->part[i].site, 1);
	for (size_t i = 0; i < q->nfold; i++)
		count(t, &row.n, q->fold[i].site, q->fold[i].waits);
	if (TY_RESERVE(t->scratch, t->scratch_cap, (size_t)row.n + 1, (size_t)256)) {
		fail(t, -ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < row.n; i++) {
		t->scratch[i] = t->count[t->touched[i]];
		t->count[t->touched[i]] = 0;
	}
	fail(t, ty_ledger_add(&t->counts, &row, t->touched, t->scratch));
}

static int by_begin(const void *a, const void *b)
{
	const struct ty_slow_wait *p = a, *q = b;
	return p->part.begin != q->part.begin ? (p->part.begin < q->part.begin ? -1 : 1) : 0;
}

static int keep(struct ty_slow *s, const struct ty_req *q)
{
	*s = (struct ty_slow){ .begin = q->begin, .end = q->last, .latency = ty_req_latency(q),
				.thread = q->thread, .cls = q->cls };
	s->wait = calloc(q->firm + 1, sizeof *s->wait);
	if (!s->wait)
		return -ENOMEM;
	for (size_t i = 0; i < q->firm; i++)
		if (q->part[i].end > q->part[i].begin)
			s->wait[s->waits++] = (struct ty_slow_wait){ .part = q->part[i], .waker = TY_NONE };
	qsort(s->wait, s->waits, sizeof *s->wait, by_begin);
	for (size_t i = 0; i < q->nfold; i++) {
		s->summed += q->fold[i].waits;
		s->summed_ns += q->fold[i].ns;
	}
	return 0;
}

/* Slowest first; of equal ones the first that ended. */
static void keep_if_slow(struct ty_tail *t, const struct ty_req *q)
{
	uint64_t l = ty_req_latency(q);
	size_t i = t->nslow;
	struct ty_slow s;
	while (i && t->slow[i - 1].latency < l)
		i--;
	if (i >= t->k)
		return;
	int e = keep(&s, q);
	if (!e && (e = TY_RESERVE(t->slow, t->slow_cap, t->nslow + 1, (size_t)8)))
		free(s.wait);
	if (e) {
		fail(t, e);
		return;
	}
	if (t->nslow == t->k)
		free(t->slow[--t->nslow].wait);
	memmove(&t->slow[i + 1], &t->slow[i], (t->nslow - i) * sizeof *t->slow);
	t->slow[i] = s;
	t->nslow++;
}

static void watch(void *arg, const struct ty_req *q)
{
	struct ty_tail *t = arg;
	if (!t->r->rows.n) /* the first one, or the first one of another rule */
		start_over(t);
	add_counts(t, q);
	keep_if_slow(t, q);
}

void ty_tail_watch(struct ty_tail *t, struct run *r)
{
	t->r = r;
	r->request = watch;
	r->request_arg = t;
}

void ty_tail_free(struct ty_tail *t)
{
	start_over(t);
	free(t->slow);
	free(t->count);
	free(t->touched);
	free(t->scratch);
	free(t->site);
	free(t->cause);
	memset(t, 0, sizeof *t);
}
