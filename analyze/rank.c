/* SPDX-License-Identifier: MIT
 *
 * The order of the report: sites with time in requests by their share of the
 * variance, negative ones last; then those that waited only outside requests,
 * by their time.  Without requests all by their time.  Runs in readers. */
#include "analyze/names.h"

static int by_rank(const void *a, const void *b, void *arg)
{
	const struct run *r = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct ty_site *s = &r->sites.v[x], *t = &r->sites.v[y];
	bool requests = r->rule != TY_RULE_NONE;
	if (requests && !s->waits != !t->waits)
		return s->waits ? -1 : 1;
	if (requests && r->res.site[x].share != r->res.site[y].share)
		return r->res.site[x].share > r->res.site[y].share ? -1 : 1;
	if (s->total != t->total)
		return s->total > t->total ? -1 : 1;
	if (s->total_all != t->total_all)
		return s->total_all > t->total_all ? -1 : 1;
	return x < y ? -1 : x > y;
}

static bool listed(const struct run *r, uint32_t site)
{
	const struct ty_site *s = &r->sites.v[site];
	char buf[TY_NAME_MAX];
	if (!s->waits && !s->waits_all)
		return false;
	if (!r->opt.path)
		return true;
	if (ty_site_has_path(r, site))
		return ty_path_contains(r, s->path, r->opt.path);
	return strstr(ty_site_function(r, site, buf), r->opt.path) != NULL;
}

/* Nothing to list has the text of --path. */
static int no_path(const struct run *r, char *err)
{
	struct ty_near near = { .text = r->opt.path };
	char name[TY_NAME_MAX];
	for (uint32_t i = TY_SITE_HELD + 1; i < r->sites.n; i++) {
		if (!r->sites.v[i].waits && !r->sites.v[i].waits_all)
			continue;
		if (ty_site_has_path(r, i))
			ty_near_path(&near, r, r->sites.v[i].path);
		else
			ty_near_add(&near, ty_site_function(r, i, name));
	}
	return ty_not_there("--path", "no call path that waited has", &near, err);
}

int ty_pass_rank(struct run *r, char *err)
{
	r->rank = calloc(r->sites.n + 1, sizeof *r->rank);
	if (!r->rank)
		return ty_err(err, -ENOMEM, "out of memory");
	for (uint32_t i = TY_SITE_HELD + 1; i < r->sites.n; i++)
		if (listed(r, i))
			r->rank[r->nrank++] = i;
	qsort_r(r->rank, r->nrank, sizeof *r->rank, by_rank, r);
	return r->opt.path && !r->nrank ? no_path(r, err) : 0;
}
