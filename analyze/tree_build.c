/* SPDX-License-Identifier: MIT
 *
 * Nodes of the variance tree from the call paths of a recording's sites.  Runs
 * in readers.  Must stay true: a node is made after its parent, so numbers grow
 * outwards-in; every wait is at a leaf, so only the root has time of its own. */
#include "analyze/tree.h"

#include <stdio.h>
#include <xxhash.h>

#include "analyze/names.h"
#include "tarry/event.h"

#define LINES 512 /* of one path */

/* ---- names ---- */

static int grow_names(struct ty_tree *t)
{
	size_t slots = t->name_slots ? t->name_slots * 2 : 1024;
	uint32_t *v = calloc(slots, sizeof *v);
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < t->names; i++) {
		size_t k = (size_t)t->hash[i] & (slots - 1);
		while (v[k])
			k = (k + 1) & (slots - 1);
		v[k] = (uint32_t)i + 1;
	}
	free(t->name_slot);
	t->name_slot = v;
	t->name_slots = slots;
	return 0;
}

/* TY_NONE: no memory. */
static uint32_t name_of(struct ty_tree *t, const char *text)
{
	uint64_t h = XXH3_64bits(text, strlen(text));
	if ((t->names + 1) * 2 > t->name_slots && grow_names(t))
		return TY_NONE;
	size_t k = (size_t)h & (t->name_slots - 1);
	for (; t->name_slot[k]; k = (k + 1) & (t->name_slots - 1))
		if (t->hash[t->name_slot[k] - 1] == h && !strcmp(t->name[t->name_slot[k] - 1], text))
			return t->name_slot[k] - 1;
	if (TY_RESERVE(t->name, t->name_cap, t->names + 1, (size_t)256) ||
	    TY_RESERVE(t->hash, t->hash_cap, t->names + 1, (size_t)256) || !(t->name[t->names] = strdup(text)))
		return TY_NONE;
	t->hash[t->names] = h;
	t->name_slot[k] = (uint32_t)++t->names;
	return (uint32_t)t->names - 1;
}

/* ---- nodes ---- */

static size_t place(const struct ty_tree *t, uint32_t parent, uint32_t same, unsigned kind)
{
	size_t k = (size_t)ty_mix((uint64_t)parent << 32 ^ (uint64_t)kind << 29 ^ same) & (t->slots - 1);
	for (; t->slot[k]; k = (k + 1) & (t->slots - 1)) {
		const struct ty_node *n = &t->v[t->slot[k]];
		if (n->parent == parent && n->same == same && n->kind == kind)
			break;
	}
	return k;
}

static int grow_nodes(struct ty_tree *t)
{
	uint32_t *old = t->slot;
	t->slots = t->slots ? t->slots * 2 : 1024;
	t->slot = calloc(t->slots, sizeof *t->slot);
	free(old);
	if (!t->slot)
		return -ENOMEM;
	for (size_t i = 1; i < t->n; i++)
		t->slot[place(t, t->v[i].parent, t->v[i].same, t->v[i].kind)] = (uint32_t)i;
	return 0;
}

/* The child of that kind and name, made if there is none; < 0: errno. */
static int64_t child(struct ty_tree *t, uint32_t parent, unsigned kind, uint32_t name, uint32_t same, uint32_t site)
{
	if (name == TY_NONE || same == TY_NONE || ((t->n + 1) * 2 > t->slots && grow_nodes(t)))
		return -ENOMEM;
	size_t k = place(t, parent, same, kind);
	if (t->slot[k])
		return t->slot[k];
	if (TY_RESERVE(t->v, t->cap, t->n + 1, (size_t)256))
		return -ENOMEM;
	uint32_t i = (uint32_t)t->n++;
	t->v[i] = (struct ty_node){ .parent = parent, .kind = (uint8_t)kind, .name = name, .same = same, .site = site };
	t->slot[k] = i;
	return i;
}

/* ---- one site ---- */

struct lines {
	struct ty_tree *t;
	const struct run *r;
	const char *root;
	uint32_t name[LINES]; /* leaf first */
	size_t n, cut_at;     /* lines inside the root; cut_at: of the outermost match */
	bool asked, matched, no_memory;
	uint32_t first;       /* the leaf-most line, wrapper or not */
};

static int take_line(void *arg, const struct ty_line *l)
{
	struct lines *a = arg;
	char buf[TY_NAME_MAX];
	const char *text = ty_line_name(a->r, l, buf);
	uint32_t name = name_of(a->t, text);
	if (name == TY_NONE) {
		a->no_memory = true;
		return 1;
	}
	if (a->first == TY_NONE)
		a->first = name;
	a->asked |= !ty_line_wrapper(a->r, l);
	if (a->asked && a->n < LINES)
		a->name[a->n++] = name;
	if (a->root && !strcmp(text, a->root)) {
		a->matched = true;
		a->cut_at = a->n;
	}
	return 0;
}

static int add_wait(struct ty_tree *t, uint32_t parent, const char *asker, const struct run *r, uint32_t site)
{
	char same[TY_NAME_MAX + 128];
	const char *op = ty_site_operation(r, site);
	snprintf(same, sizeof same, "%s: %s", asker, op);
	int64_t n = child(t, parent, TY_NODE_WAIT, name_of(t, op), name_of(t, same), site);
	if (n < 0)
		return -ENOMEM;
	t->v[n].sites++;
	t->leaf[site] = (uint32_t)n + 1;
	return 0;
}

static int add_no_path(struct ty_tree *t, const struct run *r, uint32_t site)
{
	static const char name[] = "[path not taken]";
	uint32_t same = name_of(t, name);
	int64_t n = t->root ? 0 : child(t, 0, TY_NODE_NO_PATH, same, same, site);
	return t->root ? 0 : n < 0 ? -ENOMEM : add_wait(t, (uint32_t)n, name, r, site);
}

static int add_site(struct ty_tree *t, const struct run *r, uint32_t site)
{
	const struct ty_site *s = &r->sites.v[site];
	struct lines a = { .t = t, .r = r, .root = t->root, .first = TY_NONE };
	int64_t at = 0;
	if (!ty_site_has_path(r, site))
		return add_no_path(t, r, site);
	ty_path_each(r, s->path, take_line, &a);
	if (a.no_memory)
		return -ENOMEM;
	if (!a.n && a.first != TY_NONE) /* nothing but wrappers: the one that was called */
		a.name[a.n++] = a.first;
	if (t->root && !a.matched)
		return 0;
	if (t->root)
		a.n = a.cut_at ? a.cut_at - 1 : 0;
	else if (r->t.paths[s->path].flags & TY_F_PARTIAL) {
		uint32_t same = name_of(t, "[outer frames not known]");
		at = child(t, 0, TY_NODE_CUT, same, same, site);
	}
	for (size_t i = a.n; at >= 0 && i-- > 0;)
		at = child(t, (uint32_t)at, TY_NODE_FUNCTION, a.name[i], a.name[i], site);
	if (at < 0)
		return -ENOMEM;
	const char *asker = t->name[a.n ? a.name[0] : t->v[0].name];
	return add_wait(t, (uint32_t)at, asker, r, site);
}

/* ---- --root ---- */

struct find { const struct run *r; const char *text; char found[TY_NAME_MAX]; unsigned exact, parts; };

static int look(void *arg, const struct ty_line *l)
{
	struct find *f = arg;
	char buf[TY_NAME_MAX];
	const char *name = ty_line_name(f->r, l, buf);
	if (!strcmp(name, f->text)) {
		f->exact++;
		snprintf(f->found, sizeof f->found, "%s", name);
		return 1;
	}
	if (strstr(name, f->text) && strcmp(name, f->found) != 0) {
		f->parts++;
		snprintf(f->found, sizeof f->found, "%s", name);
	}
	return 0;
}

/* The function of that name, or else the only one that has the text in it. */
static int find_root(struct ty_tree *t, const struct run *r, const char *text, char *err)
{
	struct find f = { .r = r, .text = text };
	for (uint32_t i = 0; i < r->t.npaths && !f.exact; i++)
		ty_path_each(r, i, look, &f);
	if (f.exact || f.parts == 1) {
		uint32_t n = name_of(t, f.found);
		if (n == TY_NONE)
			return ty_err(err, -ENOMEM, "out of memory");
		t->root = t->name[n];
		return 0;
	}
	struct ty_near near = { .text = text };
	char words[512];
	ty_near_functions(&near, r, false);
	return ty_err(err, -EINVAL, "--root: %s function '%.60s' in this recording; nearest: %s",
		      f.parts ? "more than one" : "no", text, ty_near_words(&near, words));
}

/* ---- folding, heights ---- */

static void link_children(struct ty_tree *t)
{
	for (size_t i = 0; i < t->n; i++)
		t->v[i].child = t->v[i].next = t->v[i].kids = 0;
	for (size_t i = t->n - 1; i > 0; i--) {
		struct ty_node *n = &t->v[i], *p = &t->v[n->parent];
		if (n->kind == TY_NODE_GONE)
			continue;
		n->next = p->child;
		p->child = (uint32_t)i;
		p->kids++;
	}
}

static int note_folded(struct ty_tree *t, uint32_t node)
{
	char *s = NULL;
	if (asprintf(&s, "%s%s%s", t->folded ? t->folded : "", t->folded ? " > " : "", t->name[t->v[node].name]) < 0)
		return -ENOMEM;
	free(t->folded);
	t->folded = s;
	return 0;
}

/* The only child that is a function, when all paths go through it. */
static uint32_t only(const struct ty_tree *t, uint32_t node)
{
	uint32_t found = 0;
	for (uint32_t c = t->v[node].child; c; c = t->v[c].next) {
		if (t->v[c].kind == TY_NODE_WAIT || (t->v[c].kind == TY_NODE_FUNCTION && found))
			return 0;
		if (t->v[c].kind == TY_NODE_FUNCTION)
			found = c;
	}
	return found;
}

/* Frames that all paths share say nothing: thread start, the loop around requests. */
static int fold_idle(struct ty_tree *t)
{
	for (;;) {
		uint32_t c = only(t, 0);
		if (!c || (t->v[c].kids == 1 && t->v[t->v[c].child].kind == TY_NODE_WAIT))
			return 0;
		if (note_folded(t, c))
			return -ENOMEM;
		t->v[c].kind = TY_NODE_GONE;
		for (uint32_t g = t->v[c].child; g; g = t->v[g].next)
			t->v[g].parent = 0;
		link_children(t);
	}
}

static int add_rest(struct ty_tree *t)
{
	uint32_t running = name_of(t, "running"), held = name_of(t, "held up");
	int64_t a = child(t, 0, TY_NODE_RUNNING, running, running, TY_NONE);
	int64_t b = child(t, 0, TY_NODE_HELD, held, held, TY_NONE);
	if (a < 0 || b < 0)
		return -ENOMEM;
	t->running = (uint32_t)a;
	t->leaf[TY_SITE_HELD] = (uint32_t)b + 1;
	return 0;
}

int ty_tree_build(struct ty_tree *t, const struct run *r, const char *root, bool fold, char *err)
{
	memset(t, 0, sizeof *t);
	t->leaf = calloc(r->sites.n + 1, sizeof *t->leaf);
	t->nleaf = r->sites.n;
	int e = t->leaf ? TY_RESERVE(t->v, t->cap, (size_t)1, (size_t)256) : -ENOMEM;
	if (e)
		return ty_err(err, e, "out of memory");
	t->n = 1;
	t->v[0].site = TY_NONE;
	if (root && (e = find_root(t, r, root, err)))
		return e;
	t->v[0].name = t->v[0].same = name_of(t, t->root ? t->root : "request");
	e = t->v[0].name == TY_NONE ? -ENOMEM : t->root ? 0 : add_rest(t);
	for (uint32_t i = TY_SITE_HELD + 1; !e && i < r->sites.n; i++)
		if (r->sites.v[i].waits)
			e = add_site(t, r, i);
	if (e)
		return ty_err(err, e, "out of memory");
	link_children(t);
	if (fold)
		e = fold_idle(t);
	for (size_t i = t->n - 1; i > 0; i--) {
		struct ty_node *n = &t->v[i], *p = &t->v[n->parent];
		if (n->kind != TY_NODE_GONE && p->height < n->height + 1)
			p->height = (uint16_t)(n->height + 1);
	}
	return e ? ty_err(err, e, "out of memory") : 0;
}

void ty_tree_free(struct ty_tree *t)
{
	for (size_t i = 0; i < t->names; i++)
		free(t->name[i]);
	free(t->name);
	free(t->hash);
	free(t->name_slot);
	free(t->v);
	free(t->slot);
	free(t->folded);
	free(t->leaf);
	free(t->up);
	free(t->rank);
	free(t->kids);
	free(t->top);
	free(t->base);
	free(t->pair);
	free(t->pair_slot);
	free(t->acc);
	free(t->listed);
	memset(t, 0, sizeof *t);
}
