/* SPDX-License-Identifier: MIT
 *
 * Mapped ranges of each image, and the modules behind them: one per identity,
 * whatever processes map it.  Main thread; files are opened and read by the
 * worker.  A starting process waits for its modules' rows, so answers are
 * published as soon as they are there.
 */
#include <stdio.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "recorder/orders.h"
#include "recorder/recorder.h"

#define MAPS_DEEP 4096 /* maps that nobody has asked for yet, one over the other; ends a loop of bad records */
#define OUT_OF_ORDER 64 /* records of modules that may lie in other threads' rings */
#define IDLE 2u        /* purges that an unused image survives: a forked child of its process may not be registered yet */

struct ty_image *ty_image_get(struct ty_recorder *r, uint64_t id)
{
	uint64_t *at = ty_map_put(&r->modules.images, id);
	if (!at)
		return NULL;
	if (!*at) {
		struct ty_image *im = calloc(1, sizeof *im);
		if (im)
			im->id = id;
		*at = (uint64_t)(uintptr_t)im;
	}
	return (struct ty_image *)(uintptr_t)*at;
}

static void store_module(struct ty_recorder *r, uint32_t i)
{
	const struct ty_rmodule *m = &r->modules.module[i];
	char hex[2 * TY_ID_MAX + 1] = "";
	for (unsigned k = 0; m->id.kind == 1 && k < m->id.len; k++)
		snprintf(hex + 2 * k, 3, "%02x", m->id.id[k]);
	ty_writer_module(r->writer, i, &(struct ty_module_info){ .path = m->path, .build_id = hex,
		.rows = m->rows ? m->rows : "none: not read yet", .row_count = m->row_count,
		.rows_skipped = m->skipped });
}

/* Index of the module, made and asked for when new; TY_NONE: no memory. */
static uint32_t module_of(struct ty_recorder *r, const struct ty_rproc *p, const struct ty_rec_module *m,
			  const char *path)
{
	struct ty_modules *t = &r->modules;
	uint64_t key = XXH3_64bits_withSeed(&m->id, sizeof m->id, m->id.kind ? 0 : XXH3_64bits(path, strlen(path)));
	uint64_t *at = ty_map_put(&t->by_id, key);
	if (!at || *at)
		return at ? (uint32_t)*at - 1 : TY_NONE;
	char *name = strdup(path);
	if (!name || ty_reserve(&t->module, &t->cap, t->count + 1, sizeof *t->module) < 0) {
		free(name);
		return TY_NONE;
	}
	t->module[t->count] = (struct ty_rmodule){ .id = m->id, .path = name };
	*at = ++t->count;
	uint32_t i = (uint32_t)t->count - 1;
	char root[64];
	ty_proc_root((pid_t)p->info.pid, root, sizeof root);
	ty_worker_build(r->worker, i, &m->id, path, root, p->info.pid, m->start);
	t->pending++;
	store_module(r, i);
	return i;
}

/* ---- maps ---- */

/* Later-loaded ranges of an image in the order of their addresses.  What is at
 * the same place was unmapped before.  False: no memory. */
static bool put_over(struct ty_image *im, const struct ty_range *new)
{
	if (ty_reserve(&im->range, &im->cap, im->count + 1, sizeof *im->range) < 0)
		return false;
	size_t n = 0, at = 0;
	for (size_t i = 0; i < im->count; i++) {
		if (im->range[i].start < new->end && im->range[i].end > new->start)
			continue;
		at += im->range[i].start < new->start;
		im->range[n++] = im->range[i];
	}
	memmove(im->range + at + 1, im->range + at, (n - at) * sizeof *im->range);
	im->range[at] = *new;
	im->count = n + 1;
	return true;
}

/* Puts together what the maps under it hold, once all of them have been heard
 * of: threads' records come in any order. */
static bool make_whole(struct ty_image *im)
{
	struct ty_range later[MAPS_DEEP];
	const struct ty_image *under = im;
	int n = 0;
	for (; !under->whole && under != im->root; under = under->from) {
		if (!under->said || n == MAPS_DEEP)
			return false;
		later[n++] = under->range[0];
	}
	if (n == 0)
		return true;
	im->count = 0;
	if (under->whole) {
		if (ty_reserve(&im->range, &im->cap, under->count + 1, sizeof *im->range) < 0)
			return false;
		memcpy(im->range, under->range, under->count * sizeof *im->range);
		im->count = under->count;
	}
	while (n--)
		if (!put_over(im, &later[n]))
			return false;
	im->whole = true;
	return true;
}

static bool comes_after(const struct ty_image *im, const struct ty_image *before)
{
	for (int deep = 0; im && deep < OUT_OF_ORDER; im = im->from, deep++)
		if (im == before)
			return true;
	return false;
}

/* A module that was mapped at start. */
static bool mapped_at_start(struct ty_image *im, const struct ty_range *new)
{
	size_t i = im ? im->count : 0;
	if (!im)
		return false;
	for (; i > 0 && im->range[i - 1].start >= new->start; i--)
		if (im->range[i - 1].start == new->start)
			return true;
	if (ty_reserve(&im->range, &im->cap, im->count + 1, sizeof *im->range) < 0)
		return false;
	memmove(im->range + i + 1, im->range + i, (im->count - i) * sizeof *im->range);
	im->range[i] = *new;
	im->count++;
	im->emptied = false;
	return true;
}

/* One module more makes a new map.  Forked siblings each say it. */
static bool mapped_later(struct ty_recorder *r, struct ty_rproc *p, const struct ty_rec_module *m,
			 const struct ty_range *new)
{
	struct ty_image *root = ty_image_get(r, p->info.image), *im = ty_image_get(r, m->map);
	struct ty_image *from = ty_image_get(r, m->from ? m->from : p->info.image);
	if (!root || !im || !from)
		return false;
	if (im == from || im->first) /* a map over itself, or what another program began with */
		return true;
	if (!im->said) {
		if (ty_reserve(&im->range, &im->cap, 1, sizeof *im->range) < 0)
			return false;
		im->range[0] = *new;
		im->count = 1;
		im->root = root;
		im->from = from;
		im->said = true;
		im->idle = 0;
		im->emptied = false;
	}
	/* of two threads' records in the wrong order, the newer one stays */
	if (comes_after(im, p->image))
		p->image = im;
	return true;
}

void ty_module_mapped(struct ty_recorder *r, struct ty_rproc *p, const struct ty_rec_module *m, const char *path)
{
	struct ty_range new = { m->start, m->end, m->base, module_of(r, p, m, path) };
	bool ok = new.module != TY_NONE;
	if (ok && (!m->map || m->map == p->info.image))
		ok = mapped_at_start(ty_image_get(r, p->info.image), &new);
	else if (ok)
		ok = mapped_later(r, p, m, &new);
	if (!ok)
		r->lost.no_memory++;
	if (ok && m->gen > p->gen)
		p->gen = m->gen;
	ty_objects_mapped(r);
	if (ok)
		ty_orders_mapped(r, p->info.image, &new);
}

static const struct ty_range *find(const struct ty_image *im, uint64_t address)
{
	size_t lo = 0, hi = im->count;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (im->range[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && address < im->range[lo - 1].end ? &im->range[lo - 1] : NULL;
}

uint32_t ty_module_find(struct ty_image *im, uint64_t address, uint64_t *base)
{
	/* what was mapped at start stays */
	const struct ty_range *g = find(im->root ? im->root : im, address);
	if (!g && im->root && make_whole(im))
		g = find(im, address);
	else if (!g && im->root)
		for (int deep = 0; !g && im && im->root && deep < OUT_OF_ORDER; im = im->from, deep++)
			g = find(im, address);
	if (!g)
		return TY_NONE;
	*base = g->base;
	return g->module;
}

size_t ty_module_ranges(struct ty_image *im, struct ty_range **ret)
{
	const struct ty_image *root = im->root ? im->root : im;
	size_t later = im->root && make_whole(im) ? im->count : 0;
	*ret = malloc((root->count + later + 1) * sizeof **ret);
	if (!*ret)
		return 0;
	memcpy(*ret, root->range, root->count * sizeof **ret);
	if (later)
		memcpy(*ret + root->count, im->range, later * sizeof **ret);
	return root->count + later;
}

void ty_images_age(struct ty_recorder *r)
{
	size_t at = 0;
	uint64_t id, value;
	while (ty_map_next(&r->modules.images, &at, &id, &value))
		if (value)
			((struct ty_image *)(uintptr_t)value)->idle++;
	for (size_t i = 0; i < r->reg.count; i++) {
		struct ty_image *im = r->reg.process[i]->info.ended ? NULL : r->reg.process[i]->image;
		if (im && im->root)
			im->root->idle = 0;
		for (; im && im->idle; im = im->whole ? NULL : im->from)
			im->idle = 0;
	}
	at = 0;
	while (ty_map_next(&r->modules.images, &at, &id, &value)) {
		struct ty_image *im = (void *)(uintptr_t)value;
		if (!im || im->emptied || im->idle < IDLE)
			continue;
		free(im->range);
		*im = (struct ty_image){ .id = im->id, .first = im->first, .emptied = true };
	}
}

/* ---- rows ---- */

/* Into the arena, then into the store; b is freed or kept among the late ones.
 * Without a table a module's paths are cut, so one that the system has no memory
 * for is kept until it has, or until the end. */
static void publish(struct ty_recorder *r, struct ty_built *b, bool last)
{
	struct ty_rmodule *m = &r->modules.module[b->module];
	ty_orders_built(r, b); /* who waits for the rows goes on with the variables known */
	int rc = ty_arena_publish(&r->arena, &b->id, b->rows, b->bytes);
	if (rc == -EAGAIN && !last) {
		b->next = r->modules.late;
		r->modules.late = b;
		r->modules.late_at = r->now + TY_ARENA_RETRY_NS;
		return;
	}
	m->built = true;
	m->elf = b->elf;
	m->imports = b->imports;
	if (rc < 0)
		r->modules.no_room++;
	if (!b->rows && asprintf(&m->rows, "none: %s", b->err) < 0)
		m->rows = NULL;
	if (b->rows) {
		m->row_count = b->rows->count;
		m->skipped = b->rows->skipped;
		if (rc == -EAGAIN && asprintf(&m->rows, "none: %s", strerror(r->arena.grow_errno)) < 0)
			m->rows = NULL;
		else if (rc != -EAGAIN)
			m->rows = strdup(rc < 0 ? "none: no room in the arena" : "ready");
	}
	store_module(r, b->module);
	free(b->rows);
	free(b->variable);
	free(b);
}

void ty_modules_built(struct ty_recorder *r, bool last)
{
	struct ty_built *late = NULL;
	if (last || r->now >= r->modules.late_at) {
		late = r->modules.late;
		r->modules.late = NULL;
	}
	for (struct ty_built *b; (b = late);) {
		late = b->next;
		publish(r, b, last);
	}
	for (struct ty_built *b; (b = ty_worker_answer(r->worker));) {
		r->modules.pending--;
		publish(r, b, last);
	}
}

void ty_modules_free(struct ty_recorder *r)
{
	struct ty_modules *t = &r->modules;
	size_t at = 0;
	uint64_t id, image;
	for (struct ty_built *b; (b = t->late);) {
		t->late = b->next;
		ty_elf_close(b->elf);
		free(b->rows);
		free(b->variable);
		free(b);
	}
	for (size_t i = 0; i < t->count; i++) {
		ty_elf_close(t->module[i].elf);
		free(t->module[i].path);
		free(t->module[i].rows);
		free(t->module[i].variable);
	}
	while (ty_map_next(&t->images, &at, &id, &image)) {
		struct ty_image *im = (void *)(uintptr_t)image;
		if (im)
			free(im->range);
		free(im);
	}
	free(t->module);
	ty_map_free(&t->by_id);
	ty_map_free(&t->images);
}
