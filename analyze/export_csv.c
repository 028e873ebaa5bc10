/* SPDX-License-Identifier: MIT
 *
 * Comma-separated values (RFC 4180): one row per event, per site of the report,
 * or per request, after a row of names.  Runs in readers.  Must stay true: each
 * row has as many fields as the first, whatever a recording's names contain;
 * times are CLOCK_MONOTONIC ns; a share that does not exist is an empty field. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

#include "analyze/export.h"
#include "analyze/fmt.h"
#include "analyze/put.h"
#include "tarry/event.h"

struct csv {
	struct export *x;
	FILE *out;
	bool first;  /* field of its row */
	char **path, **function; /* [npaths] as fields, NULL: not used yet */
};

static void comma(struct csv *c)
{
	if (!c->first)
		fputc(',', c->out);
	c->first = false;
}

static void put_text(FILE *out, const char *s)
{
	bool shown;
	if (ty_fmt_plain(s, ",\"")) {
		fputs(s, out);
		return;
	}
	fputc('"', out);
	for (size_t n; *s; s += n) {
		n = ty_fmt_character(s, &shown);
		if (*s == '"')
			fputs("\"\"", out);
		else if (shown || *s == '\r' || *s == '\n')
			fwrite(s, 1, n, out);
		else
			fputc('?', out);
	}
	fputc('"', out);
}

static void text(struct csv *c, const char *s)
{
	comma(c);
	put_text(c->out, s);
}

/* Text as a field, for what comes again and again; the caller's, NULL: no memory. */
static char *as_field(const char *s)
{
	char *to = NULL;
	size_t n;
	FILE *out = open_memstream(&to, &n);
	if (!out)
		return NULL;
	put_text(out, s);
	if (!fclose(out))
		return to;
	free(to);
	return NULL;
}

static void ready(struct csv *c, const char *field)
{
	comma(c);
	fputs(field, c->out);
}

__attribute__((format(printf, 2, 3))) static void field(struct csv *c, const char *fmt, ...)
{
	va_list ap;
	comma(c);
	va_start(ap, fmt);
	vfprintf(c->out, fmt, ap);
	va_end(ap);
}

static void integer(struct csv *c, uint64_t x)
{
	comma(c);
	ty_put_uint(c->out, x);
}

static void address(struct csv *c, uint64_t x)
{
	comma(c);
	ty_put_hex(c->out, x);
}

static void real(struct csv *c, bool known, double x)
{
	if (known && isfinite(x))
		field(c, "%.9g", x);
	else
		ready(c, "");
}

static void end_row(struct csv *c)
{
	fputs("\r\n", c->out);
	c->first = true;
}

static const char *path_text(struct csv *c, uint32_t path)
{
	if (path >= c->x->run.t.npaths)
		return "";
	if (!c->path[path]) {
		char *stack = ty_export_stack(&c->x->run, path, NULL);
		c->path[path] = stack ? as_field(stack) : NULL;
		free(stack);
	}
	return c->path[path] ? c->path[path] : "";
}

/* Looking for it takes longer than all else of a row. */
static const char *path_function(struct csv *c, uint32_t path)
{
	char buf[TY_NAME_MAX];
	if (path >= c->x->run.t.npaths)
		return "";
	if (!c->function[path])
		c->function[path] = as_field(ty_path_function(&c->x->run, path, buf));
	return c->function[path] ? c->function[path] : "";
}

static const char *path_kind(const struct run *r, uint32_t path)
{
	static const char *const names[TY_PATH_KINDS] = { "complete", "cut", "leaf", "miss", "not_taken" };
	return path < r->t.npaths ? names[r->names.kind[path]] : "not_taken";
}

/* ---- events ---- */

static void thread_fields(struct csv *c, uint32_t thread)
{
	const struct ty_tables *t = &c->x->run.t;
	const struct ty_thread_info *i = &t->threads[thread];
	integer(c, t->processes[i->process].pid);
	integer(c, i->tid);
	text(c, i->name);
}

static void object_fields(struct csv *c, const struct ty_ev *e)
{
	const struct ty_tables *t = &c->x->run.t;
	bool fd = e->cls < TY_CLASS_COUNT && ty_class_has_fd(e->cls) && e->object <= INT32_MAX;
	const struct ty_descriptor *d =
		fd ? ty_descriptor_at(t, t->threads[e->thread].process, e->object, e->end) : NULL;
	if (fd || !e->object || e->object == TY_FD_NONE)
		ready(c, "");
	else
		address(c, e->object);
	if (fd)
		integer(c, e->object);
	else
		ready(c, "");
	const char *variable = fd ? NULL : ty_variable_name(&c->x->run, e->thread, e->object);
	text(c, d ? d->name : variable ? variable : "");
}

static int add_event(void *arg, const struct ty_ev *e)
{
	static const char *const kinds[] = { "wait", "open", "wake", "mark" }, *const marks[] = { "", "begin", "end",
		"pause", "resume", "class", "state" };
	struct csv *c = arg;
	const struct run *r = &c->x->run;
	bool mark = e->kind == TY_EV_MARK;
	integer(c, e->begin);
	integer(c, e->end);
	integer(c, e->end - e->begin);
	thread_fields(c, e->thread);
	text(c, e->kind < 4 ? kinds[e->kind] : "unknown");
	text(c, mark ? e->op < sizeof marks / sizeof *marks ? marks[e->op] : "unknown" : r->t.ops[e->op].name);
	text(c, mark ? "" : r->t.ops[e->op].class_name);
	if (mark) { /* its request's number and class, or its descriptor and that */
		bool found = e->op > TY_MARK_RESUME;
		found ? ready(c, "") : integer(c, e->object);
		found ? integer(c, e->object) : ready(c, "");
		text(c, e->op == TY_MARK_STATE ? "" : ty_store_label(r->store, (uint32_t)e->aux));
	} else {
		object_fields(c, e);
	}
	text(c, e->err && strerrorname_np(e->err) ? strerrorname_np(e->err) : "");
	integer(c, mark && e->op != TY_MARK_STATE ? 0 : e->aux);
	integer(c, !!(e->flags & TY_F_CONTENDED));
	text(c, mark ? "" : path_kind(r, e->path));
	ready(c, mark ? "" : path_function(c, e->path));
	ready(c, mark ? "" : path_text(c, e->path));
	end_row(c);
	return 0;
}

/* ---- requests ---- */

static void add_request(void *arg, const struct ty_req *q)
{
	struct csv *c = arg;
	uint64_t waits = 0, waiting = 0, held = 0;
	for (size_t i = 0; i < q->firm; i++) {
		uint64_t ns = q->part[i].end - q->part[i].begin;
		*(q->part[i].site == TY_SITE_HELD ? &held : &waiting) += ns;
		waits += q->part[i].site != TY_SITE_HELD;
	}
	for (size_t i = 0; i < q->nfold; i++) {
		*(q->fold[i].site == TY_SITE_HELD ? &held : &waiting) += q->fold[i].ns;
		waits += q->fold[i].site != TY_SITE_HELD ? q->fold[i].waits : 0;
	}
	integer(c, q->begin);
	integer(c, q->last);
	integer(c, ty_req_latency(q));
	text(c, q->cls == TY_NONE ? "" : ty_store_label(c->x->run.store, q->cls));
	thread_fields(c, q->thread);
	integer(c, waits);
	integer(c, waiting);
	integer(c, held);
	integer(c, ty_req_latency(q) - waiting - held);
	end_row(c);
}

/* ---- sites ---- */

static void shares(struct csv *c, const struct ty_share *h)
{
	const struct run *r = &c->x->run;
	bool requests = r->rule != TY_RULE_NONE && r->res.valid;
	real(c, requests, h->share);
	real(c, requests && r->res.blocks, h->se);
	real(c, requests, h->tail);
	real(c, requests, h->mean);
}

static void site_row(struct csv *c, size_t rank, uint32_t i)
{
	const struct run *r = &c->x->run;
	const struct ty_site *s = &r->sites.v[i];
	char buf[TY_NAME_MAX], id[17];
	const char *object;
	integer(c, rank);
	text(c, ty_site_id(r, i, id));
	text(c, ty_site_operation(r, i));
	text(c, s->op < r->t.nops ? r->t.ops[s->op].class_name : "");
	text(c, ty_site_function(r, i, buf));
	object = ty_site_object_name(r, i, buf);
	text(c, object ? object : "");
	shares(c, &r->res.site[i]);
	integer(c, s->waits);
	integer(c, s->total);
	real(c, true, ty_site_mean(s));
	real(c, true, ty_site_sd(s));
	integer(c, ty_site_p99(s));
	integer(c, s->max);
	integer(c, s->waits_all);
	integer(c, s->total_all);
	text(c, ty_site_has_path(r, i) ? path_kind(r, s->path) : "not_taken");
	ready(c, ty_site_has_path(r, i) ? path_text(c, s->path) : "");
	end_row(c);
}

/* Not a site, but the shares add up to 1 only with it. */
static void rest_row(struct csv *c, const char *name, const struct ty_share *h)
{
	ready(c, "");
	ready(c, "");
	text(c, name);
	for (int i = 0; i < 3; i++)
		ready(c, "");
	shares(c, h);
	for (int i = 0; i < 10; i++)
		ready(c, "");
	end_row(c);
}

static int sites(struct csv *c, char *err)
{
	static int (*const passes[])(struct run *r, char *err) = { ty_pass_cut, ty_pass_variance,
								    ty_pass_rank };
	struct run *r = &c->x->run;
	int e = 0;
	for (size_t i = 0; !e && i < sizeof passes / sizeof *passes; i++)
		e = passes[i](r, err);
	for (size_t i = 0; !e && i < r->nrank && !ferror(c->out); i++)
		site_row(c, i + 1, r->rank[i]);
	if (!e && r->rule != TY_RULE_NONE) {
		rest_row(c, "held up", &r->res.site[TY_SITE_HELD]);
		rest_row(c, "running", &r->res.running);
	}
	return e;
}

int ty_export_csv(struct export *x, char *err)
{
	static const char *const heads[] = {
		[TY_WHAT_EVENTS] = "begin_ns,end_ns,duration_ns,pid,tid,thread,kind,operation,class,object,"
				   "fd,name,error,"
				   "result,contended,path_kind,function,path\r\n",
		[TY_WHAT_SITES] =
			"rank,id,operation,class,function,object,share,share_se,tail_share,per_request_ns,"
			"waits,"
			"total_ns,mean_ns,sd_ns,p99_ns,max_ns,waits_all,total_all_ns,path_kind,path\r\n",
		[TY_WHAT_REQUESTS] =
			("begin_ns,end_ns,latency_ns,class,pid,tid,thread,waits,waiting_ns,held_up_ns,"
			 "running_ns\r\n"),
	};
	struct csv c = { .x = x, .out = x->out, .first = true };
	struct run *r = &x->run;
	struct ty_walk w = { .event = add_event, .arg = &c };
	int e = ty_pass_names(r, err);
	c.path = e ? NULL : calloc(r->t.npaths + 1, sizeof *c.path);
	c.function = e ? NULL : calloc(r->t.npaths + 1, sizeof *c.function);
	if (!e && (!c.path || !c.function))
		e = ty_err(err, -ENOMEM, "out of memory");
	if (x->what == TY_WHAT_REQUESTS)
		w = (struct ty_walk){ .request = add_request, .arg = &c };
	if (!e) {
		fputs(heads[x->what], c.out);
		e = x->what == TY_WHAT_SITES ? sites(&c, err) : ty_export_walk(x, &w, err);
	}
	if (!e && x->what == TY_WHAT_REQUESTS && r->rule == TY_RULE_NONE)
		e = ty_err(err, -ENODATA,
			   "--what requests: there are none in this recording; name a rule with --requests");
	for (size_t i = 0; c.path && c.function && i < r->t.npaths; i++) {
		free(c.path[i]);
		free(c.function[i]);
	}
	free(c.path);
	free(c.function);
	return e;
}
