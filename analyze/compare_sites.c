/* SPDX-License-Identifier: MIT
 *
 * Which sites of two recordings are the same: those with the same operation
 * and the same functions along the path, whatever their addresses, so that a
 * rebuilt program still compares.  Runs in readers.  Must stay true: where no
 * function is known, module identity and offset stand for it. */
#include "analyze/compare.h"

#include <xxhash.h>

#include "analyze/names.h"

struct sign {
	const struct run *r;
	uint64_t h;
};

static void add(struct sign *s, const char *text)
{
	s->h = XXH3_64bits_withSeed(text, strlen(text) + 1, s->h);
}

static int add_line(void *arg, const struct ty_line *l)
{
	struct sign *s = arg;
	const struct ty_tables *t = &s->r->t;
	const struct ty_frame *f = l->frame;
	bool known = f->module >= 0 && (size_t)f->module < t->nmodules;
	if (l->symbol && l->symbol->function) {
		add(s, ty_module_name(t, f->module));
		add(s, l->symbol->function);
		return 0;
	}
	add(s, known && *t->modules[f->module].build_id ? t->modules[f->module].build_id :
							  ty_module_name(t, f->module));
	s->h = XXH3_64bits_withSeed(&f->offset, sizeof f->offset, s->h);
	return 0;
}

/* The same for the same operation and functions. */
static uint64_t signature(const struct run *r, uint32_t site)
{
	struct sign s = { r, 1 };
	char buf[TY_NAME_MAX];
	if (r->sites.by != TY_BY_FUNCTION)
		add(&s, ty_site_operation(r, site));
	if (ty_site_has_path(r, site))
		ty_path_each(r, r->sites.v[site].path, add_line, &s);
	else
		add(&s, ty_site_function(r, site, buf));
	return s.h;
}

static int grow(struct ty_match *m)
{
	size_t slots = m->slots ? m->slots * 2 : 1024;
	uint32_t *slot = calloc(slots, sizeof *slot);
	if (!slot)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++) {
		size_t k = (size_t)m->hash[i] & (slots - 1);
		while (slot[k])
			k = (k + 1) & (slots - 1);
		slot[k] = (uint32_t)i + 1;
	}
	free(m->slot);
	m->slot = slot;
	m->slots = slots;
	return 0;
}

static int number(struct ty_match *m, uint64_t h, uint32_t *ret)
{
	if ((m->n + 1) * 2 > m->slots && grow(m))
		return -ENOMEM;
	size_t k = (size_t)h & (m->slots - 1);
	while (m->slot[k] && m->hash[m->slot[k] - 1] != h)
		k = (k + 1) & (m->slots - 1);
	if (!m->slot[k]) {
		if (TY_RESERVE(m->hash, m->cap, m->n + 1, (size_t)256))
			return -ENOMEM;
		m->hash[m->n] = h;
		m->slot[k] = (uint32_t)++m->n;
	}
	*ret = m->slot[k] - 1;
	return 0;
}

int ty_match_sides(struct ty_match *m, const struct run *base, const struct run *now)
{
	const struct run *r[2] = { base, now };
	memset(m, 0, sizeof *m);
	for (int side = 0; side < 2; side++) {
		m->of[side] = calloc(r[side]->sites.n + 1, sizeof *m->of[side]);
		for (uint32_t i = 0; m->of[side] && i < r[side]->sites.n; i++)
			if (number(m, signature(r[side], i), &m->of[side][i]))
				return -ENOMEM;
		if (!m->of[side])
			return -ENOMEM;
	}
	for (int side = 0; side < 2; side++) {
		const struct ty_sites *s = &r[side]->sites;
		m->key[side] = malloc((m->n + 1) * sizeof *m->key[side]);
		m->waits[side] = calloc(m->n + 1, sizeof *m->waits[side]);
		m->total[side] = calloc(m->n + 1, sizeof *m->total[side]);
		if (!m->key[side] || !m->waits[side] || !m->total[side])
			return -ENOMEM;
		memset(m->key[side], 0xff, m->n * sizeof *m->key[side]); /* TY_NONE */
		for (uint32_t i = 0; i < s->n; i++) {
			uint32_t k = m->of[side][i];
			m->key[side][k] = i;
			m->waits[side][k] += s->v[i].waits;
			m->total[side][k] += s->v[i].total_all;
		}
	}
	return 0;
}

void ty_match_free(struct ty_match *m)
{
	for (int side = 0; side < 2; side++) {
		free(m->of[side]);
		free(m->key[side]);
		free(m->waits[side]);
		free(m->total[side]);
	}
	free(m->hash);
	free(m->slot);
	memset(m, 0, sizeof *m);
}
