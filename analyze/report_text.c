/* SPDX-License-Identifier: MIT
 *
 * The report for people.  Runs in readers.  Must stay true: every value has a
 * unit, every table fits 132 columns, nothing but text goes to a pipe. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "analyze/output.h"
#include "analyze/fmt.h"
#include "analyze/report.h"

#define TOP 10
#define FEW_REQUESTS 200

bool ty_thread_counted(const struct run *r, size_t i)
{
	const struct ty_thread_info *t = &r->t.threads[i];
	return t->process < r->t.nprocesses &&
		(!r->opt.process || r->t.processes[t->process].pid == r->opt.process) &&
		(!r->opt.thread || t->tid == r->opt.thread);
}

uint64_t ty_sum_fast(const struct run *r, size_t op)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < r->t.nthreads; i++)
		if (r->t.threads[i].fast && ty_thread_counted(r, i))
			sum += r->t.threads[i].fast[op];
	return sum;
}

uint64_t ty_sum_loss(const struct run *r, size_t loss)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < r->t.nthreads; i++)
		if (r->t.threads[i].loss && ty_thread_counted(r, i))
			sum += r->t.threads[i].loss[loss];
	return sum;
}

const char *ty_shares_doubt(const struct run *r, char buf[TY_NAME_MAX])
{
	const struct ty_result *q = &r->res;
	if (r->rule == TY_RULE_NONE || q->n == 0)
		return NULL;
	if (q->n < FEW_REQUESTS || !q->blocks)
		snprintf(buf, TY_NAME_MAX, "only %" PRIu64 " requests: shares are unreliable, record for longer", q->n);
	else if (!q->valid)
		snprintf(buf, TY_NAME_MAX, "all requests took the same time: there is no variance to share out");
	else if (r->counts.overlap + r->counts.negative)
		snprintf(buf, TY_NAME_MAX, "%" PRIu64 " waits overlap another wait of their request: please report this",
			 r->counts.overlap + r->counts.negative);
	else
		return NULL;
	return buf;
}

const char *ty_rule_words(const struct run *r, char buf[TY_NAME_MAX])
{
	switch (r->rule) {
	case TY_RULE_SOCKET:
		return "socket: on accepted connections, from the first receive after a send to the last send before\n"
		       "the next receive.  Time before that first receive returned is not in it.";
	case TY_RULE_MARKER:
		return "marker: from tarry_request_begin to tarry_request_end";
	case TY_RULE_SITE:
		snprintf(buf, TY_NAME_MAX, "site:%.300s: of one thread, from one return of that wait to the next",
			 r->rule_text);
		return buf;
	default:
		if (r->opt.requests && !strcmp(r->opt.requests, "none"))
			return "none: as asked for.  These are all waits.";
		return "none: no accepted connection and no marker was seen, so these are all waits, and nothing says\n"
		       "whose latency they are.  To get requests: record a server under load; or mark them in the\n"
		       "program (tarry.h: tarry_request_begin, _end); or name the wait that a worker does between two\n"
		       "pieces of work: --requests site:FUNCTION";
	}
}

size_t ty_listed(const struct run *r, size_t otherwise)
{
	size_t top = r->opt.top ? r->opt.top : otherwise;
	return top < r->nrank ? top : r->nrank;
}

static void heading(const char *text)
{
	bool bold = isatty(STDOUT_FILENO);
	printf("\n%s%s%s\n", bold ? "\033[1m" : "", text, bold ? "\033[0m" : "");
}

static void show_header(const struct run *r)
{
	char a[TY_FMT], b[TY_FMT], fit[512];
	size_t roots = 0;
	uint64_t last = r->counts.last > r->start ? r->counts.last - r->start : 0;
	printf("tarry report of %s%s\n", r->opt.store, ty_store_recording(r->store) ? " (still being recorded)" : "");
	printf("  %s", ty_fmt_ns(a, (double)last));
	printf(", %zu process%s, %zu threads, %s events\n", r->t.nprocesses, r->t.nprocesses == 1 ? "" : "es",
	       r->t.nthreads, ty_fmt_count(b, r->counts.events));
	for (size_t i = 0; i < r->t.nprocesses && roots < 3; i++) {
		const struct ty_process *p = &r->t.processes[i];
		if (p->forked)
			continue;
		roots++;
		printf("  %u  %s\n", p->pid, ty_fmt_fit(fit, sizeof fit, *p->cmdline ? p->cmdline : p->exe, 110));
	}
	if (!r->from && r->to == UINT64_MAX)
		return;
	printf("  only from %s", ty_fmt_ns(a, r->from > r->start ? (double)(r->from - r->start) : 0));
	printf(" to %s after the start\n", ty_fmt_ns(b, (double)(r->to == UINT64_MAX ? last : r->to - r->start)));
}

static void show_requests(const struct run *r)
{
	const struct ty_result *q = &r->res;
	const struct { const char *name; double ns; } col[] = {
		{ "mean", q->mean }, { "sd", sqrt(q->var) }, { "p50", (double)q->p50 }, { "p95", (double)q->p95 },
		{ "p99", (double)q->p99 }, { "p99.9", (double)q->p999 }, { "max", (double)q->max }, { "L2 norm", q->l2 },
	};
	char a[TY_FMT], words[TY_NAME_MAX];
	heading("Requests");
	printf("rule %s\n", ty_rule_words(r, words));
	if (r->rule == TY_RULE_NONE)
		return;
	if (r->where)
		printf("only those where %s; %s others are left out\n", r->where->text, ty_fmt_count(a, r->counts.left_out));
	printf("%s requests", ty_fmt_count(a, q->n));
	printf(", %s unfinished\n", ty_fmt_count(a, r->counts.unfinished));
	if (!q->n)
		return;
	for (size_t i = 0; i < sizeof col / sizeof *col; i++)
		printf("%10s", col[i].name);
	putchar('\n');
	for (size_t i = 0; i < sizeof col / sizeof *col; i++)
		printf("%10s", ty_fmt_ns(a, col[i].ns));
	printf("   variance %.4g ms^2\n", q->var / 1e12);
	if (q->ncls > 1)
		printf("\n%-32s%10s%10s%10s    (%s of the variance is between classes)\n", "class", "requests", "mean", "sd",
		       ty_fmt_percent(words, q->between));
	for (size_t i = 0; q->ncls > 1 && i < q->ncls && i < TOP; i++) {
		const char *label = ty_store_label(r->store, q->cls[i].label);
		printf("%-32.32s%10s", *label ? label : "(no name)", ty_fmt_count(a, q->cls[i].count));
		printf("%10s", ty_fmt_ns(a, q->cls[i].mean));
		printf("%10s\n", ty_fmt_ns(a, sqrt(q->cls[i].var)));
	}
	const char *doubt = ty_shares_doubt(r, words);
	if (doubt)
		printf("%s\n", doubt);
}

static void show_share(const struct run *r, const struct ty_share *h)
{
	char a[TY_FMT];
	printf("%8s", ty_fmt_percent(a, h->share));
	printf("%7s", r->res.blocks ? ty_fmt_percent(a, h->se) : "-");
	printf("%8s", ty_fmt_percent(a, h->tail));
}

/* The columns that a site has in both tables. */
static void show_waits(const struct run *r, uint32_t i, bool requests)
{
	const struct ty_site *s = &r->sites.v[i];
	char a[TY_FMT], name[TY_NAME_MAX], fit[512];
	printf("%12s", ty_fmt_count(a, s->waits));
	if (requests)
		printf("%8.2f", r->res.n ? (double)s->waits / (double)r->res.n : 0);
	printf("%9s", ty_fmt_ns(a, (double)s->total));
	printf("%9s", ty_fmt_ns(a, ty_site_mean(s)));
	printf("%9s", ty_fmt_ns(a, ty_site_sd(s)));
	printf("%9s", ty_fmt_ns(a, (double)ty_site_p99(s)));
	printf("%9s", ty_fmt_ns(a, (double)s->max));
	if (i == TY_SITE_HELD) {
		printf("  held up\n");
		return;
	}
	if (r->sites.by != TY_BY_FUNCTION)
		printf("  %s", ty_site_operation(r, i));
	const char *f = ty_site_function(r, i, name);
	if (*f)
		printf("  %s", ty_fmt_fit(fit, sizeof fit, f, 60));
	const char *o = ty_site_object_name(r, i, name);
	if (o && r->sites.by != TY_BY_OPERATION && r->sites.by != TY_BY_FUNCTION)
		printf("  on %s", ty_fmt_fit(fit, sizeof fit, o, 48));
	putchar('\n');
}

static void show_table(const struct run *r, size_t n)
{
	bool requests = r->rule != TY_RULE_NONE;
	char a[TY_FMT], tail[TY_FMT];
	snprintf(tail, sizeof tail, "tail%g", r->opt.tail * 100);
	heading(requests ? "Wait sites by their share of the latency variance" : "Wait sites by time waited");
	printf("%4s", "");
	if (requests)
		printf("%8s%7s%8s", "share", "+-", tail);
	printf("%12s", "waits");
	if (requests)
		printf("%8s", "/req");
	printf("%9s%9s%9s%9s%9s  %s\n", "total", "mean", "sd", "p99", "max", "where");
	double rest = 0;
	for (size_t i = 0; i < r->nrank; i++) {
		if (i >= n) {
			rest += r->res.site[r->rank[i]].share;
			continue;
		}
		printf("%4zu", i + 1);
		if (requests)
			show_share(r, &r->res.site[r->rank[i]]);
		show_waits(r, r->rank[i], requests);
	}
	if (r->nrank > n) {
		printf("%4s", "");
		if (requests)
			printf("%8s", ty_fmt_percent(a, rest));
		printf("  in %zu more sites (--top)\n", r->nrank - n);
	}
	if (!requests)
		return;
	printf("%4s", "");
	show_share(r, &r->res.running);
	printf("  running: on a CPU, waiting for one, or waiting where it cannot be seen; %s a request\n",
	       ty_fmt_ns(a, r->res.running.mean));
	if (!r->sites.v[TY_SITE_HELD].waits)
		return;
	printf("%4s", "");
	show_share(r, &r->res.site[TY_SITE_HELD]);
	printf("  held up: open while its thread worked on another request; %s a request\n",
	       ty_fmt_ns(a, r->res.site[TY_SITE_HELD].mean));
}

int ty_report_text(struct run *r, char *err)
{
	size_t n = ty_listed(r, TOP);
	show_header(r);
	show_requests(r);
	show_table(r, n);
	if (r->sites.by == TY_BY_SITE && n) {
		heading("Call paths, from the wait outwards");
		ty_text_paths(r, stdout);
	}
	heading("Not seen, or lost");
	ty_text_losses(r, stdout);
	return ty_output_end(0, err);
}
