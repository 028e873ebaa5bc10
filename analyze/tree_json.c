/* SPDX-License-Identifier: MIT
 *
 * The variance tree for programs (docs/JSON.md).  Runs in readers. */
#include "analyze/output.h"
#include "analyze/json.h"
#include "analyze/objects.h"
#include "analyze/tree.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "analyze/report.h"

#define FORMAT 1

static const char *kind_name(unsigned kind)
{
	static const char *const names[] = { [TY_NODE_ROOT] = "root", [TY_NODE_FUNCTION] = "function",
		[TY_NODE_WAIT] = "wait", [TY_NODE_RUNNING] = "running", [TY_NODE_HELD] = "held_up",
		[TY_NODE_NO_PATH] = "path_not_taken", [TY_NODE_CUT] = "cut" };
	return names[kind];
}

static void add_share(const struct ty_tree *t, double *sum, uint32_t acc, double share)
{
	for (; acc != TY_NONE; acc = t->up[acc])
		sum[acc] += share;
}

/* The report's shares of the sites under each sum, which add up where variances do not; NULL: no memory. */
static double *report_shares(const struct ty_tree *t, const struct run *r)
{
	double *sum = calloc(t->accs + 1, sizeof *sum);
	for (size_t i = 0; sum && i < t->nleaf; i++)
		if (t->leaf[i])
			add_share(t, sum, t->leaf[i] - 1, r->res.site[i].share);
	if (sum && (t->running || !t->root))
		add_share(t, sum, t->running, r->res.running.share);
	return sum;
}

static json_t *node_json(const struct ty_tree *t, uint32_t i, const struct run *r, const double *report_share)
{
	const struct ty_node *n = &t->v[i];
	char id[17];
	json_t *o = json_object();
	json_object_set_new(o, "node", json_integer(i));
	json_object_set_new(o, "parent", i ? json_integer(n->parent) : json_null());
	json_object_set_new(o, "kind", json_string(kind_name(n->kind)));
	json_object_set_new(o, "name", ty_json_text(t->name[n->name]));
	json_object_set_new(o, "factor", ty_json_text(t->name[n->same]));
	json_object_set_new(o, "height", json_integer(n->height));
	json_object_set_new(o, "mean_ns", ty_json_real(n->mean));
	json_object_set_new(o, "share", ty_json_real(n->share));
	json_object_set_new(o, "share_se", i ? ty_json_real(n->se) : json_null());
	json_object_set_new(o, "report_share", r->res.valid ? ty_json_real(report_share[n->acc]) : json_null());
	json_object_set_new(o, "site", n->kind == TY_NODE_WAIT && n->sites == 1
						? json_string(ty_site_id(r, n->site, id)) : json_null());
	return o;
}

struct pairs { json_t *list; const struct ty_tree *t; double least; };

static int add_pair(void *arg, uint32_t a, uint32_t b, double share)
{
	struct pairs *p = arg;
	if (fabs(share) < p->least)
		return 0;
	json_t *o = json_object();
	json_object_set_new(o, "a", json_integer(p->t->top[a]));
	json_object_set_new(o, "b", json_integer(p->t->top[b]));
	json_object_set_new(o, "share", ty_json_real(share));
	json_object_set_new(o, "share_se", ty_json_real(ty_tree_pair_error(p->t, a, b)));
	return json_array_append_new(p->list, o) ? -ENOMEM : 0;
}

static json_t *factor_json(const struct ty_tree *t, const struct ty_factor *f, const struct run *r)
{
	char words[2048];
	json_t *o = json_object(), *places = json_array(), *names = json_array();
	json_array_append_new(names, ty_json_text(t->name[f->a]));
	if (f->b != TY_NONE)
		json_array_append_new(names, ty_json_text(t->name[f->b]));
	json_object_set_new(o, "functions", names);
	json_object_set_new(o, "share", ty_json_real(f->share));
	json_object_set_new(o, "share_se", ty_json_real(f->se));
	json_object_set_new(o, "height", json_integer(f->height));
	json_object_set_new(o, "specificity", ty_json_real(f->specificity));
	json_object_set_new(o, "score", ty_json_real(f->score));
	json_object_set_new(o, "sentence", ty_json_text(ty_factor_sentence(t, f, r, words, sizeof words)));
	for (size_t i = 0; i < f->places; i++) {
		json_t *p = json_object();
		json_object_set_new(p, "node", json_integer(f->place[i].a));
		json_object_set_new(p, "with", f->b != TY_NONE ? json_integer(f->place[i].b) : json_null());
		json_object_set_new(p, "share", ty_json_real(f->place[i].share));
		json_array_append_new(places, p);
	}
	json_object_set_new(o, "places", places);
	return o;
}

static int depth_of(const struct ty_tree *t, uint32_t node)
{
	int n = 0;
	for (; node; node = t->v[node].parent)
		n++;
	return n;
}

json_t *ty_tree_object(const struct ty_tree *t, const struct ty_factors *f, const struct run *r,
		       const struct ty_tree_show *show)
{
	char doubt[TY_NAME_MAX];
	json_t *root = json_object(), *head = json_object(), *nodes = json_array(), *factors = json_array();
	struct pairs p = { json_array(), t, show->least / 50 };
	double *report_share = report_shares(t, r);
	int e = report_share ? 0 : -ENOMEM;
	json_object_set_new(head, "format", json_integer(FORMAT));
	json_object_set_new(head, "version", json_string(TY_VERSION));
	json_object_set_new(head, "store", ty_json_text(r->opt.store));
	json_object_set_new(head, "rule", json_string(ty_rule_name(r->rule)));
	json_object_set_new(head, "where", ty_json_text(r->where ? r->where->text : NULL));
	json_object_set_new(head, "requests", json_integer((json_int_t)t->n_requests));
	json_object_set_new(head, "left_out", json_integer((json_int_t)r->counts.left_out));
	json_object_set_new(head, "doubt", ty_json_text(ty_shares_doubt(r, doubt)));
	json_object_set_new(root, "tarry", head);
	json_object_set_new(root, "root", ty_json_text(t->name[t->v[0].name]));
	json_object_set_new(root, "folded", ty_json_text(t->folded));
	json_object_set_new(root, "mean_ns", ty_json_real(t->mean));
	json_object_set_new(root, "var_ns2", ty_json_real(t->var));
	json_object_set_new(root, "latency_share", ty_json_real(t->latency_share));
	json_object_set_new(root, "height", json_integer(f->height));
	json_object_set_new(root, "checked", json_integer((json_int_t)t->checked));
	json_object_set_new(root, "residual", ty_json_real(t->residual));
	for (size_t i = 0; i < f->n; i++)
		json_array_append_new(factors, factor_json(t, &f->v[i], r));
	json_object_set_new(root, "factors", factors);
	for (uint32_t i = 0; !e && i < t->n; i++)
		if (t->v[i].kind != TY_NODE_GONE && (!show->depth || depth_of(t, i) <= (int)show->depth))
			json_array_append_new(nodes, node_json(t, i, r, report_share));
	json_object_set_new(root, "nodes", nodes);
	if (!e)
		e = ty_tree_each_pair(t, add_pair, &p);
	free(report_share);
	json_object_set_new(root, "pairs", p.list);
	json_object_set_new(root, "pairs_from", ty_json_real(p.least));
	if (!e)
		return root;
	json_decref(root);
	return NULL;
}

int ty_tree_json(const struct ty_tree *t, const struct ty_factors *f, const struct run *r,
		 const struct ty_tree_show *show, char *err)
{
	json_t *root = ty_tree_object(t, f, r, show);
	int e = root ? json_dumpf(root, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17)) : -ENOMEM;
	json_decref(root);
	putchar('\n');
	return ty_output_end(e, err);
}
