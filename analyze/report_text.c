/* SPDX-License-Identifier: MIT
 *
 * The report for people.  Runs in readers.  Must stay true: every value has a
 * unit, every table fits 132 columns, nothing but text goes to a pipe. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "analyze/output.h"
#include "analyze/fmt.h"
#include "analyze/orders.h"
#include "analyze/report.h"

#define TOP 10
#define BEHIND 3
#define FEW_REQUESTS 200
#define MANY_DROPPED 0.001 /* of all records */

static bool counted(const struct run *r, size_t i)
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
		if (r->t.threads[i].fast && counted(r, i))
			sum += r->t.threads[i].fast[op];
	return sum;
}

uint64_t ty_sum_loss(const struct run *r, size_t loss)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < r->t.nthreads; i++)
		if (r->t.threads[i].loss && counted(r, i))
			sum += r->t.threads[i].loss[loss];
	return sum;
}

const char *ty_shares_doubt(const struct run *r, char buf[TY_NAME_MAX])
{
	const struct ty_result *q = &r->res;
	char part[TY_FMT];
	double lost = (double)ty_sum_loss(r, TY_LOSS_RING_FULL), dropped = lost / (lost + (double)r->counts.events + 1);
	if (r->rule == TY_RULE_NONE || q->n == 0)
		return NULL;
	if (q->n < FEW_REQUESTS || !q->blocks)
		snprintf(buf, TY_NAME_MAX, "only %" PRIu64 " request%s: shares are unreliable, record for longer",
			 q->n, q->n == 1 ? "" : "s");
	else if (!q->valid)
		snprintf(buf, TY_NAME_MAX, "all requests took the same time: there is no variance to share out");
	else if (r->counts.overlap + r->counts.negative)
		snprintf(buf, TY_NAME_MAX, "%" PRIu64 " waits overlap another wait of their request: please report this",
			 r->counts.overlap + r->counts.negative);
	else if (dropped > MANY_DROPPED)
		snprintf(buf, TY_NAME_MAX, "%s of the program's records were dropped, the recorder was too slow: requests are "
			 "missing or count as longer ones, and lost waits are in running", ty_fmt_percent(part, dropped));
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
	case TY_RULE_TRANSACTION:
		return "transaction: on accepted connections, the requests of a session between two moments in which the\n"
		       "protocol says that it is idle.  The client's time between them is cut out.";
	case TY_RULE_MARKER:
		return "marker: from tarry_request_begin to tarry_request_end";
	case TY_RULE_SITE:
		snprintf(buf, TY_NAME_MAX, "site:%.300s: of one thread, from one return of that wait to the next",
			 r->rule_text);
		return buf;
	default:
		if (r->opt.requests && !strcmp(r->opt.requests, "none"))
			return "none: as asked for.  These are all waits.";
		if (!r->found_none)
			return "none: as the configuration of the recording says.  These are all waits; --requests auto looks\n"
			       "for requests.";
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

size_t ty_ranked_inside(const struct run *r)
{
	size_t n = 0;
	while (n < r->nrank && (r->rule == TY_RULE_NONE || r->sites.v[r->rank[n]].waits))
		n++;
	return n;
}

static void show_header(const struct run *r)
{
	char a[TY_FMT], b[TY_FMT], fit[512];
	size_t roots = 0;
	uint64_t last = ty_run_end(r) - r->start;
	ty_output_title("report", r->opt.store, ty_store_recording(r->store));
	ty_orders_show(r);
	printf("  %s", ty_fmt_ns(a, (double)last));
	printf(", %zu process%s, %zu thread%s, %s event%s\n", r->t.nprocesses, r->t.nprocesses == 1 ? "" : "es",
	       r->t.nthreads, ty_fmt_s(r->t.nthreads), ty_fmt_count(b, r->counts.events), ty_fmt_s(r->counts.events));
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

static const char *class_name(const struct run *r, uint32_t label)
{
	const char *text = label == TY_NONE ? "(no class)" : ty_store_label(r->store, label);
	return *text ? text : "(no name)";
}

static void show_classes(const struct run *r)
{
	const struct ty_result *q = &r->res;
	char a[TY_FMT], b[TY_FMT], fit[4 * 32 + 1];
	if (!q->ncls || (q->ncls == 1 && !*ty_store_label(r->store, q->cls[0].label)))
		return;
	printf("\n%-32s%10s%10s%10s%10s%10s\n", "class", "requests", "mean", "sd", "p99", "of time");
	for (size_t i = 0; i < q->ncls && i < TOP; i++) {
		const struct ty_class_stat *k = &q->cls[i];
		printf("%-32s%10s", ty_fmt_fit(fit, sizeof fit, class_name(r, k->label), 31), ty_fmt_count(a, k->count));
		printf("%10s", ty_fmt_ns(a, k->mean));
		printf("%10s", ty_fmt_ns(a, sqrt(k->var)));
		printf("%10s", ty_fmt_ns(a, (double)k->p99));
		printf("%10s\n", ty_fmt_percent(a, k->time));
	}
	if (q->ncls > TOP)
		printf("and %zu more (--json has all)\n", q->ncls - TOP);
	if (q->var > 0)
		printf("of the variance %s is between classes, %s within them\n", ty_fmt_percent(a, q->var_between / q->var),
		       ty_fmt_percent(b, q->var_within / q->var));
}

static void show_requests(const struct run *r)
{
	const struct ty_result *q = &r->res;
	const struct { const char *name; double ns; } col[] = {
		{ "mean", q->mean }, { "sd", sqrt(q->var) }, { "p50", (double)q->p50 }, { "p95", (double)q->p95 },
		{ "p99", (double)q->p99 }, { "p99.9", (double)q->p999 }, { "max", (double)q->max }, { "L2 norm", q->l2 },
	};
	char a[TY_FMT], words[TY_NAME_MAX];
	ty_output_heading("Requests");
	printf("rule %s\n", ty_rule_words(r, words));
	if (r->rule == TY_RULE_NONE)
		return;
	if (r->where)
		printf("only those where %s; %s other%s left out\n", r->where->text, ty_fmt_count(a, r->counts.left_out),
		       r->counts.left_out == 1 ? " is" : "s are");
	printf("%s request%s", ty_fmt_count(a, q->n), ty_fmt_s(q->n));
	printf(", %s unfinished\n", ty_fmt_count(a, r->counts.unfinished));
	if (!q->n) {
		printf("none was finished, so there are no shares; --requests none ranks the waits themselves\n");
		return;
	}
	if (r->rule == TY_RULE_TRANSACTION) {
		printf("%.2f statements each; between them", (double)r->counts.statements / (double)q->n);
		printf(" %s each", ty_fmt_ns(a, (double)r->counts.think_ns / (double)q->n));
		printf(", %s in all, cut out\n", ty_fmt_ns(a, (double)r->counts.think_ns));
	}
	for (size_t i = 0; i < sizeof col / sizeof *col; i++)
		printf("%10s", col[i].name);
	putchar('\n');
	for (size_t i = 0; i < sizeof col / sizeof *col; i++)
		printf("%10s", ty_fmt_ns(a, col[i].ns));
	printf("   variance %.4g ms^2\n", q->var / 1e12);
	show_classes(r);
	const char *doubt = ty_shares_doubt(r, words);
	if (doubt)
		printf("%s\n", doubt);
}

static void show_share(const struct run *r, const struct ty_share *h)
{
	char a[TY_FMT];
	bool some = r->res.valid; /* else nothing divided by nothing */
	printf("%8s", some ? ty_fmt_percent(a, h->share) : "-");
	printf("%7s", some && r->res.blocks ? ty_fmt_percent(a, h->se) : "-");
	printf("%8s", some ? ty_fmt_percent(a, h->tail) : "-");
}

/* The columns that a site has in both tables. */
static void show_waits(const struct run *r, uint32_t i, size_t listed, bool requests)
{
	const struct ty_site *s = &r->sites.v[i];
	struct ty_apart apart;
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
	if (ty_site_apart(r, i, r->rank, listed, &apart))
		printf("%s", ty_fmt_fit(fit, sizeof fit, apart.words, 43));
	const char *o = ty_site_object_name(r, i, name);
	if (o && r->sites.by != TY_BY_OPERATION && r->sites.by != TY_BY_FUNCTION)
		printf("  on %s", ty_fmt_fit(fit, sizeof fit, o, 48));
	putchar('\n');
}

/* Of the time held up: the waits of the thread that worked on another request. */
static void show_behind(const struct run *r)
{
	uint32_t most[BEHIND] = { 0 };
	const struct ty_share *held = &r->res.site[TY_SITE_HELD];
	struct ty_share rest = *held;
	char a[TY_FMT], name[TY_NAME_MAX], object[TY_NAME_MAX], fit[512], on[512];
	bool by_object = r->sites.by == TY_BY_OBJECT;
	size_t n = ty_behind_rank(r, most, BEHIND);
	for (size_t i = 0; i < n; i++) {
		const struct ty_share *h = &r->behind.site[most[i]];
		const char *f = ty_site_function(r, most[i], name);
		const char *o = by_object ? ty_site_object_name(r, most[i], object) : NULL;
		rest.share -= h->share;
		rest.tail -= h->tail;
		rest.mean -= h->mean;
		printf("%4s", "");
		show_share(r, h);
		printf("    behind its %s%s%s%s%s; %s a request\n", ty_site_operation(r, most[i]), *f ? "  " : "",
		       ty_fmt_fit(fit, sizeof fit, f, 60), o ? "  on " : "", o ? ty_fmt_fit(on, sizeof on, o, 48) : "",
		       ty_fmt_ns(a, h->mean));
	}
	if (!n)
		return;
	printf("%4s%8s", "", ty_fmt_percent(a, rest.share));
	printf("%7s%8s", "", ty_fmt_percent(a, rest.tail));
	printf("    while it ran, made short calls, or waited elsewhere; %s a request\n", ty_fmt_ns(a, rest.mean));
}

/* Two commands call two things a share; each says so. */
static void show_what_a_share_is(void)
{
	static const char *const lines[] = {
		"+-: standard error of the share.  tail: the same share in what the slowest requests take more than the mean.",
		"share: covariance of the time there with latency, over the variance of latency.  tarry tree's is the variance",
		"of the time there alone, with pairs in lines of their own: they differ where waits depend on each other.",
	};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		printf("%6s%s\n", "", lines[i]);
}

/* What waited only outside of requests has no part in their latency, and no row. */
static void show_outside(const struct run *r, size_t inside)
{
	size_t n = r->nrank - inside;
	uint64_t waits = 0, ns = 0;
	char a[TY_FMT], b[TY_FMT];
	for (size_t i = inside; i < r->nrank; i++) {
		waits += r->sites.v[r->rank[i]].waits_all;
		ns += r->sites.v[r->rank[i]].total_all;
	}
	if (!n)
		return;
	printf("%4s  not listed: %zu site%s outside of requests, with %s wait%s, %s (--requests none ranks those, too)\n", "", n,
	       ty_fmt_s(n), ty_fmt_count(a, waits), ty_fmt_s(waits), ty_fmt_ns(b, (double)ns));
}

static void show_table(const struct run *r, size_t n)
{
	bool requests = r->rule != TY_RULE_NONE;
	char a[TY_FMT], tail[TY_FMT];
	snprintf(tail, sizeof tail, "tail%g", r->opt.tail * 100);
	ty_output_heading(requests ? "Wait sites by their share of the latency variance" : "Wait sites by time waited");
	printf("%4s", "");
	if (requests)
		printf("%8s%7s%8s", "share", "+-", tail);
	printf("%12s", "waits");
	if (requests)
		printf("%8s", "/req");
	printf("%9s%9s%9s%9s%9s  %s\n", "total", "mean", "sd", "p99", "max", "where");
	double rest = 0;
	size_t inside = ty_ranked_inside(r);
	for (size_t i = 0; i < inside; i++) {
		if (i >= n) {
			rest += r->res.site[r->rank[i]].share;
			continue;
		}
		printf("%4zu", i + 1);
		if (requests)
			show_share(r, &r->res.site[r->rank[i]]);
		show_waits(r, r->rank[i], n, requests);
	}
	if (inside > n) {
		printf("%4s", "");
		if (requests)
			printf("%8s", ty_fmt_percent(a, rest));
		printf("  in %zu more site%s (--top)\n", inside - n, ty_fmt_s(inside - n));
	}
	if (!requests)
		return;
	show_outside(r, inside);
	printf("%4s", "");
	show_share(r, &r->res.running);
	printf("  running: on a CPU, waiting for one, or waiting where it cannot be seen; %s a request\n",
	       ty_fmt_ns(a, r->res.running.mean));
	if (r->sites.v[TY_SITE_HELD].waits) {
		printf("%4s", "");
		show_share(r, &r->res.site[TY_SITE_HELD]);
		printf("  held up: open while its thread worked on another request; %s a request\n",
		       ty_fmt_ns(a, r->res.site[TY_SITE_HELD].mean));
		show_behind(r);
	}
	if (r->res.valid)
		show_what_a_share_is();
}

int ty_report_text(struct run *r, char *err)
{
	size_t n = ty_listed(r, TOP);
	size_t inside = ty_ranked_inside(r);
	n = n < inside ? n : inside;
	show_header(r);
	show_requests(r);
	show_table(r, n);
	if (r->sites.by == TY_BY_SITE && n) {
		ty_output_heading("Call paths, from the wait outwards");
		ty_text_paths(r, stdout);
	}
	ty_output_heading("Not seen, or lost");
	ty_text_losses(r, stdout);
	return ty_output_end(0, err);
}
