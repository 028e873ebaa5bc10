/* SPDX-License-Identifier: MIT
 *
 * A trace for chrome://tracing and Perfetto: a track per thread with its waits,
 * requests as asynchronous events, and an arrow from each wake to the wait it
 * ended.  Runs in readers.  Must stay true: it is one valid JSON object whatever
 * a recording's names contain, also of an empty recording, and is written while
 * reading. */
#include <inttypes.h>
#include <jansson.h>

#include "analyze/export.h"
#include "analyze/put.h"
#include "tarry/event.h"

struct chrome {
	struct export *x;
	FILE *out;
	struct ty_arrows *wakes;
	char **op, **cls; /* [nops + 1] names of operations and of their classes, as JSON */
	char **function;  /* [npaths] as JSON, NULL: not used yet */
	uint64_t arrows, requests;
	bool comma;
	int e;
};

/* Text of a recording as JSON, malloc'ed; bytes that are no UTF-8 become '?'. */
static char *quoted(const char *s)
{
	json_t *j = json_string(s);
	char *copy = j ? NULL : strdup(s);
	for (char *p = copy; p && *p; p++)
		*p = (unsigned char)*p >= 0x80 ? '?' : *p;
	if (copy)
		j = json_string(copy);
	char *text = j ? json_dumps(j, JSON_ENCODE_ANY) : NULL;
	json_decref(j);
	free(copy);
	return text;
}

static void put_quoted(struct chrome *c, const char *s)
{
	char *text = quoted(s);
	fputs(text ? text : "\"\"", c->out);
	free(text);
}

/* Microseconds since the start of the recording, to the nanosecond. */
static void put_us(struct chrome *c, const char *name, int64_t ns)
{
	fputs(name, c->out);
	ty_put_ns(c->out, ns, 3, 0);
}

/* {"ph":"X","pid":1,"tid":2,"ts":3.000 ... the caller goes on */
static void begin(struct chrome *c, const char *ph, uint32_t thread, uint64_t at)
{
	const struct ty_tables *t = &c->x->run.t;
	const struct ty_thread_info *i = &t->threads[thread];
	fputs(c->comma ? ",\n{\"ph\":\"" : "\n{\"ph\":\"", c->out);
	fputs(ph, c->out);
	fputs("\",\"pid\":", c->out);
	ty_put_uint(c->out, t->processes[i->process].pid);
	fputs(",\"tid\":", c->out);
	ty_put_uint(c->out, i->tid);
	c->comma = true;
	put_us(c, ",\"ts\":", (int64_t)(at - c->x->run.start));
}

static const char *function_of(struct chrome *c, uint32_t path)
{
	char buf[TY_NAME_MAX];
	if (path >= c->x->run.t.npaths)
		return "\"\"";
	if (!c->function[path])
		c->function[path] = quoted(ty_path_function(&c->x->run, path, buf));
	return c->function[path] ? c->function[path] : "\"\"";
}

static void put_object(struct chrome *c, const struct ty_ev *e)
{
	const struct ty_tables *t = &c->x->run.t;
	if (e->object == TY_FD_NONE || !(e->object || ty_class_has_fd(e->cls)))
		return;
	if (e->cls >= TY_CLASS_COUNT || !ty_class_has_fd(e->cls)) {
		const char *variable = ty_variable_name(&c->x->run, e->thread, e->object);
		fputs(",\"object\":", c->out);
		if (variable) {
			put_quoted(c, variable);
		} else {
			putc('"', c->out);
			ty_put_hex(c->out, e->object);
			putc('"', c->out);
		}
		return;
	}
	const struct ty_descriptor *d = ty_descriptor_at(t, t->threads[e->thread].process, e->object, e->end);
	fputs(",\"fd\":", c->out);
	ty_put_uint(c->out, e->object);
	if (d && *d->name) {
		fputs(",\"object\":", c->out);
		put_quoted(c, d->name);
	}
}

static void slice(struct chrome *c, const struct ty_ev *e, uint64_t begin_ns, uint64_t ns, const char *cls)
{
	const struct run *r = &c->x->run;
	begin(c, "X", e->thread, begin_ns);
	put_us(c, ",\"dur\":", (int64_t)ns);
	fputs(",\"cat\":", c->out);
	fputs(cls, c->out);
	fputs(",\"name\":", c->out);
	fputs(c->op[e->op], c->out);
	if (!(r->t.paths[e->path].flags & TY_F_NO_PATH)) {
		fputs(",\"sf\":\"", c->out);
		ty_put_uint(c->out, e->path);
		fputs(".0\"", c->out);
	}
	fputs(",\"args\":{\"function\":", c->out);
	fputs(function_of(c, e->path), c->out);
	put_object(c, e);
	if (e->kind == TY_EV_OPEN)
		fputs(",\"unfinished\":true", c->out);
	if (e->err)
		fprintf(c->out, ",\"error\":\"%s\"", strerrorname_np(e->err) ? strerrorname_np(e->err) : "?");
	fputs("}}", c->out);
}

/* ---- arrows ---- */

static uint32_t space_of(const struct chrome *c, const struct ty_ev *e)
{
	return e->flags & TY_F_SHARED ? TY_NONE : c->x->run.t.threads[e->thread].process;
}

static int wake(struct chrome *c, const struct ty_ev *e)
{
	uint32_t may = e->flags & TY_F_BROADCAST        ? UINT32_MAX :
		       e->aux > 1 && e->aux < INT32_MAX ? (uint32_t)e->aux :
		       e->aux >= INT32_MAX              ? UINT32_MAX :
							  1;
	/* an arrow needs something to begin at */
	slice(c, e, e->end, 1, "\"wake\"");
	return ty_arrows_add(c->wakes, &(struct ty_arrow){ .when = e->end,
							   .object = e->object,
							   .space = space_of(c, e),
							   .thread = e->thread,
							   .left = may });
}

static void arrow(struct chrome *c, const struct ty_ev *e)
{
	struct ty_arrow k;
	bool lock = e->cls == TY_CLASS_MUTEX || e->cls == TY_CLASS_RWLOCK;
	/* one that timed out or was interrupted was not woken */
	if (e->err || e->kind != TY_EV_WAIT || ty_class_has_fd(e->cls) || !e->object ||
	    !ty_arrows_match(c->wakes, e, space_of(c, e), lock, &k))
		return;
	uint64_t id = ++c->arrows;
	begin(c, "s", k.thread, k.when);
	fprintf(c->out, ",\"cat\":\"wake\",\"name\":\"wakes\",\"id\":%" PRIu64 "}", id);
	/* inside the wait that it ends */
	begin(c, "f", e->thread, e->end > e->begin && e->end - 1 > k.when ? e->end - 1 : k.when);
	fprintf(c->out, ",\"cat\":\"wake\",\"name\":\"wakes\",\"id\":%" PRIu64 ",\"bp\":\"e\"}", id);
}

/* ---- the walk ---- */

static int add_event(void *arg, const struct ty_ev *e)
{
	struct chrome *c = arg;
	if (e->kind == TY_EV_MARK)
		return 0;
	if (e->kind == TY_EV_WAKE)
		return wake(c, e);
	slice(c, e, e->begin, e->end - e->begin, c->cls[e->op]);
	arrow(c, e);
	return 0;
}

static void add_request(void *arg, const struct ty_req *q)
{
	struct chrome *c = arg;
	const char *name = q->cls == TY_NONE ? "" : ty_store_label(c->x->run.store, q->cls);
	char *text = quoted(*name ? name : "request");
	uint64_t id = ++c->requests;
	for (int end = 0; end < 2; end++) {
		begin(c, end ? "e" : "b", q->thread, end ? q->last : q->begin);
		fprintf(c->out, ",\"cat\":\"request\",\"id\":\"0x%" PRIx64 "\",\"name\":%s}", id,
			text ? text : "\"\"");
	}
	free(text);
}

/* ---- names ---- */

static void metadata(struct chrome *c)
{
	const struct ty_tables *t = &c->x->run.t;
	for (uint32_t i = 0; i < t->nthreads; i++) {
		const struct ty_thread_info *th = &t->threads[i];
		if (!ty_export_counted(c->x, i))
			continue;
		const struct ty_process *p = &t->processes[th->process];
		const char *slash = strrchr(p->exe, '/');
		begin(c, "M", i, c->x->run.start);
		fputs(",\"name\":\"process_name\",\"args\":{\"name\":", c->out);
		put_quoted(c, slash ? slash + 1 : p->exe);
		fputs("}}", c->out);
		begin(c, "M", i, c->x->run.start);
		fputs(",\"name\":\"thread_name\",\"args\":{\"name\":", c->out);
		put_quoted(c, th->name);
		fputs("}}", c->out);
	}
}

struct frames {
	struct chrome *c;
	uint32_t path;
	unsigned n;
	bool *comma;
};

static int count_line(void *arg, const struct ty_line *l)
{
	++*(unsigned *)arg;
	return 0;
}

static int add_frame(void *arg, const struct ty_line *l)
{
	struct frames *f = arg;
	char buf[TY_NAME_MAX];
	unsigned lines = 0;
	FILE *out = f->c->out;
	ty_path_each(&f->c->x->run, f->path, count_line, &lines);
	fprintf(out, "%s\n\"%u.%u\":{\"name\":", *f->comma ? "," : "", f->path, f->n);
	*f->comma = true;
	put_quoted(f->c, ty_line_name(&f->c->x->run, l, buf));
	fputs(",\"category\":", out);
	put_quoted(f->c, ty_module_name(&f->c->x->run.t, l->frame->module));
	if (++f->n < lines)
		fprintf(out, ",\"parent\":\"%u.%u\"", f->path, f->n);
	fputs("}", out);
	return 0;
}

/* The call paths that events refer to. */
static void stack_frames(struct chrome *c)
{
	bool comma = false;
	fputs("],\n\"stackFrames\":{", c->out);
	for (uint32_t i = 0; i < c->x->run.t.npaths && !ferror(c->out); i++) {
		struct frames f = { .c = c, .path = i, .comma = &comma };
		if (c->function[i])
			ty_path_each(&c->x->run, i, add_frame, &f);
	}
	fputs("}", c->out);
}

static int prepare(struct chrome *c)
{
	const struct ty_tables *t = &c->x->run.t;
	c->wakes = ty_arrows_new();
	c->op = calloc(t->nops + 1, sizeof *c->op);
	c->cls = calloc(t->nops + 1, sizeof *c->cls);
	c->function = calloc(t->npaths + 1, sizeof *c->function);
	if (!c->wakes || !c->op || !c->cls || !c->function)
		return -ENOMEM;
	for (size_t i = 0; i < t->nops; i++)
		if (!(c->op[i] = quoted(t->ops[i].name)) || !(c->cls[i] = quoted(t->ops[i].class_name)))
			return -ENOMEM;
	return 0;
}

int ty_export_chrome(struct export *x, char *err)
{
	struct chrome c = { .x = x, .out = x->out };
	struct ty_walk w = { .event = add_event, .request = add_request, .arg = &c };
	int e = ty_pass_names(&x->run, err);
	if (!e && (e = prepare(&c)))
		ty_err(err, e, "out of memory");
	if (!e) {
		fputs("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"tool\":\"tarry " TY_VERSION
		      "\"},\"traceEvents\":[",
		      c.out);
		metadata(&c);
		e = ty_export_walk(x, &w, err);
		stack_frames(&c);
		fputs("}\n", c.out);
	}
	for (size_t i = 0; c.op && i < x->run.t.nops; i++)
		free(c.op[i]);
	for (size_t i = 0; c.cls && i < x->run.t.nops; i++)
		free(c.cls[i]);
	for (size_t i = 0; c.function && i < x->run.t.npaths; i++)
		free(c.function[i]);
	free(c.op);
	free(c.cls);
	free(c.function);
	ty_arrows_free(c.wakes);
	return e;
}
