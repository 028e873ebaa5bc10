/* SPDX-License-Identifier: MIT
 *
 * Looks up what an expression of --where names in one recording, and asks it
 * about requests while they are cut.  Runs in readers.  Must stay true: a name
 * that is not in the recording is an error and not an empty report; the answer
 * for a site or a class is worked out once. */
#include <stdio.h>

#include "analyze/cut.h"
#include "analyze/names.h"
#include "analyze/where.h"

static int not_there(const struct ty_where_node *n, const char *what, const struct ty_near *near, char *err)
{
	char where[32];
	snprintf(where, sizeof where, "--where, column %u", n->column);
	return ty_not_there(where, what, near, err);
}

static int bind_site(struct ty_where_node *n, const struct run *r, char *err)
{
	bool any = false;
	n->path = calloc(r->t.npaths + 1, sizeof *n->path);
	n->op = calloc(r->t.nops + 1, sizeof *n->op);
	if (!n->path || !n->op)
		return ty_err(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < r->t.npaths; i++)
		any |= n->path[i] = ty_path_contains(r, i, n->text);
	for (size_t i = 0; i < r->t.nops; i++)
		any |= n->op[i] = strstr(r->t.ops[i].name, n->text) != NULL;
	if (any)
		return 0;
	struct ty_near near = { .text = n->text };
	ty_near_functions(&near, r, true);
	return not_there(n, "no call path and no operation has", &near, err);
}

static bool class_is(const struct ty_where_node *n, const char *label)
{
	return n->kind == TY_WHERE_CLASS ? !strcmp(label, n->text) : strstr(label, n->text) != NULL;
}

static int bind_class(const struct ty_where_node *n, const struct run *r, char *err)
{
	struct ty_near near = { .text = n->text };
	if (!*n->text) /* those without one */
		return 0;
	for (uint32_t i = 0, gap = 0; r->store && gap < 64; i++) { /* numbers of labels are dense */
		const char *label = ty_store_label(r->store, i);
		gap = *label ? 0 : gap + 1;
		if (*label && class_is(n, label))
			return 0;
		ty_near_add(&near, label);
	}
	if (!near.n)
		return ty_err(err, -EINVAL, "--where, column %u: no request of this recording has a class", n->column);
	return not_there(n, "no class", &near, err);
}

/* Numbers are near when they are alike as text: a slip of the finger. */
static int bind_number(const struct ty_where_node *n, const struct run *r, char *err)
{
	bool thread = n->kind == TY_WHERE_THREAD;
	char asked[24], have[24];
	struct ty_near near = { .text = asked };
	snprintf(asked, sizeof asked, "%llu", (unsigned long long)n->lo);
	for (size_t i = 0; i < (thread ? r->t.nthreads : r->t.nprocesses); i++) {
		uint32_t id = thread ? r->t.threads[i].tid : r->t.processes[i].pid;
		if (id == n->lo)
			return 0;
		snprintf(have, sizeof have, "%u", id);
		ty_near_add(&near, have);
	}
	return not_there(n, thread ? "no thread" : "no process", &near, err);
}

static int bind_time(struct ty_where_node *n, const struct run *r, char *err)
{
	if (ty_time_parse(n->text, r->start, &n->lo) || ty_time_parse(n->text2, r->start, &n->hi))
		return ty_err(err, -EINVAL, "--where, column %u: not a window", n->column);
	return n->lo <= n->hi ? 0 : ty_err(err, -EINVAL, "--where, column %u: the window ends before it begins", n->column);
}

int ty_where_bind(struct ty_where *w, const struct run *r, char *err)
{
	int e = 0;
	for (size_t i = 0; !e && i < w->n; i++) {
		struct ty_where_node *n = &w->v[i];
		switch (n->kind) {
		case TY_WHERE_SITE:
			if (r->opt.by != TY_BY_SITE) /* other keys mix waits with the text and waits without it */
				return ty_err(err, -EINVAL, "--where, column %u: site: goes only with --by site", n->column);
			e = bind_site(n, r, err);
			break;
		case TY_WHERE_CLASS:
		case TY_WHERE_CLASS_HAS: e = bind_class(n, r, err); break;
		case TY_WHERE_THREAD:
		case TY_WHERE_PROCESS: e = bind_number(n, r, err); break;
		case TY_WHERE_TIME: e = bind_time(n, r, err); break;
		default: break;
		}
	}
	return e;
}

int ty_where_open(struct run *r, char *err)
{
	int e = ty_where_parse(&r->where, r->opt.where, err);
	if (!e && r->rule == TY_RULE_NONE)
		e = ty_err(err, -EINVAL, "--where chooses requests, and %s",
			   r->opt.requests ? "with --requests none there are none"
					   : "the configuration of the recording says requests: none; try --requests auto");
	return e ? e : ty_where_bind(r->where, r, err);
}

/* ---- asking ---- */

static int known(struct ty_where_node *n, size_t i, int8_t **ret)
{
	if (TY_RESERVE(n->known, n->known_n, i + 1, (size_t)64))
		return -ENOMEM;
	*ret = &n->known[i];
	return 0;
}

static int site_in(struct ty_where_node *n, const struct run *r, uint32_t site)
{
	int8_t *k;
	if (site == TY_SITE_HELD)
		return 0;
	if (known(n, site, &k))
		return -ENOMEM;
	const struct ty_site *s = &r->sites.v[site];
	if (!*k) {
		bool path = ty_site_has_path(r, site) && n->path[s->path];
		*k = 1 + (path || (s->op < r->t.nops && n->op[s->op]));
	}
	return *k - 1;
}

static int touches(struct ty_where_node *n, const struct run *r, const struct ty_req *q)
{
	int in = 0;
	for (size_t i = 0; !in && i < q->firm; i++)
		in = q->part[i].end > q->part[i].begin ? site_in(n, r, q->part[i].site) : 0;
	for (size_t i = 0; !in && i < q->nfold; i++)
		in = site_in(n, r, q->fold[i].site);
	return in;
}

static int has_class(struct ty_where_node *n, const struct run *r, uint32_t label)
{
	int8_t *k;
	if (label == TY_NONE || !r->store || label > 1u << 24)
		return !*n->text;
	if (known(n, label, &k))
		return -ENOMEM;
	if (!*k)
		*k = 1 + class_is(n, ty_store_label(r->store, label));
	return *k - 1;
}

static int ask(struct ty_where *w, uint32_t at, const struct run *r, const struct ty_req *q)
{
	struct ty_where_node *n = &w->v[at];
	const struct ty_thread_info *t = &r->t.threads[q->thread];
	int a;
	switch (n->kind) {
	case TY_WHERE_OR:
		a = ask(w, n->a, r, q);
		return a ? a : ask(w, n->b, r, q);
	case TY_WHERE_AND:
		a = ask(w, n->a, r, q);
		return a <= 0 ? a : ask(w, n->b, r, q);
	case TY_WHERE_NOT:
		a = ask(w, n->a, r, q);
		return a < 0 ? a : !a;
	case TY_WHERE_SITE: return touches(n, r, q);
	case TY_WHERE_CLASS:
	case TY_WHERE_CLASS_HAS: return has_class(n, r, q->cls);
	case TY_WHERE_LATENCY: return ty_req_latency(q) >= n->lo && ty_req_latency(q) <= n->hi;
	case TY_WHERE_THREAD: return t->tid == n->lo;
	case TY_WHERE_PROCESS: return t->process < r->t.nprocesses && r->t.processes[t->process].pid == n->lo;
	case TY_WHERE_TIME: return q->begin >= n->lo && q->last <= n->hi;
	}
	return 0;
}

int ty_where_keep(struct run *r, const struct ty_req *q)
{
	int in = ask(r->where, r->where->root, r, q);
	r->counts.left_out += !in;
	return in;
}
