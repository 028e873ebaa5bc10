/* SPDX-License-Identifier: MIT
 *
 * The variance tree for people.  Runs in readers.  Must stay true: what is
 * listed under a node, with the line that sums up the rest, adds up to it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/output.h"
#include "analyze/fmt.h"
#include "analyze/orders.h"
#include "analyze/report.h"
#include "analyze/tree.h"

#define WIDTH 132

struct line { double share; uint32_t a, b; }; /* nodes; b TY_NONE: a node, else a pair */

struct printer {
	const struct ty_tree *t;
	const struct run *r;
	const struct ty_tree_show *show;
	/* pairs that are listed, by the acc of their parent */
	struct line *pair;
	size_t n, cap;
	int error;
};

static int take_pair(void *arg, uint32_t a, uint32_t b, double share)
{
	struct printer *p = arg;
	if (fabs(share) < p->show->least)
		return 0;
	if (TY_RESERVE(p->pair, p->cap, p->n + 1, (size_t)64))
		return -ENOMEM;
	p->pair[p->n++] = (struct line){ share, p->t->top[a], p->t->top[b] };
	return 0;
}

static int by_size(const void *a, const void *b)
{
	const struct line *p = a, *q = b;
	double x = fabs(p->share), y = fabs(q->share);
	return x != y ? (x > y ? -1 : 1) : p->a < q->a ? -1 : p->a > q->a;
}

/* The child that is nearly all of the node: the others, and all pairs, are too small to be listed. */
static uint32_t nearly_all(const struct printer *p, uint32_t node)
{
	const struct ty_tree *t = p->t;
	uint32_t found = 0;
	if (t->v[node].kids == 1)
		return t->v[node].child;
	for (uint32_t c = t->v[node].child; c; c = t->v[c].next) {
		if (t->v[c].share >= p->show->least && found)
			return 0;
		found = t->v[c].share >= p->show->least ? c : found;
	}
	for (size_t i = 0; found && i < p->n; i++)
		if (t->v[p->pair[i].a].parent == node)
			return 0;
	return found && fabs(t->v[node].share - t->v[found].share) < p->show->least / 2 ? found : 0;
}

/* A node and those below it that are nearly the same number: "handle > lock_row > pthread_cond_wait". */
static uint32_t print_chain(const struct printer *p, uint32_t node, unsigned indent)
{
	const struct ty_tree *t = p->t;
	char text[4096], fit[1024], object[512];
	size_t at = 0;
	unsigned room = indent < 60 ? WIDTH - 28 - indent : 44;
	for (uint32_t next;; node = next) {
		int k = snprintf(text + at, sizeof text - at, "%s%s", at ? " > " : "", t->name[t->v[node].name]);
		at += k > 0 && at + (size_t)k < sizeof text ? (size_t)k : 0;
		if (!(next = nearly_all(p, node)))
			break;
	}
	const struct ty_node *n = &t->v[node];
	const char *o = n->kind == TY_NODE_WAIT && n->sites == 1 ? ty_site_target(p->r, n->site, object) : NULL;
	if (o)
		snprintf(text + at, sizeof text - at, "  on %s", o);
	if (n->kind == TY_NODE_RUNNING)
		snprintf(text + at, sizeof text - at, ": on a CPU, waiting for one, or waiting where it cannot be seen");
	if (n->kind == TY_NODE_HELD)
		snprintf(text + at, sizeof text - at, ": open while its thread worked on another request");
	printf("%s\n", ty_fmt_fit(fit, sizeof fit, text, room));
	return node;
}

static void numbers(const struct ty_node *n, double share, double se)
{
	char a[TY_FMT];
	printf("%8s", ty_fmt_percent(a, share));
	printf("%8s", isfinite(se) ? ty_fmt_percent(a, se) : "");
	printf("%10s  ", n ? ty_fmt_ns(a, n->mean) : "");
}

static void print_pair(const struct printer *p, const struct line *l, unsigned indent)
{
	char a[256], b[256];
	unsigned room = indent < 60 ? (WIDTH - 28 - indent - 12) / 2 : 20;
	numbers(NULL, l->share, ty_tree_pair_error(p->t, p->t->v[l->a].acc, p->t->v[l->b].acc));
	printf("%*s%s  %s  %s\n", (int)indent, "", ty_fmt_fit(a, sizeof a, p->t->name[p->t->v[l->a].name], room > 60 ? 60 : room),
	       l->share < 0 ? "against" : "with", ty_fmt_fit(b, sizeof b, p->t->name[p->t->v[l->b].name], room > 60 ? 60 : room));
}

static void print_under(struct printer *p, uint32_t node, unsigned level);

static void print_lines(struct printer *p, uint32_t node, struct line *v, size_t n, size_t left_out, unsigned level)
{
	double rest = p->t->v[node].share;
	qsort(v, n, sizeof *v, by_size);
	for (size_t i = 0; i < n; i++) {
		rest -= v[i].share;
		if (v[i].b != TY_NONE) {
			print_pair(p, &v[i], level * 2);
			continue;
		}
		numbers(&p->t->v[v[i].a], v[i].share, p->t->v[v[i].a].se);
		printf("%*s", (int)(level * 2), "");
		uint32_t last = print_chain(p, v[i].a, level * 2);
		if (!p->show->depth || level < p->show->depth)
			print_under(p, last, level + 1);
	}
	if (!left_out || fabs(rest) < 0.0005)
		return;
	numbers(NULL, rest, NAN);
	printf("%*s[%zu more, and pairs]\n", (int)(level * 2), "", left_out);
}

static void print_under(struct printer *p, uint32_t node, unsigned level)
{
	const struct ty_tree *t = p->t;
	struct line *v = NULL;
	size_t n = 0, cap = 0, left_out = 0;
	if (!t->v[node].kids)
		return;
	for (uint32_t c = t->v[node].child; c && !p->error; c = t->v[c].next) {
		if (t->v[c].share < p->show->least) {
			left_out += t->v[c].mean > 0;
			continue;
		}
		if (TY_RESERVE(v, cap, n + 1, (size_t)16))
			p->error = -ENOMEM;
		else
			v[n++] = (struct line){ t->v[c].share, c, TY_NONE };
	}
	for (size_t i = 0; i < p->n && !p->error; i++) {
		if (t->v[p->pair[i].a].parent != node)
			continue;
		if (TY_RESERVE(v, cap, n + 1, (size_t)16))
			p->error = -ENOMEM;
		else
			v[n++] = p->pair[i];
	}
	if (!p->error)
		print_lines(p, node, v, n, left_out, level);
	free(v);
}

/* An interpreter folds a dozen frames: as many lines as they need, broken between two. */
static void print_folded(const char *frames)
{
	size_t column = (size_t)printf("folded away, since all paths begin with it:");
	while (*frames) {
		const char *end = strstr(frames, " > ");
		size_t n = end ? (size_t)(end - frames) + 2 : strlen(frames);
		if (column + 1 + n > WIDTH)
			column = (size_t)printf("\n   ") - 1;
		char frame[TY_NAME_MAX + 4];
		snprintf(frame, sizeof frame, " %.*s", (int)n, frames);
		ty_fmt_put(stdout, frame);
		column += 1 + n;
		frames += n + (end != NULL);
	}
	putchar('\n');
}

static void print_header(const struct ty_tree *t, const struct run *r)
{
	char a[TY_FMT], b[TY_FMT], words[TY_NAME_MAX];
	ty_output_title("tree", r->opt.store, r->store && ty_store_recording(r->store));
	ty_orders_show(r);
	printf("%s request%s", ty_fmt_count(a, t->n_requests), ty_fmt_s(t->n_requests));
	if (r->where)
		printf(" where %s (%s other%s)", r->where->text, ty_fmt_count(b, r->counts.left_out),
		       ty_fmt_s(r->counts.left_out));
	printf(", rule %s\n", ty_rule_name(r->rule));
	if (t->root) {
		printf("only time waited under ");
		ty_fmt_put(stdout, t->root);
		printf(": %s a request, sd %s, %s of the variance of latency\n", ty_fmt_ns(a, t->mean),
		       ty_fmt_ns(b, sqrt(t->var)), ty_fmt_percent(words, t->latency_share));
	} else {
		printf("latency %s, sd %s\n", ty_fmt_ns(a, t->mean), ty_fmt_ns(b, sqrt(t->var)));
	}
	if (t->folded)
		print_folded(t->folded);
}

static void print_factors(const struct ty_tree *t, const struct ty_factors *f, const struct run *r)
{
	char a[TY_FMT], b[1024], c[2048];
	ty_output_heading("Factors: what holds much variance and is near to the wait");
	if (!f->n)
		printf("none holds enough of the variance (-d)\n");
	for (size_t i = 0; i < f->n; i++) {
		const struct ty_factor *x = &f->v[i];
		printf("%4zu %7s", i + 1, ty_fmt_percent(a, x->share));
		printf("%8s", isfinite(x->se) ? ty_fmt_percent(a, x->se) : "");
		printf("  %s\n", ty_fmt_fit(b, sizeof b, ty_factor_sentence(t, x, r, c, sizeof c), WIDTH - 22));
		size_t shown = 0;
		for (; shown < x->places && x->places > 1 && shown < TY_PLACES; shown++) {
			if (x->place[shown].share < TY_PLACE_LEAST)
				break;
			printf("%22s%8s", "", ty_fmt_percent(a, x->place[shown].share));
			printf("  in %s\n", ty_fmt_fit(b, sizeof b, ty_factor_place(t, x, shown, c, sizeof c), WIDTH - 36));
		}
		if (x->places > 1 && shown < x->places)
			printf("%32sin %zu more place%s\n", "", x->places - shown, x->places - shown == 1 ? "" : "s");
	}
}

int ty_tree_text(const struct ty_tree *t, const struct ty_factors *f, const struct run *r,
		 const struct ty_tree_show *show, char *err)
{
	struct printer p = { .t = t, .r = r, .show = show };
	char words[TY_NAME_MAX];
	print_header(t, r);
	const char *doubt = ty_shares_doubt(r, words);
	if (doubt)
		printf("%s\n", doubt);
	p.error = ty_tree_each_pair(t, take_pair, &p);
	if (!p.error && t->var > 0) {
		print_factors(t, f, r);
		ty_output_heading("Variance tree: each line's variance, or twice the covariance of two, as a share of the first "
				  "line's");
		printf("%8s%8s%10s  %s\n", "share", "+-", "mean", "where");
		numbers(&t->v[0], 1, NAN);
		ty_fmt_put(stdout, t->name[t->v[0].name]);
		putchar('\n');
		print_under(&p, 0, 1);
		printf("share: variance of the time there over that of the first line; what two vary together stands in lines of\n"
		       "its own.  tarry report's share is a covariance with latency, with half of that in it: they differ where\n"
		       "waits depend on each other.\n");
		printf("checked: %llu function%s the sum of %s parts (difference at most %.1g of the variance)\n",
		       (unsigned long long)t->checked, t->checked == 1 ? " is" : "s are", t->checked == 1 ? "its" : "their",
		       t->residual);
	}
	free(p.pair);
	if (p.error)
		return ty_err(err, p.error, "out of memory");
	return ty_output_end(0, err);
}
