/* SPDX-License-Identifier: MIT
 *
 * `tarry blame` for people.  Runs in readers.  Must stay true: every value has
 * a unit, every line fits 132 columns, what is not known is shown with its size. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "analyze/output.h"
#include "analyze/blame.h"
#include "analyze/fmt.h"
#include "analyze/orders.h"
#include "analyze/report.h"

#define TOP 10
#define WIDTH 132

static size_t listed(const struct run *r, size_t n)
{
	size_t top = r->opt.top ? r->opt.top : TOP;
	return n < top ? n : top;
}

static bool with_requests(const struct ty_blame *b)
{
	return b->r->rule != TY_RULE_NONE && b->pairs.valid;
}

/*
 * "pthread_mutex_lock  function < caller", cut to a width; the caller, or the place, where the function alone is not one site, and
 * where there is room for some of it.
 */
static const char *site_words(const struct ty_blame *b, uint32_t site, unsigned width, char *fit, size_t size)
{
	const struct run *r = b->r;
	char name[TY_NAME_MAX], all[2 * TY_NAME_MAX + 128], end[256];
	struct ty_apart apart;
	bool more = ty_site_apart(r, site, b->shown, b->nshown, &apart);
	int n = r->sites.by == TY_BY_FUNCTION ?
		snprintf(all, sizeof all, "%s", ty_site_function(r, site, name)) :
		snprintf(all, sizeof all, "%s  %s", ty_site_operation(r, site), ty_site_function(r, site, name));
	int room = (int)width - n;
	if (more && (room >= 15 || room >= (int)strlen(apart.words)))
		snprintf(all + n, sizeof all - (size_t)n, "%s", ty_fmt_fit(end, sizeof end, apart.words, (unsigned)room));
	return ty_fmt_fit(fit, size, all, width);
}

static void will_show(struct ty_blame *b, uint32_t site)
{
	for (size_t i = 0; i < b->nshown; i++)
		if (b->shown[i] == site)
			return;
	if (site != TY_NONE && b->nshown < sizeof b->shown / sizeof *b->shown)
		b->shown[b->nshown++] = site;
}

static void find_shown(struct ty_blame *b)
{
	const struct ty_link *v = b->links.v;
	b->nshown = 0;
	for (size_t i = 0; i < listed(b->r, b->npairs); i++) {
		will_show(b, v[b->rank_pairs[i]].waiter);
		will_show(b, v[b->rank_pairs[i]].holder);
	}
	for (size_t i = 0; i < listed(b->r, b->nroots); i++)
		will_show(b, v[b->rank_roots[i]].waiter);
	for (size_t i = 0; i < listed(b->r, b->nchains); i++)
		for (uint32_t k = b->rank_chains[i]; TY_NEXT_REAL(k); k = v[k].next) {
			will_show(b, v[k].waiter);
			will_show(b, v[k].holder);
		}
}

/* ---- by class ---- */

static void class_row(const char *name, const struct ty_blame_class *c)
{
	char a[TY_FMT], t[TY_FMT], p[6][TY_FMT];
	uint64_t sum = 0, part[6] = { 0 };
	for (unsigned k = 0; k < TY_K_KINDS; k++) {
		unsigned to = k == TY_K_WOKEN    ? 1 :
			      ty_kind_named(k)   ? 0 :
			      ty_kind_kernel(k)  ? 2 :
			      ty_kind_unknown(k) ? 5 :
			      k == TY_K_TIMER    ? 3 :
						   4;
		sum += c->ns[k];
		part[to] += c->ns[k];
	}
	if (!sum)
		return;
	printf("  %-8s %11s %10s", name, ty_fmt_count(a, c->waits), ty_fmt_ns(t, (double)sum));
	for (unsigned i = 0; i < 6; i++)
		printf(" %9s", ty_fmt_percent(p[i], (double)part[i] / (double)sum));
	putchar('\n');
}

static void show_classes(const struct ty_blame *b)
{
	static const char *const names[TY_CLASS_COUNT] = {
#define TY_CLASS(id, name, what) [TY_CLASS_##id] = name,
#include "tarry/wrap.def"
	};
	ty_output_heading(b->r->where ? "Who ended the waits of these requests, by kind of wait" :
					"Who ended the waits, by kind of wait");
	printf("  %-8s %11s %10s %9s %9s %9s %9s %9s %9s\n", "", "waits", "time", "a thread", "woken",
	       "kernel", "timer", "otherwise", "unknown");
	for (unsigned i = 0; i < TY_CLASS_COUNT; i++)
		class_row(names[i], &b->cls[i]);
	class_row("other", &b->cls[TY_CLASS_COUNT]);
	printf("  a thread: until it released, signalled or posted.  woken: from then until the waiter ran.\n"
	       "  unknown: nobody was seen, or who ends such waits is not recorded.\n");
}

/* ---- pairs ---- */

static void cells(const struct ty_blame *b, const struct ty_result *res, const struct ty_share *h)
{
	char a[TY_FMT], s[TY_FMT], t[TY_FMT], m[TY_FMT];
	if (!with_requests(b))
		return;
	printf("%8s %7s %8s %10s ", ty_fmt_percent(a, h->share), res->blocks ? ty_fmt_percent(s, h->se) : "-",
	       ty_fmt_percent(t, h->tail), ty_fmt_ns(m, h->mean));
}

static void share_cells(const struct ty_blame *b, const struct ty_result *res, uint32_t i)
{
	cells(b, res, &res->site[i]);
}

static void share_heads(const struct ty_blame *b)
{
	char tail[TY_FMT];
	snprintf(tail, sizeof tail, "tail%g", b->r->opt.tail * 100);
	if (with_requests(b))
		printf("%8s %7s %8s %10s ", "share", "+-", tail, "/request");
}

static void held_for(const struct ty_link *k)
{
	char a[TY_FMT], c[TY_FMT];
	if (k->kind != TY_K_HELD && k->kind != TY_K_REACQUIRE)
		return;
	if (!k->hold_n)
		printf("; held how long: not known");
	else
		printf("; held %s on average (%s of its releases known)",
		       ty_fmt_ns(a, (double)k->hold_total / (double)k->hold_n),
		       ty_fmt_percent(c, (double)k->hold_n / (double)k->ended));
}

static void show_pair(const struct ty_blame *b, size_t number, uint32_t i)
{
	const struct run *r = b->r;
	const struct ty_link *k = &b->links.v[i];
	char a[TY_FMT], c[TY_FMT], fit[512], name[TY_NAME_MAX];
	unsigned left = with_requests(b) ? 65 : 31;
	unsigned width = WIDTH - left - (unsigned)strlen(ty_kind_words(k->kind)) - 2;
	printf("%4zu ", number);
	share_cells(b, &b->pairs, i);
	printf("%10s %11s  %s\n", ty_fmt_ns(a, (double)k->total), ty_fmt_count(c, k->count),
	       site_words(b, k->waiter, WIDTH - left, fit, sizeof fit));
	printf("%*s", (int)left, "");
	if (k->holder == TY_NONE && k->kind != TY_K_OWNER) {
		const char *object = ty_kind_kernel(k->kind) ? ty_site_object_name(r, k->waiter, name) : NULL;
		printf("%s%s%s\n", ty_kind_words(k->kind), object ? ": " : "",
		       object ? ty_fmt_fit(fit, sizeof fit, object, width > 40 ? 40 : width) : "");
		return;
	}
	printf("%s%s%s\n", ty_kind_words(k->kind), k->holder != TY_NONE ? ": " : "",
	       k->holder != TY_NONE ? site_words(b, k->holder, width, fit, sizeof fit) : "");
	const struct ty_thread_info *t = k->thread < r->t.nthreads ? &r->t.threads[k->thread] : NULL;
	printf("%*smostly thread %u %s", (int)left, "", t ? t->tid : 0,
	       t ? ty_fmt_fit(fit, sizeof fit, t->name, 16) : "?");
	held_for(k);
	putchar('\n');
}

/* What is missing to 100 %: a row for each, so that nobody looks for it among the waits. */
static void show_rest(const struct ty_blame *b)
{
	const struct ty_share *held = &b->pairs.site[TY_SITE_HELD];
	if (!with_requests(b))
		return;
	printf("     ");
	cells(b, &b->pairs, &b->pairs.running);
	printf("%10s %11s  running: on a CPU, waiting for one, or where it cannot be seen\n", "", "");
	if (!(held->mean > 0))
		return;
	printf("     ");
	cells(b, &b->pairs, held);
	printf("%10s %11s  held up: the thread worked on another request\n%65s(tarry report says behind which of its waits)\n",
	       "", "", "");
}

static void show_pairs(const struct ty_blame *b)
{
	ty_output_heading("Who waited, and who made it wait");
	printf("     ");
	share_heads(b);
	printf("%10s %11s  %s\n", "time", "segments", "waiter, and below it who ended it");
	for (size_t i = 0; i < listed(b->r, b->npairs); i++)
		show_pair(b, i + 1, b->rank_pairs[i]);
	show_rest(b);
	if (b->r->where)
		printf("  time, segments: in these requests.  The thread, and how long it had held: of all waits.\n");
	else if (with_requests(b))
		printf("  time, segments: of all waits, inside requests or not.\n");
}

/* ---- roots ---- */

static void show_roots(const struct ty_blame *b)
{
	char a[TY_FMT], fit[512];
	ty_output_heading("Root causes: at the end of the chains");
	printf("     ");
	share_heads(b);
	printf("%10s  %s\n", "time", "what");
	for (size_t i = 0; i < listed(b->r, b->nroots); i++) {
		uint32_t key = b->rank_roots[i];
		const struct ty_link *k = &b->links.v[key];
		unsigned left = (with_requests(b) ? 54 : 19) + (unsigned)strlen(ty_kind_words(k->kind)) + 2;
		printf("%4zu ", i + 1);
		share_cells(b, &b->roots, key);
		printf("%10s  %s: %s\n", ty_fmt_ns(a, (double)k->total), ty_kind_words(k->kind),
		       site_words(b, k->waiter, WIDTH - left, fit, sizeof fit));
	}
	printf("  running: a thread that somebody waited for was in no recorded wait; named by where it "
	       "released.\n");
}

/* ---- chains ---- */

static const char *next_words(uint32_t next)
{
	return next == TY_NEXT_HISTORY ? "what it did then is too long ago" :
	       next == TY_NEXT_CYCLE   ? "it waited for the first one: a cycle, cut" :
	       next == TY_NEXT_DEEP    ? "cut: too deep" :
					 "it was running";
}

static void show_chain(const struct ty_blame *b, size_t number, uint32_t i)
{
	const struct ty_link *k = &b->links.v[i];
	char a[TY_FMT], fit[512];
	int left = 7;
	printf("%4zu ", number);
	share_cells(b, &b->chains, i);
	printf("%10s\n", ty_fmt_ns(a, (double)k->total));
	printf("%*s%s\n", left, "", site_words(b, k->waiter, (unsigned)(WIDTH - left), fit, sizeof fit));
	for (;;) {
		left += 2;
		const char *words = ty_kind_words(k->kind);
		unsigned width = (unsigned)(WIDTH - left) - (unsigned)strlen(words) - 2;
		printf("%*s%s%s%s\n", left, "", words, k->holder != TY_NONE ? ": " : "",
		       k->holder != TY_NONE ? site_words(b, k->holder, width, fit, sizeof fit) : "");
		if (!TY_NEXT_REAL(k->next))
			break;
		k = &b->links.v[k->next];
		left += 2;
		printf("%*swhich was in: %s\n", left, "",
		       site_words(b, k->waiter, (unsigned)(WIDTH - left) - 14, fit, sizeof fit));
	}
	if (ty_kind_named(k->kind) && k->kind != TY_K_WOKEN)
		printf("%*s%s\n", left + 2, "", next_words(k->next));
}

static void show_chains(const struct ty_blame *b)
{
	char a[TY_FMT];
	size_t n = listed(b->r, b->nchains);
	if (!n)
		return;
	ty_output_heading("Chains: waits for somebody who was waiting");
	printf("     ");
	share_heads(b);
	printf("%10s\n", "time");
	for (size_t i = 0; i < n; i++)
		show_chain(b, i + 1, b->rank_chains[i]);
	if (b->nchains > n)
		printf("  %s more\n", ty_fmt_count(a, b->nchains - n));
}

/* ---- what is known ---- */

static void show_limits(const struct ty_blame *b)
{
	const struct ty_blame_counts *c = &b->counts;
	const struct {
		uint64_t n;
		const char *what;
	} of[] = {
		{ b->order.late, "late events were put in their place" },
		{ b->order.too_late, "events came too late to be" },
		{ c->cycles, "segments: a cycle was cut" },
		{ c->deep, "segments: the chain was cut for its depth" },
		{ c->links_full,
		  "segments whose holder or chain is not told apart: too many different ones" },
		{ c->segs_full, "waits of too many parts" },
		{ c->history, "segments whose holder's waits were no longer kept" },
		{ b->wakes.evicted, "objects were dropped, unused for longest" },
	};
	char a[TY_FMT];
	ty_output_heading("Limits");
	for (size_t i = 0; i < sizeof of / sizeof *of; i++)
		if (of[i].n)
			printf("  %s %s\n", ty_fmt_count(a, of[i].n), of[i].what);
	if (c->history)
		printf("  %s of waiting is charged to holders whose waits were no longer kept\n",
		       ty_fmt_ns(a, (double)c->history_ns));
	printf("  how long a lock was held is known when its holder had to wait for it, and is then at most "
	       "that\n");
}

int ty_blame_text(struct ty_blame *b, char *err)
{
	const struct run *r = b->r;
	char a[TY_FMT], m[TY_FMT], s[TY_FMT], buf[TY_NAME_MAX];
	ty_output_title("blame", r->opt.store, r->store && ty_store_recording(r->store));
	ty_orders_show(r);
	if (r->rule == TY_RULE_NONE) {
		printf("  all waits: there are no requests (tarry report says how to get some)\n");
	} else {
		printf("  %s request%s", ty_fmt_count(a, b->pairs.n), ty_fmt_s(b->pairs.n));
		if (r->where)
			printf(" where %s (%s other%s)", r->where->text, ty_fmt_count(m, r->counts.left_out),
			       ty_fmt_s(r->counts.left_out));
		if (b->pairs.n)
			printf(", mean %s, sd %s", ty_fmt_ns(m, b->pairs.mean),
			       ty_fmt_ns(s, sqrt(b->pairs.var)));
		putchar('\n');
	}
	struct run view = *r;
	view.res = b->pairs;
	const char *doubt = ty_shares_doubt(&view, buf);
	if (doubt)
		printf("  %s\n", doubt);
	if (r->rule != TY_RULE_NONE && !b->pairs.valid)
		printf("  there are no shares, so what follows is by time, of %s\n",
		       r->where ? "the waits of these requests" : "all waits, inside requests or not");
	find_shown(b);
	show_classes(b);
	show_pairs(b);
	show_roots(b);
	show_chains(b);
	show_limits(b);
	return ty_output_end(0, err);
}
