/* SPDX-License-Identifier: MIT
 *
 * Factors in words: one sentence each.  Runs in readers. */
#include <math.h>
#include <stdio.h>

#include "analyze/fmt.h"
#include "analyze/names.h"
#include "analyze/tree.h"

#define NAMES 56 /* columns of a name in a sentence */

/* What a wait of that class waits for. */
static const char *waited_for(unsigned cls)
{
	static const char *const words[TY_CLASS_COUNT] = {
		[TY_CLASS_MUTEX] = "a mutex", [TY_CLASS_RWLOCK] = "a read-write lock", [TY_CLASS_SPIN] = "a spin lock",
		[TY_CLASS_COND] = "a condition variable", [TY_CLASS_SEM] = "a semaphore",
		[TY_CLASS_BARRIER] = "a barrier", [TY_CLASS_THREAD] = "another thread", [TY_CLASS_FUTEX] = "a futex",
		[TY_CLASS_SYNC] = "data to reach the disk", [TY_CLASS_READ] = "a read", [TY_CLASS_WRITE] = "a write",
		[TY_CLASS_RECV] = "data from a socket", [TY_CLASS_SEND] = "a socket to take data",
		[TY_CLASS_COPY] = "a copy between descriptors", [TY_CLASS_ACCEPT] = "a connection",
		[TY_CLASS_CONNECT] = "a connection", [TY_CLASS_CLOSE] = "a descriptor to close",
		[TY_CLASS_POLL] = "a descriptor to become ready", [TY_CLASS_SLEEP] = "time to pass",
		[TY_CLASS_FLOCK] = "a file lock", [TY_CLASS_AIO] = "an asynchronous IO",
	};
	return cls < TY_CLASS_COUNT && words[cls] ? words[cls] : "something";
}

const char *ty_site_target(const struct run *r, uint32_t site, char buf[512])
{
	if (site == TY_NONE || !r->store || !ty_class_has_fd(r->sites.v[site].cls))
		return NULL;
	const char *name = ty_site_object_name(r, site, buf);
	return name && (*name == '/' || !strncmp(name, "tcp", 3) || !strncmp(name, "unix", 4)) ? name : NULL;
}

static const char *fit(char buf[512], const char *name)
{
	return ty_fmt_fit(buf, 512, name, NAMES);
}

/* The nearest function above `node` that has a name of its own, or else its caller; "" at the root. */
static const char *caller(const struct ty_tree *t, uint32_t node)
{
	uint32_t first = t->v[node].parent;
	for (uint32_t p = first; p; p = t->v[p].parent)
		if (t->v[p].kind == TY_NODE_FUNCTION && !strstr(t->name[t->v[p].name], "+0x"))
			return t->name[t->v[p].name];
	return first && t->v[first].kind == TY_NODE_FUNCTION ? t->name[t->v[first].name] : "";
}

/* The leaf under `node` with the largest share. */
static uint32_t main_leaf(const struct ty_tree *t, uint32_t node)
{
	while (t->v[node].child) {
		uint32_t best = t->v[node].child;
		for (uint32_t c = best; c; c = t->v[c].next)
			if (t->v[c].share > t->v[best].share)
				best = c;
		node = best;
	}
	return node;
}

static void wait_words(const struct ty_tree *t, uint32_t node, const struct run *r, char *buf, size_t size)
{
	const struct ty_node *n = &t->v[node];
	char who[512], in[512], object[512], on[512];
	uint32_t asker = n->parent;
	if (t->v[asker].kind == TY_NODE_NO_PATH) {
		snprintf(buf, size, "%s is called often, and each call is too short for a call path (min_path)",
			 t->name[n->name]);
		return;
	}
	const char *z = caller(t, asker), *o = NULL;
	if (n->sites == 1)
		o = ty_site_target(r, n->site, object);
	snprintf(buf, size, "%s waits for %s%s%s (%s)%s%s", fit(who, t->name[t->v[asker].name]),
		 waited_for(n->site != TY_NONE ? r->sites.v[n->site].cls : TY_CLASS_COUNT), o ? ", mostly " : "",
		 o ? fit(on, o) : "", t->name[n->name], *z ? " in " : "", fit(in, z));
}

static void function_words(const struct ty_tree *t, uint32_t node, const struct run *r, char *buf, size_t size)
{
	const struct ty_node *n = &t->v[node];
	char who[512], in[512], share[TY_FMT], most[512];
	uint32_t leaf = main_leaf(t, node);
	if (n->kind == TY_NODE_RUNNING)
		snprintf(buf, size, "requests run, wait for a CPU, or wait where it cannot be seen");
	else if (n->kind == TY_NODE_HELD)
		snprintf(buf, size, "requests are held up while their thread works on others");
	else if (n->kind == TY_NODE_NO_PATH)
		snprintf(buf, size, "waits too short for a call path (min_path) add up");
	else
		snprintf(buf, size, "%s waits, most of it in %s (%s)%s%s", fit(who, t->name[n->name]),
			 fit(most, t->name[t->v[leaf].same]), ty_fmt_percent(share, t->v[leaf].share),
			 *caller(t, node) ? ", called by " : "", fit(in, caller(t, node)));
}

static size_t ancestors(const struct ty_tree *t, uint32_t node, uint32_t *up, size_t max)
{
	size_t n = 0;
	uint32_t p = t->v[node].parent;
	if (t->v[node].kind == TY_NODE_WAIT && p) /* the function is in the factor's name */
		p = t->v[p].parent;
	for (; p && n < max; p = t->v[p].parent)
		up[n++] = p;
	return n;
}

const char *ty_factor_place(const struct ty_tree *t, const struct ty_factor *f, size_t i, char *buf, size_t size)
{
	uint32_t mine[256], other[256];
	size_t n = ancestors(t, f->place[i].a, mine, 256), outer = n, inner = n, at = 0;
	for (size_t k = 0; k < f->places && k < TY_PLACES && f->place[k].share >= TY_PLACE_LEAST; k++) {
		size_t m = ancestors(t, f->place[k].a, other, 256), same = 0, alike = 0;
		if (k == i)
			continue;
		while (same < n && same < m && mine[n - 1 - same] == other[m - 1 - same])
			same++;
		while (alike < n && alike < m && t->v[mine[alike]].same == t->v[other[alike]].same)
			alike++;
		outer = same < outer ? same : outer;
		inner = alike < inner ? alike : inner;
	}
	if (outer + inner >= n) /* it is the only one, or lies on the way to another */
		outer = inner = 0;
	snprintf(buf, size, "the request");
	for (size_t k = outer; k < n - inner && at < size; k++)
		at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? " > " : "", t->name[t->v[mine[n - 1 - k]].name]);
	return buf;
}

const char *ty_factor_sentence(const struct ty_tree *t, const struct ty_factor *f, const struct run *r,
			       char *buf, size_t size)
{
	uint32_t node = f->place[0].a;
	char a[512], b[512];
	if (f->b == f->a)
		snprintf(buf, size, "%s is long in several places in the same requests", fit(a, t->name[f->a]));
	else if (f->b != TY_NONE)
		snprintf(buf, size, "%s and %s are long in the same requests", fit(a, t->name[f->a]),
			 fit(b, t->name[f->b]));
	else if (t->v[node].kind == TY_NODE_WAIT)
		wait_words(t, node, r, buf, size);
	else
		function_words(t, node, r, buf, size);
	return buf;
}
