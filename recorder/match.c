/* SPDX-License-Identifier: MIT
 *
 * Rules of orders by name, see match.h.  Runs in the recorder's worker: reading
 * symbol tables may take a second, and the drain must not wait for that.  What
 * must stay true: one place of to->decided is one word, so that the traced side
 * reads either nothing or a decision for the very path. */
#include "recorder/match.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "recorder/map.h"
#include "recorder/symbols.h"
#include "tarry/arena.h" /* ty_mix */

#define CHAIN_MAX 64u
#define VARIABLES_MAX TY_ORDER_OBJECTS
#define KNOWN (1ull << 32)

struct ty_matcher {
	const struct ty_order_settings *o;
	struct ty_orders *to;
	bool debuginfod;
	uint16_t any;                /* rules by module alone: each function will do */
	struct ty_map known;         /* address -> rules whose function it is in, and KNOWN */
	/* for the recorder's main thread, which reads them: relaxed, they are counters */
	_Atomic uint32_t found;
	_Atomic uint64_t no_room;
};

struct ty_matcher *ty_matcher_new(const struct ty_order_settings *o, struct ty_orders *to, bool debuginfod)
{
	struct ty_matcher *m = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	m->o = o;
	m->to = to;
	m->debuginfod = debuginfod;
	for (uint32_t i = 0; i < o->rules; i++)
		if (o->rule[i].module[0] && !o->rule[i].path[0])
			m->any |= (uint16_t)(1u << i);
	return m;
}

void ty_matcher_free(struct ty_matcher *m)
{
	if (m)
		ty_map_free(&m->known);
	free(m);
}

uint32_t ty_matcher_found(struct ty_matcher *m)
{
	return atomic_load_explicit(&m->found, memory_order_relaxed);
}

uint64_t ty_matcher_no_room(struct ty_matcher *m)
{
	return atomic_load_explicit(&m->no_room, memory_order_relaxed);
}

bool ty_name_matches(const char *pattern, const char *name)
{
	char part[256];
	if (fnmatch(pattern, name, 0) == 0)
		return true;
	size_t n = strcspn(name, ".");
	if (!name[n] || n == 0 || n >= sizeof part)
		return false;
	memcpy(part, name, n);
	part[n] = 0;
	return fnmatch(pattern, part, 0) == 0;
}

/* ---- call paths ---- */

static uint16_t by_name(const struct ty_order_settings *o, const char *name)
{
	uint16_t rules = 0;
	for (uint32_t i = 0; i < o->rules; i++)
		if (o->rule[i].path[0] && ty_name_matches(o->rule[i].path, name))
			rules |= (uint16_t)(1u << i);
	for (uint32_t i = 0; i < o->idles; i++)
		if (ty_name_matches(o->idle[i], name))
			rules |= (uint16_t)(1u << o->rules);
	return rules;
}

static uint16_t by_address(struct ty_matcher *m, struct ty_elf *e, const struct ty_match_frame *f)
{
	struct ty_elf_symbol y[CHAIN_MAX];
	uint64_t *at = ty_map_put(&m->known, ty_mix(f->offset) ^ ty_mix((uint64_t)f->module + 1) ^ f->exact);
	if (at && *at)
		return (uint16_t)*at;
	uint16_t rules = m->any;
	ty_symbols_debuginfod(e, m->debuginfod);
	int n = ty_symbols_at(e, f->offset, f->exact, y, CHAIN_MAX);
	for (int i = 0; i < n; i++)
		rules |= by_name(m->o, y[i].name);
	if (at)
		*at = rules | KNOWN;
	return rules;
}

static void decide(struct ty_matcher *m, uint64_t path, uint16_t rules)
{
	uint64_t at = ty_mix(path);
	for (uint32_t i = 0; i < TY_DECIDED_PROBES; i++) {
		_Atomic uint64_t *d = &m->to->decided[(at + i) & (TY_DECIDED - 1)];
		uint64_t has = atomic_load_explicit(d, memory_order_relaxed);
		if (!has || has >> 16 == path >> 16) {
			atomic_store_explicit(d, (path & ~0xffffull) | rules, memory_order_relaxed);
			return;
		}
	}
	atomic_fetch_add_explicit(&m->no_room, 1, memory_order_relaxed);
}

void ty_matcher_path(struct ty_matcher *m, struct ty_elf *const *elf, size_t elfs, const struct ty_match *p)
{
	uint16_t rules = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		const struct ty_match_frame *f = &p->frame[i];
		if (f->module < elfs && elf[f->module])
			rules |= by_address(m, elf[f->module], f) & f->rules;
	}
	if (!rules)
		return;
	atomic_fetch_or_explicit(&m->found, rules, memory_order_relaxed);
	decide(m, p->path, rules);
}

/* ---- variables ---- */

struct gather {
	const struct ty_order_settings *o;
	struct ty_variable *v;
	size_t n;
};

/* A static variable of a function is "name.0" with gcc, "function.name" with clang. */
static bool is_called(const char *pattern, const char *name)
{
	const char *dot = strchr(name, '.');
	return ty_name_matches(pattern, name) ||
	       (dot && !isdigit((unsigned char)dot[1]) && ty_name_matches(pattern, dot + 1));
}

static void variable(void *arg, const char *name, uint64_t vaddr, uint64_t size)
{
	struct gather *g = arg;
	struct ty_variable v = { .lo = vaddr, .hi = vaddr + size };
	for (uint32_t i = 0; i < g->o->rules; i++)
		if (g->o->rule[i].object[0] && is_called(g->o->rule[i].object, name))
			v.rules |= (uint16_t)(1u << i);
	if (v.rules && g->n < VARIABLES_MAX)
		g->v[g->n++] = v;
}

size_t ty_matcher_variables(struct ty_matcher *m, struct ty_elf *e, struct ty_variable **ret)
{
	bool any = false;
	for (uint32_t i = 0; i < m->o->rules; i++)
		any |= m->o->rule[i].rule.by_object;
	struct gather g = { .o = m->o, .v = any ? calloc(VARIABLES_MAX, sizeof *g.v) : NULL };
	*ret = g.v;
	if (!g.v)
		return 0;
	ty_symbols_debuginfod(e, m->debuginfod);
	ty_symbols_variables(e, variable, &g);
	return g.n;
}
