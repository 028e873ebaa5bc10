/* SPDX-License-Identifier: MIT
 *
 * The way of an export through a store: every event once, in order of end, and
 * beside it the cut into requests when the format wants them.  Also text that
 * the formats share.  Runs in readers.  Must stay true: nothing is kept of an
 * event, and requests are those of the report. */
#include "analyze/export.h"

#include "analyze/fmt.h"
#include "tarry/event.h"

bool ty_export_counted(const struct export *x, uint32_t thread)
{
	const struct run *r = &x->run;
	const struct ty_thread_info *t = thread < r->t.nthreads ? &r->t.threads[thread] : NULL;
	return t && t->process < r->t.nprocesses &&
	       (!r->opt.process || r->t.processes[t->process].pid == r->opt.process) &&
	       (!r->opt.thread || t->tid == r->opt.thread);
}

uint64_t ty_export_ns(const struct export *x, const struct ty_ev *e)
{
	uint64_t b = e->begin > x->run.from ? e->begin : x->run.from,
		 end = e->end < x->run.to ? e->end : x->run.to;
	return end > b ? end - b : 0;
}

static int sites_again(struct run *r)
{
	ty_sites_free(&r->sites);
	ty_ledger_free(&r->rows);
	return ty_sites_init(&r->sites, r->opt.by, r->names.group, r->t.npaths, r->names.ngroups, r->t.nops);
}

/* The rule `auto` is decided by what all events say, so they are read once more. */
static int decide_rule(struct run *r, char *err)
{
	if (r->rule == TY_RULE_AUTO) {
		int e = ty_pass_cut(r, err);
		if (e)
			return e;
	}
	int e = sites_again(r);
	return e ? ty_err(err, e, "out of memory") : 0;
}

static int give(struct export *x, const struct ty_walk *w, const struct ty_ev *ev, size_t n)
{
	const struct run *r = &x->run;
	int e = 0;
	for (size_t i = 0; i < n && !e && !ferror(x->out); i++)
		if (ev[i].end >= r->from && ev[i].begin <= r->to && ty_export_counted(x, ev[i].thread))
			e = w->event(w->arg, &ev[i]);
	return e;
}

static int scan_all(struct export *x, const struct ty_walk *w, struct ty_cut *cut, char *err)
{
	struct run *r = &x->run;
	struct ty_scan *scan;
	const struct ty_ev *ev;
	size_t n;
	/* descriptors are followed from the start, whatever the window */
	bool all = cut && ty_rule_connections(r->rule);
	int e = ty_scan_open(&scan, r->store, all ? 0 : r->from, r->to, err);
	if (e)
		return e;
	while (!ferror(x->out) && (e = ty_scan_next(scan, &ev, &n, err)) == 1) {
		e = cut ? ty_cut_events(cut, ev, n) : 0;
		if (!e && w->event)
			e = give(x, w, ev, n);
		if (e) {
			ty_err(err, e, "%s", strerror(-e));
			break;
		}
		ty_ledger_free(&r->rows); /* the rows have been told, only their count grows */
		if (r->progress)
			r->progress(r->progress_arg, ty_scan_done(scan));
	}
	ty_scan_close(scan);
	return e > 0 ? 0 : e;
}

int ty_export_walk(struct export *x, const struct ty_walk *w, char *err)
{
	struct run *r = &x->run;
	struct ty_cut cut;
	int e = w->request ? decide_rule(r, err) : 0;
	if (e)
		return e;
	if (!w->request || r->rule == TY_RULE_NONE)
		return scan_all(x, w, NULL, err);
	e = ty_cut_init(&cut, r);
	if (e) {
		ty_err(err, e, "out of memory");
	} else {
		r->request = w->request;
		r->request_arg = w->arg;
		e = scan_all(x, w, &cut, err);
		if (!e && (e = ty_cut_end(&cut)))
			ty_err(err, e, "cutting requests: %s", strerror(-e));
		r->request = NULL;
	}
	ty_cut_free(&cut);
	return e;
}

/* ---- text ---- */

const char *ty_export_doubt(const struct run *r, uint32_t path)
{
	uint16_t f = path < r->t.npaths ? r->t.paths[path].flags : TY_F_NO_PATH;
	return f & TY_F_NO_PATH ? "[path not taken]" : f & TY_F_PARTIAL ? "[path not complete]" : NULL;
}

const char *ty_export_op(const struct run *r, uint32_t op)
{
	return op < r->t.nops ? r->t.ops[op].name : "[held up]";
}

struct lines {
	const struct run *r;
	char **v;
	size_t n, cap, bytes;
	int e;
};

/* One frame without what separates frames, and as it is shown. */
static char *frame_text(const char *name)
{
	char *s = malloc(strlen(name) + 2), *to = s;
	bool shown;
	for (size_t n; s && *name; name += n) {
		n = ty_fmt_character(name, &shown);
		if (shown && *name != ';')
			to = mempcpy(to, name, n);
		else
			*to++ = shown ? ',' : '?';
	}
	if (to == s && s)
		*to++ = '?';
	if (s)
		*to = 0;
	return s;
}

static int add_line(void *arg, const struct ty_line *l)
{
	struct lines *c = arg;
	char buf[TY_NAME_MAX];
	if (TY_RESERVE(c->v, c->cap, c->n + 1, (size_t)32))
		return c->e = -ENOMEM;
	char *s = frame_text(ty_line_name(c->r, l, buf));
	if (!s)
		return c->e = -ENOMEM;
	c->v[c->n++] = s;
	c->bytes += strlen(s) + 1;
	return 0;
}

char *ty_export_stack(const struct run *r, uint32_t path, const char *op)
{
	struct lines c = { .r = r };
	const char *doubt = op && strcmp(op, "[held up]") == 0 ? NULL : ty_export_doubt(r, path);
	ty_path_each(r, path, add_line, &c);
	char *text = c.e ? NULL :
			   malloc(c.bytes + (doubt ? strlen(doubt) + 1 : 0) + (op ? strlen(op) : 0) + 2),
	     *to = text;
	if (to && doubt)
		to = stpcpy(to, doubt);
	for (size_t i = c.n; to && i-- > 0;)
		to = stpcpy(stpcpy(to, to > text ? ";" : ""), c.v[i]);
	if (to && op)
		to = stpcpy(stpcpy(to, to > text ? ";" : ""), op);
	if (to)
		*to = 0;
	for (size_t i = 0; i < c.n; i++)
		free(c.v[i]);
	free(c.v);
	return text;
}
