/* SPDX-License-Identifier: MIT
 *
 * The pass over paths: which of them are booked together.  By site, paths with
 * the same frames; by function, those that the same function asked for.  Also
 * marks what the rule site:TEXT matches.  Runs in readers.  Must stay true: a
 * path that was not taken is in no group. */
#include "analyze/names.h"

#include <xxhash.h>

#include "tarry/event.h"

/* A set of byte strings -> dense numbers. */
struct intern {
	uint32_t *slot; /* number + 1 */
	uint64_t *hash; /* [n] */
	size_t slots, n, cap;
};

static int intern(struct intern *t, uint64_t h, uint32_t *ret)
{
	if ((t->n + 1) * 2 > t->slots) {
		size_t slots = t->slots ? t->slots * 2 : 1024;
		uint32_t *v = calloc(slots, sizeof *v);
		if (!v)
			return -ENOMEM;
		for (size_t i = 0; i < t->n; i++) {
			size_t k = (size_t)t->hash[i] & (slots - 1);
			while (v[k])
				k = (k + 1) & (slots - 1);
			v[k] = (uint32_t)i + 1;
		}
		free(t->slot);
		t->slot = v;
		t->slots = slots;
	}
	size_t k = (size_t)h & (t->slots - 1);
	while (t->slot[k] && t->hash[t->slot[k] - 1] != h)
		k = (k + 1) & (t->slots - 1);
	if (!t->slot[k]) {
		if (TY_RESERVE(t->hash, t->cap, t->n + 1, (size_t)1024))
			return -ENOMEM;
		t->hash[t->n] = h;
		t->slot[k] = (uint32_t)++t->n;
	}
	*ret = t->slot[k] - 1;
	return 0;
}

/* 64 bits of hash stand for the frames: the chance that two of a million paths
 * collide is under one in ten million. */
static uint64_t path_hash(const struct run *r, const struct ty_path *p)
{
	uint64_t h = p->flags & TY_F_PARTIAL;
	for (uint16_t i = 0; i < p->count; i++) {
		const struct ty_frame *f = &p->frames[i];
		uint64_t word[2] = { f->offset, (uint64_t)(uint32_t)f->module << 1 | f->exact };
		if (!ty_frame_hidden(&r->t, f))
			h = XXH3_64bits_withSeed(word, sizeof word, h);
	}
	return h;
}

static int group_paths(struct run *r)
{
	struct intern t = { 0 };
	struct ty_names *n = &r->names;
	char buf[TY_NAME_MAX];
	size_t cap = 0;
	int e = 0;
	for (uint32_t i = 0; !e && i < r->t.npaths; i++) {
		const struct ty_path *p = &r->t.paths[i];
		if (p->flags & TY_F_NO_PATH) {
			n->group[i] = TY_GROUP_NO_PATH;
			continue;
		}
		if (r->opt.by != TY_BY_FUNCTION) {
			e = intern(&t, path_hash(r, p), &n->group[i]);
			continue;
		}
		const char *f = ty_path_function(r, i, buf);
		e = intern(&t, XXH3_64bits(f, strlen(f)), &n->group[i]);
		if (!e)
			e = TY_RESERVE(n->function, cap, t.n, (size_t)256);
		if (!e && !n->function[n->group[i]] && !(n->function[n->group[i]] = strdup(f)))
			e = -ENOMEM;
	}
	n->ngroups = t.n;
	free(t.slot);
	free(t.hash);
	return e;
}

static void path_kinds(struct run *r)
{
	for (size_t i = 0; i < r->t.npaths; i++) {
		uint16_t f = r->t.paths[i].flags;
		r->names.kind[i] = f & TY_F_NO_PATH ? TY_PATH_NOT_TAKEN : f & TY_F_LEAF ? TY_PATH_LEAF
			: f & TY_F_MISS ? TY_PATH_MISS : f & TY_F_CUT ? TY_PATH_CUT : TY_PATH_COMPLETE;
	}
}

static int name_descriptors(struct run *r)
{
	struct intern t = { 0 };
	uint32_t *first = calloc(r->t.nfds + 1, sizeof *first);
	int e = first ? 0 : -ENOMEM;
	for (uint32_t i = 0; !e && i < r->t.nfds; i++) {
		const struct ty_descriptor *d = &r->t.fds[i];
		uint32_t k;
		size_t before = t.n;
		const char *peer = strstr(d->name, " <- "); /* all connections of one service are one object */
		uint64_t h = XXH3_64bits(d->name, peer ? (size_t)(peer - d->name) : strlen(d->name));
		if (!*d->name) /* nothing to go by: an object of its own */
			h = XXH3_64bits(&i, sizeof i);
		e = intern(&t, h, &k);
		if (!e && t.n > before)
			first[k] = i;
		if (!e)
			r->names.fd[i] = first[k];
	}
	free(first);
	free(t.slot);
	free(t.hash);
	return e;
}

int ty_pass_names(struct run *r, char *err)
{
	struct ty_names *n = &r->names;
	n->group = calloc(r->t.npaths + 1, sizeof *n->group);
	n->match = calloc(r->t.npaths + 1, sizeof *n->match);
	n->match_op = calloc(r->t.nops + 1, sizeof *n->match_op);
	n->fd = calloc(r->t.nfds + 1, sizeof *n->fd);
	n->kind = calloc(r->t.npaths + 1, sizeof *n->kind);
	int e = n->group && n->kind && n->match && n->match_op && n->fd ? group_paths(r) : -ENOMEM;
	if (!e && r->opt.by == TY_BY_OBJECT)
		e = name_descriptors(r);
	if (!e)
		path_kinds(r);
	for (uint32_t i = 0; !e && r->rule == TY_RULE_SITE && i < r->t.npaths; i++)
		n->match[i] = ty_path_contains(r, i, r->rule_text);
	for (size_t i = 0; !e && r->rule == TY_RULE_SITE && i < r->t.nops; i++)
		n->match_op[i] = strstr(r->t.ops[i].name, r->rule_text) != NULL;
	return e ? ty_err(err, e, "out of memory") : 0;
}
