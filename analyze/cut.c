/* SPDX-License-Identifier: MIT
 *
 * The pass over all events: books each wait under its site, and feeds the rule
 * that cuts requests.  Runs in readers.  Must stay true: one look at every
 * event, no allocation for it, and the same result for any batch size. */
#include "analyze/cut.h"
#include "tarry/event.h"

#define AHEAD 6 /* events */

static void take_threads(struct ty_cut *c, size_t first)
{
	struct run *r = c->r;
	for (size_t i = first; i < r->t.nthreads; i++) {
		const struct ty_thread_info *t = &r->t.threads[i];
		c->th[i].process = t->process;
		c->th[i].counted = t->process < r->t.nprocesses &&
			(!r->opt.process || r->t.processes[t->process].pid == r->opt.process) &&
			(!r->opt.thread || t->tid == r->opt.thread);
	}
}

int ty_cut_init(struct ty_cut *c, struct run *r)
{
	memset(c, 0, sizeof *c);
	c->r = r;
	memset(&r->counts, 0, sizeof r->counts);
	c->th = calloc(r->t.nthreads + 1, sizeof *c->th);
	r->ops = r->ops ? r->ops : calloc(r->t.nops + 1, sizeof *r->ops);
	if (!c->th || !r->ops)
		return -ENOMEM;
	memset(r->cover, 0, sizeof r->cover);
	memset(r->ops, 0, (r->t.nops + 1) * sizeof *r->ops);
	take_threads(c, 0);
	if (ty_rule_connections(r->rule))
		return ty_socket_init(c);
	return r->rule == TY_RULE_MARKER ? ty_marks_init(c) : 0;
}

int ty_cut_grow(struct ty_cut *c, size_t threads_before, size_t processes_before)
{
	size_t n = c->r->t.nthreads;
	struct ty_carrier *th = reallocarray(c->th, n + 1, sizeof *th);
	if (!th)
		return -ENOMEM;
	memset(th + threads_before, 0, (n + 1 - threads_before) * sizeof *th);
	c->th = th;
	for (size_t i = 0; i < threads_before; i++)
		if (th[i].own)
			th[i].own->owner = &th[i].own; /* it has moved */
	take_threads(c, threads_before);
	return c->socket ? ty_socket_grow(c, processes_before) : 0;
}

/* A wait that ended in the window. */
static void book(struct ty_cut *c, const struct ty_ev *ev, struct ty_site *s)
{
	struct run *r = c->r;
	uint64_t b = ev->begin > r->from ? ev->begin : r->from, ns = ev->end > b ? ev->end - b : 0;
	struct ty_op_total *o = &r->ops[ev->op < r->t.nops ? ev->op : r->t.nops];
	ty_site_vote(s, ev);
	s->waits_all++;
	s->total_all += ns;
	o->waits++;
	o->total += ns;
	r->cover[ev->path < r->t.npaths ? r->names.kind[ev->path] : TY_PATH_NOT_TAKEN]++;
	if (r->rule == TY_RULE_NONE)
		ty_cut_fail(c, ty_site_stat(s, ns));
}

static void book_open(struct run *r, const struct ty_ev *ev)
{
	uint64_t b = ev->begin > r->from ? ev->begin : r->from, e = ev->end < r->to ? ev->end : r->to;
	struct ty_op_total *o = &r->ops[ev->op < r->t.nops ? ev->op : r->t.nops];
	if (e < b)
		return;
	r->counts.open_waits++;
	r->counts.open_ns += e - b;
	o->open++;
	o->open_ns += e - b;
}

/* By object a descriptor is told apart by what it meant at that time. */
static int64_t object_key(struct ty_cut *c, const struct ty_ev *ev)
{
	struct run *r = c->r;
	uint32_t process = c->th[ev->thread].process;
	if (ty_class_has_fd(ev->cls)) {
		const struct ty_descriptor *d = ty_descriptor_at(&r->t, process, ev->object, ev->end);
		if (d)
			return ty_sites_object(&r->sites, ev, r->names.fd[d - r->t.fds], TY_NONE);
	}
	return ty_sites_object(&r->sites, ev, ev->object, ev->flags & TY_F_SHARED ? TY_NONE - 1 : process);
}

static void wait_event(struct ty_cut *c, const struct ty_ev *ev)
{
	struct run *r = c->r;
	int64_t k = r->sites.by == TY_BY_OBJECT ? object_key(c, ev) : ty_sites_key(&r->sites, ev);
	if (k < 0) {
		ty_cut_fail(c, k);
		return;
	}
	if (c->th[ev->thread].counted) {
		if (ev->kind == TY_EV_OPEN)
			book_open(r, ev);
		else if (ev->end >= r->from && ev->end <= r->to)
			book(c, ev, &r->sites.v[k]);
	}
	if (c->socket && ty_class_socket(ev->cls) && ev->kind == TY_EV_WAIT)
		ty_socket_event(c, ev, (uint32_t)k);
	else
		ty_cut_wait(c, ev, (uint32_t)k);
	if (r->rule == TY_RULE_SITE && ev->kind == TY_EV_WAIT &&
	    ((ev->path < r->t.npaths && r->names.match[ev->path]) ||
	     (ev->op < r->t.nops && r->names.match_op[ev->op])))
		ty_site_event(c, ev);
}

int ty_cut_events(struct ty_cut *c, const struct ty_ev *ev, size_t n)
{
	struct run *r = c->r;
	if (n && !r->counts.first)
		r->counts.first = ev->end;
	uint64_t next = c->socket ? ty_socket_next(c) : UINT64_MAX;
	for (const struct ty_ev *end = ev + n; ev < end && !c->error; ev++) {
		if (end - ev > AHEAD)
			ty_sites_prefetch(&r->sites, ev + AHEAD);
		if (ev->thread >= r->t.nthreads || c->th[ev->thread].process >= r->t.nprocesses) {
			r->counts.unknown_thread++;
			continue;
		}
		c->now = ev->end;
		if (ev->end >= next) {
			ty_socket_until(c, ev->end);
			next = ty_socket_next(c);
		}
		if (ev->kind == TY_EV_WAIT || ev->kind == TY_EV_OPEN) {
			wait_event(c, ev);
		} else if (ev->kind == TY_EV_MARK && ev->op > TY_MARK_RESUME) {
			if (c->socket)
				ty_socket_mark(c, ev);
		} else if (ev->kind == TY_EV_MARK) {
			if (r->rule == TY_RULE_AUTO) {
				c->saw_mark = true;
				return 0;
			}
			if (c->marks)
				ty_mark_event(c, ev);
		}
	}
	r->counts.events += n;
	r->counts.last = c->now;
	return c->error;
}

int ty_cut_end(struct ty_cut *c)
{
	struct run *r = c->r;
	if (c->socket)
		ty_socket_end(c);
	ty_req_close_all(c);
	for (size_t i = 0; i < r->sites.n; i++)
		ty_cut_fail(c, ty_site_settle(&r->sites.v[i]));
	if (r->rule == TY_RULE_AUTO) {
		r->rule = c->saw_mark ? TY_RULE_MARKER
			: r->counts.accepted + r->counts.inherited ? TY_RULE_SOCKET : TY_RULE_NONE;
		r->found_none = r->rule == TY_RULE_NONE;
	}
	return c->error;
}

void ty_cut_free(struct ty_cut *c)
{
	for (struct ty_req *q = c->free, *next; q; q = next) {
		next = q->next;
		free(q->part);
		free(q->fold);
		free(q->behind);
		free(q);
	}
	for (size_t i = 0; c->th && i < c->r->t.nthreads; i++)
		free(c->th[i].pend);
	ty_behind_free(c);
	ty_socket_free(c);
	ty_marks_free(c);
	free(c->th);
	free(c->x);
	free(c->touched);
	free(c->xs);
	memset(c, 0, sizeof *c);
}

/* One cut with the rule in force; *again: another rule is to be used instead. */
static int cut_once(struct run *r, bool *again, char *err)
{
	struct ty_cut c;
	struct ty_scan *scan = NULL;
	const struct ty_ev *ev;
	enum ty_rule before = r->rule;
	size_t n;
	/* descriptors are followed from the start, whatever the window */
	bool all = ty_rule_connections(before);
	int e = ty_cut_init(&c, r);
	if (e)
		ty_err(err, e, "out of memory");
	if (!e && r->also.begin)
		e = r->also.begin(r->also.arg, all || !r->from, err);
	if (!e)
		e = ty_scan_open(&scan, r->store, all ? 0 : r->from, r->to, err);
	while (!e && (e = ty_scan_next(scan, &ev, &n, err)) == 1) {
		e = ty_cut_events(&c, ev, n);
		if (e)
			ty_err(err, e, "cutting requests: %s", strerror(-e));
		if (c.saw_mark)
			break;
		if (!e && r->also.events)
			e = r->also.events(r->also.arg, ev, n, err);
		if (r->progress)
			r->progress(r->progress_arg, ty_scan_done(scan));
	}
	if (!e && (e = ty_cut_end(&c)))
		ty_err(err, e, "cutting requests: %s", strerror(-e));
	r->stragglers = scan ? ty_scan_stragglers(scan) : 0;
	/* per-wait statistics and a marker's requests are gathered from the start */
	*again = !e && before == TY_RULE_AUTO && r->rule != TY_RULE_SOCKET;
	ty_scan_close(scan);
	ty_cut_free(&c);
	return e;
}

static int sites_init(struct run *r)
{
	return ty_sites_init(&r->sites, r->opt.by, r->names.group, r->t.npaths, r->names.ngroups, r->t.nops);
}

int ty_pass_cut(struct run *r, char *err)
{
	bool again = false;
	int e = sites_init(r);
	if (e)
		return ty_err(err, e, "out of memory");
	e = cut_once(r, &again, err);
	if (e || !again)
		return e;
	ty_sites_free(&r->sites);
	ty_ledger_free(&r->rows);
	ty_ledger_free(&r->behind_rows);
	e = sites_init(r);
	return e ? ty_err(err, e, "out of memory") : cut_once(r, &again, err);
}
