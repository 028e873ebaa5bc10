/* SPDX-License-Identifier: MIT
 *
 * A frame of `tarry top` as lines of text: what the screen shows and what batch
 * mode prints are the same.  Runs in a reader.  Must stay true: no line is
 * wider than was asked for, and names cannot control a terminal. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "analyze/fmt.h"
#include "analyze/top.h"

#define WIDE 111 /* columns that a row of threads needs with its object */

static int line(struct ty_top_lines *l, unsigned width, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int line(struct ty_top_lines *l, unsigned width, const char *fmt, ...)
{
	char *text = NULL, *fit = malloc(4 * (size_t)width + 1);
	va_list ap;
	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0 || !fit || TY_RESERVE(l->v, l->cap, l->n + 1, (size_t)64)) {
		if (n >= 0)
			free(text);
		free(fit);
		return -ENOMEM;
	}
	while (n > 0 && text[n - 1] == ' ')
		text[--n] = 0;
	ty_fmt_fit(fit, 4 * (size_t)width + 1, text, width);
	free(text);
	l->v[l->n++] = fit;
	return 0;
}

static const char *plural(size_t n, const char *one, const char *more) { return n == 1 ? one : more; }

static double rate(const struct ty_top *t, uint64_t n)
{
	return t->fig.window ? (double)n * 1e9 / (double)t->fig.window : 0;
}

static const char *rule_word(const struct ty_top *t)
{
	const struct run *r = &t->run;
	if (r->rule == TY_RULE_AUTO)
		return r->counts.accepted + r->counts.inherited ? "socket" : NULL;
	return r->rule == TY_RULE_NONE ? NULL : ty_rule_name(r->rule);
}

static int header(const struct ty_top *t, unsigned w, struct ty_top_lines *l)
{
	const struct run *r = &t->run;
	const struct ty_top_figures *f = &t->fig;
	char a[TY_FMT], b[TY_FMT], c[TY_FMT], e[TY_FMT], fit[512];
	const char *rule = rule_word(t);
	int bad = line(l, w, "tarry top - %s%s%s", ty_fmt_fit(fit, sizeof fit, r->opt.store, 60),
		       t->ordered ? "   under orders" : "", t->enabled ? "" : "   RECORDING IS SWITCHED OFF (tarry ctl)");
	ty_fmt_ns(e, (double)f->window);
	bad |= line(l, w, "%zu %s in %zu %s, %zu waiting; %s events/s%s%s", t->threads,
		    plural(t->threads, "thread", "threads"), t->processes,
		    plural(t->processes, "process", "processes"), t->waiting,
		    ty_fmt_count(a, (uint64_t)(rate(t, f->events) + 0.5)), f->lost ? ", LOST " : "",
		    f->lost ? ty_fmt_count(b, f->lost) : "");
	if (f->requests)
		bad |= line(l, w, "requests %.1f/s  p50 %s  p99 %s  max %s  (last %s, %s)",
			    rate(t, f->requests), ty_fmt_ns(a, (double)f->p50), ty_fmt_ns(b, (double)f->p99),
			    ty_fmt_ns(c, (double)f->max), e, rule ? rule : "");
	else if (rule)
		bad |= line(l, w, "requests 0/s   (last %s, %s)", e, rule);
	else if (r->rule == TY_RULE_NONE && !r->found_none)
		bad |= line(l, w, "requests are not looked for: %s", r->opt.requests ? "--requests none"
			: "the configuration says requests: none; --requests auto looks for them");
	else
		bad |= line(l, w, "no requests: no accepted connection and no marker was seen");
	return bad;
}

static void object_text(const struct ty_top *t, const struct ty_top_thread *w, char *buf, size_t size)
{
	const struct ty_tables *tab = &t->run.t;
	unsigned cls = w->op < tab->nops ? tab->ops[w->op].cls : TY_CLASS_COUNT;
	buf[0] = 0;
	if (cls < TY_CLASS_COUNT && ty_class_has_fd(cls)) {
		const struct ty_descriptor *d = w->thread < tab->nthreads && w->object <= INT32_MAX ?
			ty_descriptor_at(tab, tab->threads[w->thread].process, w->object, UINT64_MAX) : NULL;
		if (d && *d->name)
			snprintf(buf, size, "%s", d->name);
		else if (w->object <= INT32_MAX)
			snprintf(buf, size, "fd %" PRIu64, w->object);
	} else if (*w->variable) {
		snprintf(buf, size, "%s", w->variable);
	} else if (w->object && w->object != TY_FD_NONE) {
		snprintf(buf, size, "0x%" PRIx64, w->object);
	}
}

/* One row of threads: a narrow terminal has no column for the object. */
static int row(struct ty_top_lines *l, unsigned w, const char *ids, const char *const text[5])
{
	char fit[4][160];
	bool wide = w >= WIDE;
	unsigned taken = wide ? 99 : 63, rest = w > taken + 12 ? w - taken : 12;
	ty_fmt_fit(fit[0], sizeof fit[0], text[0], wide ? 15 : 10);
	ty_fmt_fit(fit[1], sizeof fit[1], text[2], 22);
	ty_fmt_fit(fit[2], sizeof fit[2], text[3], 30);
	ty_fmt_fit(fit[3], sizeof fit[3], text[4], rest > 39 ? 39 : rest);
	if (wide)
		return line(l, w, "%s  %-15s  %9s  %-22s %-30s %s", ids, fit[0], text[1], fit[1], fit[2], fit[3]);
	return line(l, w, "%s  %-10s  %9s  %-22s %s", ids, fit[0], text[1], fit[1], fit[3]);
}

static int threads(const struct ty_top *t, unsigned w, struct ty_top_lines *l)
{
	char object[512], ids[32], took[TY_FMT];
	snprintf(ids, sizeof ids, "%7s %7s", "PID", "TID");
	int bad = row(l, w, ids, (const char *const[]){ "THREAD", "FOR", "WAITS IN", "FOR OBJECT", "ASKED BY" });
	l->head = l->n;
	for (size_t i = 0; i < t->threads && !bad; i++) {
		const struct ty_top_thread *x = &t->thread[i];
		snprintf(ids, sizeof ids, "%7u %7u", x->pid, x->tid);
		if (x->op == TY_NONE) {
			bad |= row(l, w, ids, (const char *const[]){ x->name, "", "-", "", "" });
			continue;
		}
		object_text(t, x, object, sizeof object);
		bad |= row(l, w, ids, (const char *const[]){ x->name, ty_fmt_ns(took, (double)x->waiting),
			   x->op < t->run.t.nops ? t->run.t.ops[x->op].name : "?", object, x->where });
	}
	l->threads = l->n - l->head;
	return bad;
}

static int sites(const struct ty_top *t, unsigned w, size_t n, struct ty_top_lines *l)
{
	char a[TY_FMT], b[TY_FMT], c[TY_FMT], fit[2][160];
	unsigned rest = w > 67 + 12 ? w - 67 : 12;
	int bad = line(l, w, "%9s  %9s  %9s  %9s  %-22s %s", "TIME/S", "WAITS/S", "MEAN", "MAX", "OPERATION",
		       rest < 25 ? "ASKED BY" : "ASKED BY, BY WAITING TIME");
	for (size_t i = 0; i < t->sites && i < n && !bad; i++) {
		const struct ty_top_site *s = &t->site[i];
		bad |= line(l, w, "%9s  %9.1f  %9s  %9s  %-22s %s", ty_fmt_ns(a, rate(t, s->ns)),
			    rate(t, s->waits), ty_fmt_ns(b, s->waits ? (double)s->ns / (double)s->waits : 0),
			    ty_fmt_ns(c, (double)s->max), ty_fmt_fit(fit[0], sizeof fit[0], s->operation, 22),
			    ty_fmt_fit(fit[1], sizeof fit[1], s->function, rest > 39 ? 39 : rest));
	}
	if (!t->sites)
		bad |= line(l, w, "%9s  nothing has finished waiting", "");
	return bad;
}

int ty_top_lines(const struct ty_top *t, unsigned width, size_t nsites, struct ty_top_lines *l)
{
	int bad = header(t, width, l);
	bad |= line(l, width, "%s", "");
	bad |= sites(t, width, nsites, l);
	bad |= line(l, width, "%s", "");
	bad |= threads(t, width, l);
	return bad ? -ENOMEM : 0;
}

void ty_top_lines_free(struct ty_top_lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	memset(l, 0, sizeof *l);
}
