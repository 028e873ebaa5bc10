/* SPDX-License-Identifier: MIT
 *
 * pprof's profile.proto, compressed by gzip: per call path, thread and class of
 * request the number of waits and their time.  Runs in readers.  Must stay
 * true: times add up to all waits of the window, and what requests were held up.
 * A wait inside a request is split from its rest: what lies inside has the
 * labels in_request and, if there is one, request_class.
 *
 * The messages are few and flat, so they are written field by field here; each
 * goes out when it is complete, and only the strings wait for the end. */
#include <inttypes.h>
#include <jansson.h>

#include "analyze/export.h"
#include "analyze/pprof.h"

struct pprof {
	struct export *x;
	struct ty_pb_out out;
	struct ty_sums all, inside;
	uint32_t *canonical;
	struct ty_intern strings, functions, locations;
	uint64_t *limit; /* [nmodules] end of the addresses used */
	struct ty_pb sample, ids, values, part;
	int e;
};

static void fail(struct pprof *p, int e)
{
	p->e = p->e ? p->e : e;
}

static uint64_t string(struct pprof *p, const char *text)
{
	bool fresh;
	int64_t n = ty_intern(&p->strings, text, strlen(text), &fresh);
	fail(p, n < 0 ? (int)n : 0);
	return n < 0 ? 0 : (uint64_t)n;
}

/* ---- functions and locations ---- */

static uint64_t function(struct pprof *p, const char *name, const char *file)
{
	uint64_t key[2] = { string(p, name), string(p, file) };
	bool fresh;
	int64_t n = ty_intern(&p->functions, key, sizeof key, &fresh);
	if (n < 0) {
		fail(p, (int)n);
		return 1;
	}
	if (fresh) {
		struct ty_pb m = { 0 };
		ty_pb_int(&m, 1, (uint64_t)n + 1);
		ty_pb_int(&m, 2, key[0]);
		ty_pb_int(&m, 3, key[0]);
		ty_pb_int(&m, 4, key[1]);
		ty_pb_message(&p->out, 5, &m);
		ty_pb_free(&m);
	}
	return (uint64_t)n + 1;
}

static void add_line(struct pprof *p, struct ty_pb *location, const char *name, const char *file,
		     uint32_t line)
{
	struct ty_pb m = { 0 };
	ty_pb_int(&m, 1, function(p, name, file));
	ty_pb_int(&m, 2, line);
	ty_pb_bytes(location, 4, m.v, m.n);
	ty_pb_free(&m);
}

/* A frame that is no code: an operation, or why a path is not whole. */
static uint64_t word_location(struct pprof *p, const char *word)
{
	bool fresh;
	int64_t n = ty_intern(&p->locations, word, strlen(word), &fresh);
	fail(p, n < 0 ? (int)n : 0);
	if (n >= 0 && fresh) {
		struct ty_pb m = { 0 };
		ty_pb_int(&m, 1, (uint64_t)n + 1);
		add_line(p, &m, word, "", 0);
		ty_pb_message(&p->out, 4, &m);
		ty_pb_free(&m);
	}
	return n < 0 ? 1 : (uint64_t)n + 1;
}

struct frames {
	struct pprof *p;
	const struct ty_frame *frame; /* whose location is being written */
	struct ty_pb location;
	bool fresh;
};

/* Addresses of one module stay apart from all others': no two recorded
 * processes need have it at the same place. */
static uint64_t address(const struct ty_frame *f)
{
	uint64_t call = f->exact || !f->offset ? f->offset : f->offset - 1;
	return f->module < 0 ? call : ((uint64_t)f->module + 1) << 40 | (call & ((1ull << 40) - 1));
}

static void end_location(struct frames *c)
{
	if (c->frame && c->fresh)
		ty_pb_message(&c->p->out, 4, &c->location);
	c->frame = NULL;
	c->location.n = 0;
}

static int begin_location(struct frames *c, const struct ty_frame *f)
{
	struct pprof *p = c->p;
	struct {
		uint64_t offset, module;
	} key = { f->offset, (uint64_t)(uint32_t)f->module << 1 | f->exact };
	int64_t n = ty_intern(&p->locations, &key, sizeof key, &c->fresh);
	if (n < 0) {
		fail(p, (int)n);
		return (int)n;
	}
	ty_pb_varint(&p->ids, (uint64_t)n + 1);
	c->frame = f;
	if (!c->fresh)
		return 0;
	ty_pb_int(&c->location, 1, (uint64_t)n + 1);
	if (f->module >= 0 && (size_t)f->module < p->x->run.t.nmodules) {
		ty_pb_int(&c->location, 2, (uint64_t)f->module + 1);
		if (address(f) >= p->limit[f->module])
			p->limit[f->module] = address(f) + 1;
	}
	ty_pb_int(&c->location, 3, address(f));
	return 0;
}

static int add_frame(void *arg, const struct ty_line *l)
{
	struct frames *c = arg;
	char buf[TY_NAME_MAX];
	if (c->frame != l->frame) {
		end_location(c);
		int e = begin_location(c, l->frame);
		if (e)
			return e;
	}
	if (c->fresh)
		add_line(c->p, &c->location, ty_line_name(&c->p->x->run, l, buf),
			 l->symbol && l->symbol->file ? l->symbol->file : "",
			 l->symbol ? l->symbol->line : 0);
	return 0;
}

/* ---- samples ---- */

static void label(struct pprof *p, const char *key, const char *text)
{
	p->part.n = 0;
	ty_pb_int(&p->part, 1, string(p, key));
	ty_pb_int(&p->part, 2, string(p, text));
	ty_pb_bytes(&p->sample, 3, p->part.v, p->part.n);
}

static void labels(struct pprof *p, const struct ty_sum_key *k)
{
	const struct run *r = &p->x->run;
	char text[TY_NAME_MAX];
	label(p, "operation", ty_export_op(r, k->op));
	if (k->thread < r->t.nthreads) {
		const struct ty_thread_info *t = &r->t.threads[k->thread];
		const struct ty_process *o = &r->t.processes[t->process];
		const char *slash = strrchr(o->exe, '/');
		snprintf(text, sizeof text, "%.400s %u", t->name, t->tid);
		label(p, "thread", text);
		snprintf(text, sizeof text, "%.400s %u", slash ? slash + 1 : o->exe, o->pid);
		label(p, "process", text);
	}
	if (k->inside)
		label(p, "in_request", "yes");
	if (k->cls != TY_NONE && *ty_store_label(r->store, k->cls))
		label(p, "request_class", ty_store_label(r->store, k->cls));
}

static void sample(struct pprof *p, const struct ty_sum_key *k, uint64_t waits, uint64_t ns)
{
	const struct run *r = &p->x->run;
	struct frames c = { .p = p };
	const char *doubt = k->op == TY_NONE ? NULL : ty_export_doubt(r, k->path);
	p->sample.n = p->ids.n = p->values.n = 0;
	ty_pb_varint(&p->ids, word_location(p, ty_export_op(r, k->op)));
	ty_path_each(r, k->path, add_frame, &c);
	end_location(&c);
	ty_pb_free(&c.location);
	if (doubt)
		ty_pb_varint(&p->ids, word_location(p, doubt));
	ty_pb_varint(&p->values, waits);
	ty_pb_varint(&p->values, ns);
	ty_pb_bytes(&p->sample, 1, p->ids.v, p->ids.n);
	ty_pb_bytes(&p->sample, 2, p->values.v, p->values.n);
	labels(p, k);
	ty_pb_message(&p->out, 2, &p->sample);
}

/* Waits inside requests as they are; of all waits what those leave. */
static int samples(struct pprof *p)
{
	struct ty_sums in = { 0 };
	fail(p, ty_sums_settle(&p->inside));
	fail(p, ty_sums_settle(&p->all));
	for (size_t i = 0; i < p->inside.n && !p->e; i++) {
		const struct ty_sum *s = &p->inside.v[i];
		struct ty_sum_key k = s->key;
		sample(p, &k, s->waits, s->ns);
		k.cls = TY_NONE;
		k.inside = 0;
		fail(p, ty_sums_add(&in, &k, s->waits, s->ns));
	}
	fail(p, ty_sums_settle(&in));
	for (size_t i = 0; i < p->all.n && !p->e; i++) {
		const struct ty_sum *s = &p->all.v[i], *less = ty_sums_find(&in, &s->key);
		uint64_t ns = less && less->ns < s->ns ? s->ns - less->ns : less ? 0 : s->ns;
		uint64_t waits = less && less->waits < s->waits ? s->waits - less->waits :
				 less                           ? 0 :
								  s->waits;
		if (ns || waits)
			sample(p, &s->key, waits, ns);
	}
	ty_sums_free(&in);
	return p->e;
}

/* ---- the walk ---- */

static int add_event(void *arg, const struct ty_ev *e)
{
	struct pprof *p = arg;
	if (e->kind != TY_EV_WAIT && e->kind != TY_EV_OPEN)
		return 0;
	struct ty_sum_key k = {
		.path = p->canonical[e->path], .op = e->op, .thread = e->thread, .cls = TY_NONE
	};
	return ty_sums_add(&p->all, &k, 1, ty_export_ns(p->x, e));
}

static void add_part(struct pprof *p, const struct ty_req *q, uint32_t site, uint32_t thread, uint64_t waits,
		     uint64_t ns)
{
	const struct run *r = &p->x->run;
	const struct ty_site *s = &r->sites.v[site];
	struct ty_sum_key k = {
		.path = TY_NONE, .op = TY_NONE, .thread = thread, .cls = q->cls, .inside = 1
	};
	if (site != TY_SITE_HELD) {
		k.op = s->op;
		k.path = s->path < r->t.npaths ? p->canonical[s->path] : TY_NONE;
		if (thread == TY_NONE)
			k.thread = q->thread; /* one of thousands of waits, summed up before they got here */
		if (!ty_export_counted(p->x, k.thread))
			return;
	}
	fail(p, ty_sums_add(&p->inside, &k, waits, ns));
}

static void add_request(void *arg, const struct ty_req *q)
{
	struct pprof *p = arg;
	for (size_t i = 0; i < q->firm; i++)
		add_part(p, q, q->part[i].site, q->part[i].thread, 1, q->part[i].end - q->part[i].begin);
	for (size_t i = 0; i < q->nfold; i++)
		add_part(p, q, q->fold[i].site, TY_NONE, q->fold[i].waits, q->fold[i].ns);
}

/* ---- the rest of the profile ---- */

static void value_type(struct pprof *p, unsigned field, const char *type, const char *unit)
{
	struct ty_pb m = { 0 };
	ty_pb_int(&m, 1, string(p, type));
	ty_pb_int(&m, 2, string(p, unit));
	ty_pb_message(&p->out, field, &m);
	ty_pb_free(&m);
}

static void mappings(struct pprof *p)
{
	const struct ty_tables *t = &p->x->run.t;
	for (size_t i = 0; i < t->nmodules; i++) {
		struct ty_pb m = { 0 };
		if (!p->limit[i])
			continue;
		ty_pb_int(&m, 1, i + 1);
		ty_pb_int(&m, 2, (i + 1) << 40);
		ty_pb_int(&m, 3, (p->limit[i] + 4095) & ~4095ull);
		ty_pb_int(&m, 5, string(p, t->modules[i].path));
		ty_pb_int(&m, 6, string(p, t->modules[i].build_id));
		for (unsigned has = 7; has <= 10; has++) /* nothing more is to be looked up */
			ty_pb_int(&m, has, 1);
		ty_pb_message(&p->out, 3, &m);
		ty_pb_free(&m);
	}
}

static uint64_t meta_integer(const struct run *r, const char *key)
{
	const char *text = ty_store_meta(r->store, key);
	return text ? strtoull(text, NULL, 10) : 0;
}

static void head(struct pprof *p, uint64_t first, uint64_t last)
{
	const struct run *r = &p->x->run;
	uint64_t real = meta_integer(r, "start_realtime"), from = r->from > r->start ? r->from : r->start;
	uint64_t to = r->to < last ? r->to : last;
	string(p, ""); /* number 0 */
	value_type(p, 1, "contentions", "count");
	value_type(p, 1, "delay", "nanoseconds");
	ty_pb_field(&p->out, 14, string(p, "delay"));
	if (real)
		ty_pb_field(&p->out, 9, real + (from - r->start));
	ty_pb_field(&p->out, 10, to > from ? to - from : 0);
	value_type(p, 11, "contentions", "count");
	ty_pb_field(&p->out, 12, 1);
	ty_pb_field(&p->out, 13, string(p, "waits recorded by tarry " TY_VERSION));
}

static int write_profile(struct pprof *p, char *err)
{
	struct ty_extent extent = { 0 };
	int e = ty_store_extent(p->x->run.store, &extent, err);
	if (!e)
		e = ty_pb_open(&p->out, p->x->out);
	if (e)
		return ty_err(err, e, "cannot begin the profile: %s", strerror(-e));
	head(p, extent.first, extent.last);
	samples(p);
	mappings(p);
	for (size_t i = 0; i < p->strings.n; i++)
		ty_pb_text(&p->out, 6, p->strings.v[i].p, p->strings.v[i].len);
	e = ty_pb_close(&p->out);
	e = p->e ? p->e : p->sample.bad || p->ids.bad || p->values.bad || p->part.bad ? -ENOMEM : e;
	return e ? ty_err(err, e, "writing the profile: %s", strerror(-e)) : 0;
}

int ty_export_pprof(struct export *x, char *err)
{
	struct pprof p = { .x = x };
	struct ty_walk w = { .event = add_event, .request = add_request, .arg = &p };
	int e = ty_pass_names(&x->run, err);
	if (!e) {
		p.canonical = ty_export_canonical(&x->run);
		p.limit = calloc(x->run.t.nmodules + 1, sizeof *p.limit);
		if (!p.canonical || !p.limit)
			e = ty_err(err, -ENOMEM, "out of memory");
	}
	if (!e)
		e = ty_export_walk(x, &w, err);
	if (!e)
		e = p.e ? ty_err(err, p.e, "out of memory") : write_profile(&p, err);
	ty_sums_free(&p.all);
	ty_sums_free(&p.inside);
	ty_intern_free(&p.strings);
	ty_intern_free(&p.functions);
	ty_intern_free(&p.locations);
	ty_pb_free(&p.sample);
	ty_pb_free(&p.ids);
	ty_pb_free(&p.values);
	ty_pb_free(&p.part);
	free(p.canonical);
	free(p.limit);
	return e;
}
