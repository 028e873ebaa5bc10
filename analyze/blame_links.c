/* SPDX-License-Identifier: MIT
 *
 * Links: interned causes of waiting (see blame.h).  Runs in readers.  Must stay
 * true: equal links are one key; there are at most 2 * max of them and a few
 * for each site. */
#include "analyze/blame.h"

int ty_links_init(struct ty_links *l)
{
	memset(l, 0, sizeof *l);
	l->slots = 4096;
	l->max = TY_LINKS_MAX;
	l->slot = calloc(l->slots, sizeof *l->slot);
	return l->slot ? 0 : -ENOMEM;
}

void ty_links_free(struct ty_links *l)
{
	free(l->v);
	free(l->slot);
	free(l->single);
	memset(l, 0, sizeof *l);
}

static size_t place(const struct ty_links *l, const uint32_t *slot, size_t slots, const struct ty_link *k)
{
	size_t i = (size_t)ty_mix(((uint64_t)k->waiter << 32 | k->holder) ^
				  ty_mix((uint64_t)k->next << 8 | k->kind)) &
		   (slots - 1);
	for (; slot[i]; i = (i + 1) & (slots - 1)) {
		const struct ty_link *o = &l->v[slot[i] - 1];
		if (o->waiter == k->waiter && o->holder == k->holder && o->next == k->next &&
		    o->kind == k->kind)
			break;
	}
	return i;
}

static int grow(struct ty_links *l)
{
	size_t slots = l->slots * 2;
	uint32_t *slot = calloc(slots, sizeof *slot);
	if (!slot)
		return -ENOMEM;
	for (size_t i = 0; i < l->slots; i++)
		if (l->slot[i])
			slot[place(l, slot, slots, &l->v[l->slot[i] - 1])] = l->slot[i];
	free(l->slot);
	l->slot = slot;
	l->slots = slots;
	return 0;
}

static int64_t add(struct ty_blame *b, size_t slot, const struct ty_link *k)
{
	struct ty_links *l = &b->links;
	const struct ty_site *w = k->waiter < b->r->sites.n ? &b->r->sites.v[k->waiter] : NULL;
	struct ty_ev like = { .op = w ? w->op : 0, .cls = w ? w->cls : 0, .path = w ? w->path : TY_NONE };
	int64_t key = ty_sites_add(&b->r->sites, &like, NULL);
	if (key < 0)
		return key;
	if (TY_RESERVE(l->v, l->cap, (size_t)key + 1, (size_t)1024))
		return -ENOMEM;
	l->v[key] = *k;
	l->v[key].cls = like.cls;
	l->v[key].pair = l->v[key].root = TY_NONE;
	l->slot[slot] = (uint32_t)key + 1;
	l->n++;
	return key;
}

/* With very many links a new chain ends at its first link; with twice as many it has no holder either. */
static bool limit(struct ty_blame *b, struct ty_link *k)
{
	bool chain = b->links.n >= b->links.max && TY_NEXT_REAL(k->next);
	bool holder = b->links.n >= 2 * b->links.max && k->holder != TY_NONE;
	if (chain)
		k->next = TY_NEXT_DEEP;
	if (holder)
		k->holder = TY_NONE;
	b->counts.links_full += chain || holder;
	return chain || holder;
}

int64_t ty_link(struct ty_blame *b, uint32_t waiter, enum ty_blame_kind kind, uint32_t holder, uint32_t next)
{
	struct ty_links *l = &b->links;
	struct ty_link k = {
		.waiter = waiter, .holder = holder, .next = next, .kind = (uint8_t)kind, .depth = 1
	};
	size_t i = place(l, l->slot, l->slots, &k);
	if (l->slot[i])
		return l->slot[i] - 1;
	if ((l->n + 1) * 2 > l->slots) {
		if (grow(l))
			return -ENOMEM;
		i = place(l, l->slot, l->slots, &k);
	}
	if (limit(b, &k)) {
		i = place(l, l->slot, l->slots, &k);
		if (l->slot[i])
			return l->slot[i] - 1;
	}
	if (TY_NEXT_REAL(k.next))
		k.depth = (uint8_t)(l->v[k.next].depth + 1);
	return add(b, i, &k);
}

int64_t ty_link_pair(struct ty_blame *b, uint32_t link)
{
	struct ty_link k = b->links.v[link];
	if (k.pair != TY_NONE)
		return k.pair;
	int64_t p = ty_link(b, k.waiter, (enum ty_blame_kind)k.kind, k.holder, TY_NEXT_PAIR);
	if (p >= 0)
		b->links.v[link].pair = (uint32_t)p;
	return p;
}

/* The root of a chain: the last holder, running, or the wait at its end that nobody holds up. */
int64_t ty_link_root(struct ty_blame *b, uint32_t link)
{
	struct ty_link k = b->links.v[link];
	if (k.root != TY_NONE)
		return k.root;
	while (TY_NEXT_REAL(k.next))
		k = b->links.v[k.next];
	enum ty_blame_kind kind = (enum ty_blame_kind)k.kind;
	uint32_t site = k.waiter;
	if (ty_kind_named(kind) && kind != TY_K_WOKEN && k.holder != TY_NONE) {
		site = k.holder;
		kind = k.next == TY_NEXT_RUNNING ? TY_K_RUNNING : TY_K_CUT;
	}
	int64_t p = ty_link(b, site, kind, TY_NONE, TY_NEXT_ROOT);
	if (p >= 0)
		b->links.v[link].root = (uint32_t)p;
	return p;
}

static const struct {
	const char *name, *words;
} kinds[TY_K_KINDS] = {
	[TY_K_NONE] = { "none", "" },
	[TY_K_HELD] = { "held", "held" },
	[TY_K_SIGNAL] = { "signal", "not signalled yet" },
	[TY_K_POST] = { "post", "not posted yet" },
	[TY_K_WAKE] = { "wake", "not woken yet" },
	[TY_K_KILL] = { "kill", "until a signal was sent" },
	[TY_K_REACQUIRE] = { "reacquire", "re-acquiring the mutex" },
	[TY_K_OWNER] = { "owner", "held by a thread whose release was not seen" },
	[TY_K_WOKEN] = { "woken", "woken, not running yet" },
	[TY_K_KERNEL] = { "kernel", "until the kernel completed it" },
	[TY_K_READY] = { "ready", "until a descriptor was ready" },
	[TY_K_TIMER] = { "timer", "slept or timed out" },
	[TY_K_INTERRUPTED] = { "interrupted", "until a signal interrupted it" },
	[TY_K_CHANGED] = { "changed", "value had changed already" },
	[TY_K_UNSEEN] = { "unseen", "nobody was seen to end it" },
	[TY_K_FORGOTTEN] = { "forgotten", "too many wakes to keep" },
	[TY_K_UNRECORDED] = { "unrecorded", "who ends it is not recorded" },
	[TY_K_RUNNING] = { "running", "running" },
	[TY_K_CUT] = { "cut", "chain cut" },
};

const char *ty_kind_name(enum ty_blame_kind k)
{
	return kinds[k].name;
}

const char *ty_kind_words(enum ty_blame_kind k)
{
	return kinds[k].words;
}
