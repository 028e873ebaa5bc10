/* SPDX-License-Identifier: MIT
 *
 * The tail for people.  Runs in readers.  Must stay true: the causes listed,
 * the line that sums up the others, and running add up to the excess. */
#include <math.h>
#include <stdio.h>

#include "analyze/output.h"
#include "analyze/fmt.h"
#include "analyze/orders.h"
#include "analyze/report.h"
#include "analyze/tail.h"

#define WIDTH 132
#define LINES 24          /* of one timeline */
#define SHORT 0.002       /* of a request's latency: waits below that are summed up */
#define WAKER_MAX 40

static void show_header(const struct ty_tail *t)
{
	const struct run *r = t->r;
	char a[TY_FMT], b[TY_FMT], c[TY_FMT], words[TY_NAME_MAX];
	ty_output_title("tail", r->opt.store, r->store && ty_store_recording(r->store));
	ty_orders_show(r);
	printf("%s request%s", ty_fmt_count(a, t->n), ty_fmt_s(t->n));
	if (r->where)
		printf(" where %s (%s other%s)", r->where->text, ty_fmt_count(b, r->counts.left_out),
		       ty_fmt_s(r->counts.left_out));
	printf(", rule %s, mean latency %s\n", ty_rule_name(r->rule), ty_fmt_ns(b, t->mean));
	printf("the slowest %s took %s or more", ty_fmt_count(a, t->n_tail), ty_fmt_ns(b, (double)t->from));
	printf(" (above %g %%): %s on average, an excess of %s over the mean\n", t->q * 100, ty_fmt_ns(a, t->mean_tail),
	       ty_fmt_ns(c, t->excess));
	const char *doubt = ty_shares_doubt(r, words);
	if (doubt)
		printf("%s\n", doubt);
	else if (t->n_tail < 20)
		printf("only %s request%s that slow: what follows is about %s and no more (-q)\n", ty_fmt_count(a, t->n_tail),
		       t->n_tail == 1 ? " is" : "s are", t->n_tail == 1 ? "it" : "them");
}

static const char *cause_words(enum ty_cause cause)
{
	static const char *const words[] = { "other site", "more waits", "longer waits" };
	return words[cause];
}

static void percent(double x, unsigned width)
{
	char a[TY_FMT];
	printf("%*s", (int)width, isfinite(x) ? ty_fmt_percent(a, x) : "-");
}

static void show_site(const struct ty_tail_site *s)
{
	char a[TY_FMT], b[TY_FMT], c[64];
	snprintf(c, sizeof c, "%.2f -> %.2f", s->n, s->n_tail);
	printf("%15s", c);
	snprintf(c, sizeof c, "%s -> %s", s->n > 0 ? ty_fmt_ns(a, s->t / s->n) : "-",
		 s->n_tail > 0 ? ty_fmt_ns(b, s->t_tail / s->n_tail) : "-");
	printf("%20s", c);
	printf(isfinite(s->r2_count) ? "%6.2f" : "     -", s->r2_count);
	printf(isfinite(s->r2_time) ? "%6.2f" : "     -", s->r2_time);
}

static void show_causes(const struct ty_tail *t, const struct ty_tail_labels *names, size_t top)
{
	double rest = 0;
	char buf[1024];
	ty_output_heading("Causes: parts of the excess of the slowest requests over the mean");
	printf("%4s%8s%8s  %-13s%15s%20s%6s%6s  %s\n", "", "part", "+-", "cause", "waits/req", "mean wait", "r2 n", "r2 t",
	       "where");
	printf("%4s%8s%8s  %-13s%15s%20s\n", "", "", "", "", "all -> slowest", "all -> slowest");
	for (size_t i = 0; i < t->causes; i++) {
		const struct ty_cause_row *c = &t->cause[i];
		if (i >= top) {
			rest += c->share;
			continue;
		}
		printf("%4zu", i + 1);
		percent(c->share, 8);
		percent(c->se, 8);
		printf("  %-13s", cause_words(c->cause));
		show_site(&t->site[c->site]);
		printf("  %s\n", ty_tail_label(names, c->site, WIDTH - 84, buf));
	}
	if (t->causes > top) {
		printf("%4s", "");
		percent(rest, 8);
		printf("%8s  in %zu more cause%s (--top)\n", "", t->causes - top, ty_fmt_s(t->causes - top));
	}
	printf("%4s", "");
	percent(t->running.share, 8);
	percent(t->running.se, 8);
	printf("  running: on a CPU, waiting for one, or waiting where it cannot be seen\n");
	printf("      part: of the excess.  other site: hardly any other request waits there.  r2 n, r2 t: squared\n"
	       "      correlation of latency with the number of waits there, and with their time, over all requests.\n");
}

static void show_repeats(const struct ty_tail *t, const struct ty_tail_labels *names, size_t top)
{
	char buf[1024];
	bool *seen = calloc(t->r->sites.n + 1, sizeof *seen);
	ty_output_heading("How often a request waits there: part of the slowest requests, and of the others");
	printf("%9s", "waits");
	for (unsigned k = 0; k < TY_REPEATS; k++)
		printf("%7s", ty_repeat_name(k));
	printf("\n");
	for (size_t i = 0; seen && i < t->causes && i < top; i++) {
		const struct ty_tail_site *s = &t->site[t->cause[i].site];
		if (seen[t->cause[i].site])
			continue;
		seen[t->cause[i].site] = true;
		for (int tail = 1; tail >= 0; tail--) {
			uint64_t n = tail ? t->n_tail : t->n - t->n_tail;
			printf("%9s", tail ? "slowest" : "others");
			for (unsigned k = 0; k < TY_REPEATS; k++)
				if (s->repeat[tail][k] && n)
					percent((double)s->repeat[tail][k] / (double)n, 7);
				else
					printf("%7s", ".");
			if (tail)
				printf("  %s", ty_tail_label(names, t->cause[i].site, WIDTH - 75, buf));
			printf("\n");
		}
	}
	free(seen);
}

/* ---- timelines ---- */

static const char *waker_words(const struct run *r, const struct ty_slow_wait *w, char buf[1024])
{
	char f[TY_NAME_MAX], fit[256], thread[4 * 20 + 1];
	const char *function;
	buf[0] = 0;
	if (w->waker >= r->t.nthreads)
		return buf;
	function = w->waker_path < r->t.npaths ? ty_path_function(r, w->waker_path, f) : "";
	snprintf(buf, 1024, "woken by %s %u%s%s", ty_fmt_fit(thread, sizeof thread, r->t.threads[w->waker].name, 20),
		 r->t.threads[w->waker].tid, *function ? " in " : "", ty_fmt_fit(fit, sizeof fit, function, WAKER_MAX));
	return buf;
}

static void show_line(double offset, double ns, const char *what)
{
	char a[TY_FMT];
	printf("    %10s", ty_fmt_ns(a, offset));
	printf("%10s  %s\n", ty_fmt_ns(a, ns), what);
}

static int longest_first(const void *a, const void *b)
{
	const uint64_t *p = a, *q = b;
	return *p != *q ? (*p > *q ? -1 : 1) : 0;
}

/* The shortest duration that is shown one by one. */
static uint64_t show_from(const struct ty_slow *s)
{
	uint64_t least = (uint64_t)((double)s->latency * SHORT);
	uint64_t *ns = calloc(s->waits + 1, sizeof *ns);
	for (size_t i = 0; ns && i < s->waits; i++)
		ns[i] = s->wait[i].part.end - s->wait[i].part.begin;
	if (ns && s->waits > LINES) {
		qsort(ns, s->waits, sizeof *ns, longest_first);
		least = ns[LINES] + 1 > least ? ns[LINES] + 1 : least;
	}
	free(ns);
	return least;
}

static void show_timeline(const struct ty_tail *t, const struct ty_tail_labels *names, const struct ty_slow *s)
{
	const struct run *r = t->r;
	uint64_t at = s->begin, least = show_from(s), n = s->summed, ns = s->summed_ns;
	uint64_t run = s->latency - s->summed_ns, gap = 0;
	const char *otherwise = s->latency < s->end - s->begin ? "running, or between statements" : "running";
	char buf[1024], waker[1024], line[2300];
	for (size_t i = 0; i < s->waits; i++) {
		const struct ty_part *p = &s->wait[i].part;
		uint64_t d = p->end - p->begin;
		run -= d;
		gap += p->begin > at ? p->begin - at : 0;
		at = p->end;
		if (d < least) {
			n++;
			ns += d;
			continue;
		}
		if ((double)gap >= (double)s->latency * 0.05)
			show_line((double)(p->begin - gap - s->begin), (double)gap, otherwise);
		gap = 0;
		const char *who = waker_words(r, &s->wait[i], waker);
		unsigned room = *who ? WIDTH - 26 - 2 - (unsigned)strlen(who) : WIDTH - 26;
		snprintf(line, sizeof line, "%s%s%s", ty_tail_label(names, p->site, room, buf), *who ? "  " : "", who);
		show_line((double)(p->begin - s->begin), (double)d, line);
	}
	char a[TY_FMT], b[TY_FMT];
	if (n)
		printf("    %10s%10s  in %s shorter wait%s\n", "", ty_fmt_ns(a, (double)ns), ty_fmt_count(b, n), ty_fmt_s(n));
	printf("    %10s%10s  running in all\n", "", ty_fmt_ns(a, (double)run));
}

static void show_slowest(const struct ty_tail *t, const struct ty_tail_labels *names)
{
	const struct run *r = t->r;
	char a[TY_FMT], b[TY_FMT], fit[512];
	ty_output_heading("The slowest requests");
	for (size_t i = 0; i < t->nslow; i++) {
		const struct ty_slow *s = &t->slow[i];
		const struct ty_thread_info *th = &r->t.threads[s->thread];
		const char *label = r->store && s->cls != TY_NONE ? ty_store_label(r->store, s->cls) : "";
		printf("%s%s  at %s after the start, thread %u", i ? "\n" : "", ty_fmt_ns(a, (double)s->latency),
		       ty_fmt_ns(b, s->begin > r->start ? (double)(s->begin - r->start) : 0), th->tid);
		printf(" (%s)", ty_fmt_fit(fit, sizeof fit, th->name, 32));
		printf("%s%s\n", *label ? ", class " : "", ty_fmt_fit(fit, sizeof fit, label, 64));
		printf("    %10s%10s  %s\n", "offset", "duration", "where");
		show_timeline(t, names, s);
	}
}

int ty_tail_text(const struct ty_tail *t, size_t top, char *err)
{
	struct ty_tail_labels *names;
	if (ty_tail_labels_make(&names, t, top))
		return ty_err(err, -ENOMEM, "out of memory");
	show_header(t);
	if (t->valid) {
		show_causes(t, names, top);
		show_repeats(t, names, top);
	} else {
		printf("these requests are no slower than the mean: there is no tail\n");
	}
	show_slowest(t, names);
	ty_tail_labels_free(names);
	return ty_output_end(0, err);
}
