/* SPDX-License-Identifier: MIT
 *
 * The last seconds of a recording in progress: requests and sites, from the
 * store.  Runs in a reader.  Must stay true: each event goes into the cut of
 * requests exactly once, so a frame costs what the last seconds hold, however
 * long the recording runs.  What a drain brings late is waited for: the view
 * lags LAG behind. */
#include "analyze/live.h"
#include "analyze/quantile.h"
#include "analyze/top.h"
#include "recorder/proc.h"

#define LAG 1000000000ull
#define BACK 5000000u /* events that are read from the start, so that all connections are known */

/* ---- tables ---- */

static int by_id(const void *a, const void *b, void *arg)
{
	const struct run *r = arg;
	const struct ty_thread_info *x = &r->t.threads[*(const uint32_t *)a],
				    *y = &r->t.threads[*(const uint32_t *)b];
	uint64_t p = (uint64_t)r->t.processes[x->process].pid << 32 | x->tid;
	uint64_t q = (uint64_t)r->t.processes[y->process].pid << 32 | y->tid;
	if (p != q)
		return p < q ? -1 : 1;
	return x->start > y->start ? -1 : x->start < y->start; /* of equal ids the latest first */
}

static int index_threads(struct ty_top *t)
{
	const struct run *r = &t->run;
	size_t n = 0;
	free(t->by_id);
	free(t->by_id_thread);
	t->by_id = calloc(r->t.nthreads + 1, sizeof *t->by_id);
	t->by_id_thread = calloc(r->t.nthreads + 1, sizeof *t->by_id_thread);
	if (!t->by_id || !t->by_id_thread)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->t.nthreads; i++)
		if (r->t.threads[i].process < r->t.nprocesses)
			t->by_id_thread[n++] = i;
	if (n)
		qsort_r(t->by_id_thread, n, sizeof *t->by_id_thread, by_id, &t->run);
	for (size_t i = 0; i < n; i++) {
		const struct ty_thread_info *x = &r->t.threads[t->by_id_thread[i]];
		t->by_id[i] = (uint64_t)r->t.processes[x->process].pid << 32 | x->tid;
	}
	t->by_id_n = n;
	return 0;
}

static void free_modules(struct ty_top *t)
{
	ty_live_free(t->run.live);
	t->run.live = NULL;
	for (size_t i = 0; i < t->modules; i++) {
		free((char *)(uintptr_t)t->module[i].path);
		free((char *)(uintptr_t)t->module[i].build_id);
	}
	free(t->module);
	t->module = NULL;
	t->modules = 0;
}

/* Symbols are read from the modules' files, which is dear, so what was read is
 * kept until there are more modules; strings of the store do not live that long. */
static int keep_modules(struct ty_top *t)
{
	const struct run *r = &t->run;
	if (t->module && t->modules == r->t.nmodules)
		return 0;
	free_modules(t);
	t->module = calloc(r->t.nmodules + 1, sizeof *t->module);
	if (!t->module)
		return -ENOMEM;
	for (; t->modules < r->t.nmodules; t->modules++) {
		struct ty_module_info *m = &t->module[t->modules];
		m->path = strdup(r->t.modules[t->modules].path);
		m->build_id = strdup(r->t.modules[t->modules].build_id);
		if (!m->path || !m->build_id)
			return -ENOMEM;
	}
	t->pcs = t->vars = 0;
	for (size_t i = 0; i < t->names_cap; i++) { /* one may have had no module until now */
		free(t->name[i]);
		t->name[i] = NULL;
	}
	t->run.live = ty_live_new(t->module, t->modules);
	return t->run.live ? 0 : -ENOMEM;
}

const char *ty_top_path_name(struct ty_top *t, uint32_t path)
{
	char buf[TY_NAME_MAX];
	if (path >= t->run.t.npaths || TY_RESERVE(t->name, t->names_cap, t->run.t.npaths, (size_t)1024))
		return "";
	if (!t->name[path])
		t->name[path] = strdup(t->run.t.paths[path].flags & TY_F_NO_PATH ? "[path not taken]"
						: ty_path_function(&t->run, path, buf));
	return t->name[path] ? t->name[path] : "";
}

/* What the cut wants of the pass over paths; it books by operation here, so it
 * needs no groups but for the rule site:. */
static int name_paths(struct ty_top *t, char *err)
{
	struct run *r = &t->run;
	struct ty_names *n = &r->names;
	free(n->group);
	free(n->kind);
	free(n->match);
	free(n->match_op);
	free(n->fd);
	memset(n, 0, sizeof *n);
	return ty_pass_names(r, err);
}

int ty_top_tables(struct ty_top *t, char *err)
{
	struct run *r = &t->run;
	size_t threads = r->t.nthreads, processes = r->t.nprocesses;
	ty_tables_take(r);
	int e = index_threads(t);
	e = e ? e : keep_modules(t);
	e = e ? e : name_paths(t, err);
	if (!e && t->cutting) {
		r->sites.group = r->names.group;
		r->sites.npaths = r->t.npaths;
		e = ty_cut_grow(&t->cut, threads, processes);
	}
	return e ? ty_err(err, e, "out of memory") : 0;
}

/* ---- requests ---- */

static void add_request(void *arg, const struct ty_req *q)
{
	struct ty_top *t = arg;
	if (!TY_RESERVE(t->req, t->reqs_cap, t->reqs + 1, (size_t)1024))
		t->req[t->reqs++] = (struct ty_top_request){ q->last, ty_req_latency(q) };
}

static int begin_cut(struct ty_top *t)
{
	struct run *r = &t->run;
	ty_sites_free(&r->sites);
	int e = ty_sites_init(&r->sites, TY_BY_OPERATION, r->names.group, r->t.npaths, r->names.ngroups,
			      r->t.nops);
	r->request = add_request;
	r->request_arg = t;
	e = e ? e : ty_cut_init(&t->cut, r);
	t->cutting = true;
	return e;
}

static void end_cut(struct ty_top *t)
{
	if (!t->cutting)
		return;
	t->run.request = NULL; /* what is open now does not count */
	ty_req_close_all(&t->cut);
	ty_cut_free(&t->cut);
	t->cutting = false;
	t->reqs = 0;
}

static int by_latency(const void *a, const void *b)
{
	uint64_t x = ((const struct ty_top_request *)a)->latency,
		 y = ((const struct ty_top_request *)b)->latency;
	return x < y ? -1 : x > y;
}

/* Forgets requests that ended before the window, and sums up the others. */
static void sum_requests(struct ty_top *t, uint64_t from)
{
	struct ty_top_figures *f = &t->fig;
	size_t n = 0;
	for (size_t i = 0; i < t->reqs; i++)
		if (t->req[i].end >= from)
			t->req[n++] = t->req[i];
	t->reqs = f->requests = n;
	f->p50 = f->p99 = f->max = 0;
	if (!n)
		return;
	qsort(t->req, n, sizeof *t->req, by_latency);
	f->p50 = t->req[ty_quantile_at(n, 0.5)].latency;
	f->p99 = t->req[ty_quantile_at(n, 0.99)].latency;
	f->max = t->req[n - 1].latency;
}

/* ---- sites ---- */

static int add_wait(struct ty_top *t, const struct ty_ev *e, uint64_t from)
{
	uint64_t b = e->begin > from ? e->begin : from, ns = e->end > b ? e->end - b : 0;
	struct ty_sum_key k = { .path = e->path, .op = e->op };
	if (t->run.t.paths[e->path].flags & TY_F_NO_PATH)
		k.path = TY_NONE;
	else
		t->last[e->thread] = (struct ty_top_last){ e->object, e->op, e->path };
	if (ty_sums_add(&t->sums, &k, 1, ns) || ty_sums_settle(&t->sums) || /* what is beside the sum needs its place now */
	    TY_RESERVE(t->longest, t->longest_cap, t->sums.n, (size_t)256))
		return -ENOMEM;
	uint64_t *longest = &t->longest[ty_sums_find(&t->sums, &k) - t->sums.v];
	*longest = e->end - e->begin > *longest ? e->end - e->begin : *longest;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct ty_top_site *x = a, *y = b;
	int k = strcmp(x->function, y->function);
	return k ? k : strcmp(x->operation, y->operation);
}

static int by_time(const void *a, const void *b)
{
	const struct ty_top_site *x = a, *y = b;
	return x->ns > y->ns ? -1 : x->ns < y->ns ? 1 : by_name(a, b);
}

static int sum_sites(struct ty_top *t)
{
	size_t n = 0;
	if (TY_RESERVE(t->site, t->sites_cap, t->sums.n, (size_t)256))
		return -ENOMEM;
	for (size_t i = 0; i < t->sums.n; i++) {
		const struct ty_sum *s = &t->sums.v[i];
		t->site[i] = (struct ty_top_site){
			.function = s->key.path == TY_NONE ? "[path not taken]" :
							     ty_top_path_name(t, s->key.path),
			.operation = t->run.t.ops[s->key.op].name,
			.waits = s->waits,
			.ns = s->ns,
			.max = t->longest[i],
		};
	}
	if (t->sums.n)
		qsort(t->site, t->sums.n, sizeof *t->site, by_name);
	for (size_t i = 0; i < t->sums.n; i++) {
		struct ty_top_site *s = &t->site[i], *prev = n ? &t->site[n - 1] : NULL;
		if (prev && !by_name(prev, s)) {
			prev->waits += s->waits;
			prev->ns += s->ns;
			prev->max = s->max > prev->max ? s->max : prev->max;
		} else {
			t->site[n++] = *s;
		}
	}
	t->sites = n;
	if (n)
		qsort(t->site, n, sizeof *t->site, by_time);
	return 0;
}

/* ---- both ---- */

static int take(struct ty_top *t, const struct ty_ev *ev, size_t n, uint64_t from, uint64_t to)
{
	size_t first = 0, end;
	while (first < n && ev[first].end <= t->fed)
		first++;
	for (end = first; end < n && ev[end].end <= to; end++)
		;
	int e = ty_cut_events(&t->cut, ev + first, end - first);
	ty_ledger_free(&t->run.rows);
	for (size_t i = 0; i < n && !e; i++) {
		const struct ty_thread_info *th = &t->run.t.threads[ev[i].thread];
		if (ev[i].end < from || ev[i].end > to || ev[i].kind == TY_EV_MARK)
			continue;
		if (t->run.opt.process && (th->process >= t->run.t.nprocesses ||
					   t->run.t.processes[th->process].pid != t->run.opt.process))
			continue;
		t->fig.events++;
		if (ev[i].kind == TY_EV_WAIT)
			e = add_wait(t, &ev[i], from);
	}
	return e;
}

static int read_events(struct ty_top *t, uint64_t from, uint64_t to, char *err)
{
	struct ty_scan *scan;
	const struct ty_ev *ev;
	size_t n;
	uint64_t first = t->fed < from ? t->fed + 1 : from;
	int e = ty_scan_open(&scan, t->run.store, first, to, err);
	if (e)
		return e;
	while ((e = ty_scan_next(scan, &ev, &n, err)) == 1) {
		e = take(t, ev, n, from, to);
		if (e) {
			ty_err(err, e, "%s", strerror(-e));
			break;
		}
	}
	ty_scan_close(scan);
	return e;
}

static void forget(struct ty_top *t)
{
	t->sums.n = 0;
	if (t->sums.slot)
		memset(t->sums.slot, 0, t->sums.slots * sizeof *t->sums.slot);
	if (t->longest)
		memset(t->longest, 0, t->longest_cap * sizeof *t->longest);
	for (size_t i = 0; i < t->last_cap; i++)
		t->last[i].path = TY_NONE;
	t->fig.events = 0;
}

int ty_top_recent(struct ty_top *t, char *err)
{
	struct run *r = &t->run;
	struct ty_extent x;
	uint64_t now = ty_now(), to = now > LAG ? now - LAG : 0, from = to > t->window ? to - t->window : 0;
	int e = 0;
	if (from < r->start)
		from = r->start;
	if (!t->cutting && !(e = ty_store_extent(r->store, &x, err))) {
		t->fed = x.events <= BACK || !from ? 0 : from - 1;
		e = begin_cut(t);
	}
	size_t cap = t->last_cap;
	if (!e && !(e = TY_RESERVE(t->last, t->last_cap, r->t.nthreads + 1, (size_t)64)))
		for (; cap < t->last_cap; cap++)
			t->last[cap].path = TY_NONE;
	if (e)
		return ty_err(err, e, "out of memory");
	forget(t);
	e = read_events(t, from, to, err);
	if (!e && t->cut.saw_mark &&
	    r->rule == TY_RULE_AUTO) { /* the application says what its requests are */
		end_cut(t);
		r->rule = TY_RULE_MARKER;
		t->fed = from ? from - 1 : 0;
		e = begin_cut(t);
		forget(t);
		e = e ? ty_err(err, e, "out of memory") : read_events(t, from, to, err);
	}
	t->fed = to > t->fed ? to : t->fed;
	t->fig.window = to > from ? to - from : 0;
	sum_requests(t, from);
	return e ? e : sum_sites(t) ? ty_err(err, -ENOMEM, "out of memory") : 0;
}

void ty_top_recent_free(struct ty_top *t)
{
	end_cut(t);
	free_modules(t);
	for (size_t i = 0; i < t->names_cap; i++)
		free(t->name[i]);
	free(t->name);
	free(t->by_id);
	free(t->by_id_thread);
	free(t->site);
	ty_sums_free(&t->sums);
	free(t->longest);
	free(t->last);
	free(t->req);
	free(t->pc);
	free(t->var);
	free(t->thread);
}
