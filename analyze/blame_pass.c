/* SPDX-License-Identifier: MIT
 *
 * The pass of `tarry blame`: all events once, in order of end, each wait cut
 * into segments before it is booked under its request; then the requests' times
 * are added up in three views: pairs, root causes, whole chains.  Runs in
 * readers.  Must stay true: each view's shares sum to 1, as the report's do. */
#include "analyze/blame.h"

int ty_blame_init(struct ty_blame *b, struct run *r)
{
	memset(b, 0, sizeof *b);
	b->r = r;
	int e = ty_cut_init(&b->cut, r);
	b->cut.times_only = true;
	if (r->where)
		ty_blame_watch(b);
	if (!e)
		e = ty_links_init(&b->links);
	if (!e)
		e = ty_wakes_init(&b->wakes);
	if (!e)
		e = ty_order_init(&b->order);
	if (!e)
		e = ty_blame_threads(b);
	b->past = calloc(r->t.nthreads + 1, sizeof *b->past);
	return e ? e : b->past ? 0 : -ENOMEM;
}

void ty_blame_free(struct ty_blame *b)
{
	if (!b->r)
		return;
	if (b->r->request_arg == b)
		b->r->request = NULL;
	for (size_t i = 0; b->past && i < b->r->t.nthreads; i++)
		free(b->past[i].v);
	free(b->past);
	free(b->by_tid);
	free(b->direct);
	free(b->seg);
	free(b->part);
	free(b->rank_pairs);
	free(b->rank_roots);
	free(b->rank_chains);
	ty_result_free(&b->pairs);
	ty_result_free(&b->roots);
	ty_result_free(&b->chains);
	ty_order_free(&b->order);
	ty_wakes_free(&b->wakes);
	ty_links_free(&b->links);
	ty_cut_free(&b->cut);
	memset(b, 0, sizeof *b);
}

/* ---- one event ---- */

static uint64_t clipped(const struct run *r, uint64_t begin, uint64_t end)
{
	if (begin < r->from)
		begin = r->from;
	return end > begin ? end - begin : 0;
}

static int account_direct(struct ty_blame *b, const struct ty_direct *d)
{
	int64_t key = ty_link_pair(b, d->link);
	if (key < 0)
		return (int)key;
	struct ty_link *k = &b->links.v[key];
	k->ended++;
	k->count += !b->r->where;
	if (d->hold != UINT64_MAX && (d->kind == TY_K_HELD || d->kind == TY_K_REACQUIRE)) {
		k->hold_n++;
		k->hold_total += d->hold;
		k->hold_max = d->hold > k->hold_max ? d->hold : k->hold_max;
	}
	if (k->votes && k->thread != d->thread) {
		k->votes--;
	} else {
		k->thread = d->thread;
		k->votes++;
	}
	return 0;
}

/* A wait that ended in the window, into the sums over all waits; with --where only into who mostly held what, and how long. */
static int account(struct ty_blame *b, const struct ty_ev *ev)
{
	const struct run *r = b->r;
	struct ty_blame_class *c = &b->cls[ev->cls < TY_CLASS_COUNT ? ev->cls : TY_CLASS_COUNT];
	int e = 0;
	if (ev->kind != TY_EV_WAIT || !b->cut.th[ev->thread].counted || ev->end < r->from || ev->end > r->to)
		return 0;
	for (size_t i = 0; !e && i < b->ndirect; i++)
		e = account_direct(b, &b->direct[i]);
	if (e || r->where)
		return e;
	c->waits++;
	for (size_t i = 0; i < b->ndirect; i++)
		c->ns[b->direct[i].kind] += clipped(r, b->direct[i].begin, b->direct[i].end);
	for (size_t i = 0; i < b->nseg; i++) {
		b->links.v[b->seg[i].link].total += clipped(r, b->seg[i].begin, b->seg[i].end);
		b->links.v[b->seg[i].link].count++;
	}
	return e;
}

static int wait_event(struct ty_blame *b, const struct ty_ev *ev)
{
	int64_t site = ty_sites_key(&b->r->sites, ev);
	if (site < 0)
		return (int)site;
	int e = ty_blame_direct(b, ev);
	if (!e)
		e = ty_chain_expand(b, ev, (uint32_t)site);
	if (!e && ev->kind == TY_EV_WAIT)
		e = ty_chain_remember(b, ev->thread);
	ty_blame_acquired(b, ev);
	if (!e)
		e = account(b, ev);
	if (!e)
		e = TY_RESERVE(b->part, b->part_cap, b->nseg, (size_t)64);
	if (e)
		return e;
	for (size_t i = 0; i < b->nseg; i++)
		b->part[i] = (struct ty_part){ .begin = b->seg[i].begin,
					       .end = b->seg[i].end,
					       .site = b->seg[i].link };
	b->cut.seg = b->part;
	b->cut.nseg = b->nseg;
	return 0;
}

#define AHEAD 6 /* events */

/* Brings near what an event that comes soon will ask for. */
static void prefetch(const struct ty_blame *b, const struct ty_ev *ev)
{
	if (ev->thread >= b->r->t.nthreads || ev->kind == TY_EV_MARK)
		return;
	uint32_t k = ty_sites_prefetch(&b->r->sites, ev);
	if (k && ev->kind == TY_EV_WAIT)
		ty_links_prefetch(&b->links, k - 1);
	if (ev->kind == TY_EV_WAIT)
		ty_chain_prefetch(b, ev->thread);
	if (ev->kind == TY_EV_WAKE || !ty_class_has_fd(ev->cls))
		ty_wakes_prefetch(&b->wakes, ev->object, ty_blame_space(b, ev));
}

static int event(struct ty_blame *b, const struct ty_ev *ev)
{
	const struct run *r = b->r;
	int e = 0;
	if (ev->thread < r->t.nthreads && r->t.threads[ev->thread].process < r->t.nprocesses) {
		if (ev->kind == TY_EV_WAKE)
			e = ty_blame_wake(b, ev);
		else if (ev->kind == TY_EV_WAIT || ev->kind == TY_EV_OPEN)
			e = wait_event(b, ev);
	}
	if (!e)
		e = ty_cut_events(&b->cut, ev, 1);
	b->cut.nseg = 0;
	return e;
}

int ty_blame_events(struct ty_blame *b, const struct ty_ev *ev, size_t n)
{
	const struct ty_ev *next;
	bool last = !n;
	int e = 0;
	do {
		if (n) {
			ty_order_put(&b->order, ev++);
			n--;
		}
		while (!e && !b->cut.saw_mark && (next = ty_order_take(&b->order, last))) {
			if (b->order.n > AHEAD)
				prefetch(b, ty_order_at(&b->order, AHEAD));
			e = event(b, next);
		}
	} while (!e && n && !b->cut.saw_mark);
	return e;
}

/* ---- views ---- */

/* Shares of pairs, roots and chains: the requests again with each key counted as another. */
static int views(struct ty_blame *b, const uint32_t *pair, const uint32_t *root)
{
	size_t n = b->r->sites.n;
	int e = ty_variance_as(&b->r->rows, pair, n, b->r->opt.tail, &b->pairs);
	if (!e)
		e = ty_variance_as(&b->r->rows, root, n, b->r->opt.tail, &b->roots);
	if (!e)
		e = ty_variance(&b->r->rows, n, b->r->opt.tail, &b->chains);
	return e;
}

struct order_by {
	const struct ty_blame *b;
	const struct ty_result *res;
};

static int by_share(const void *p, const void *q, void *arg)
{
	const struct order_by *o = arg;
	uint32_t x = *(const uint32_t *)p, y = *(const uint32_t *)q;
	const struct ty_link *a = &o->b->links.v[x], *c = &o->b->links.v[y];
	if (o->res->valid && o->res->site[x].share != o->res->site[y].share)
		return o->res->site[x].share > o->res->site[y].share ? -1 : 1;
	if (a->total != c->total)
		return a->total > c->total ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int rank(struct ty_blame *b, uint32_t next, const struct ty_result *res, uint32_t **ret, size_t *n)
{
	size_t links = b->r->sites.n < b->links.cap ? b->r->sites.n : b->links.cap;
	struct order_by o = { b, res };
	*ret = calloc(links + 1, sizeof **ret);
	if (!*ret)
		return -ENOMEM;
	for (uint32_t i = 0; i < links; i++) {
		const struct ty_link *k = &b->links.v[i];
		bool of = TY_NEXT_REAL(next) ? TY_NEXT_REAL(k->next) : k->next == next;
		if (k->kind != TY_K_NONE && of && (k->total || res->site[i].mean > 0))
			(*ret)[(*n)++] = i;
	}
	qsort_r(*ret, *n, sizeof **ret, by_share, &o);
	return 0;
}

/* Pair and root of every chain, and their sums; map_*: by key. */
static int summarize(struct ty_blame *b, size_t chains, uint32_t *pair, uint32_t *root)
{
	for (uint32_t i = 0; i < chains; i++) {
		struct ty_link k = i < b->links.cap ? b->links.v[i] : (struct ty_link){ 0 };
		pair[i] = root[i] = i;
		if (k.kind == TY_K_NONE || k.next == TY_NEXT_PAIR)
			continue;
		int64_t p = ty_link_pair(b, i), q = p < 0 ? p : ty_link_root(b, i);
		if (q < 0)
			return (int)q;
		pair[i] = (uint32_t)p;
		root[i] = (uint32_t)q;
		b->links.v[p].total += k.total;
		b->links.v[q].total += k.total;
		b->links.v[q].count += k.count;
	}
	return 0;
}

int ty_blame_finish(struct ty_blame *b)
{
	size_t chains = b->r->sites.n;
	uint32_t *map = malloc((2 * chains + 1) * sizeof *map);
	int e = map ? summarize(b, chains, map, map + chains) : -ENOMEM;
	if (!e)
		e = views(b, map, map + chains);
	if (!e)
		e = rank(b, TY_NEXT_PAIR, &b->pairs, &b->rank_pairs, &b->npairs);
	if (!e)
		e = rank(b, TY_NEXT_ROOT, &b->roots, &b->rank_roots, &b->nroots);
	if (!e)
		e = rank(b, 0, &b->chains, &b->rank_chains, &b->nchains);
	free(map);
	return e;
}
