/* SPDX-License-Identifier: MIT
 *
 * Mapped ranges of each image, and the modules behind them: one per identity,
 * whatever processes map it.  Main thread; files are opened and read by the
 * worker.  A starting process waits for its modules' rows, so answers are
 * published as soon as they are there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "recorder/recorder.h"

#define MAPS_DEEP 4096 /* modules loaded after start, one over the other; ends a loop of bad records */

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
	ty_worker_build(r->worker, i, &m->id, path, root, p->info.pid, m->start, m->end);
	t->pending++;
	store_module(r, i);
	return i;
}

static bool has_ancestor(const struct ty_image *im, const struct ty_image *what)
{
	for (int deep = 0; im && deep < MAPS_DEEP; im = im->from, deep++)
		if (im == what)
			return true;
	return false;
}

/* The map that the record names, in force in its process from now on.  Two
 * threads' records may come in the wrong order: the newer one stays. */
static struct ty_image *map_of(struct ty_recorder *r, struct ty_rproc *p, const struct ty_rec_module *m)
{
	if (!m->map || m->map == p->image->id)
		return p->image;
	struct ty_image *im = ty_image_get(r, m->map), *from = m->from != m->map ? ty_image_get(r, m->from) : NULL;
	if (!im)
		return NULL;
	if (from && !im->from && !has_ancestor(from, im)) {
		im->from = from;
		for (struct ty_image *a = from; a && r->set->self_check; a = a->from)
			for (size_t i = 0; i < a->count; i++)
				ty_worker_map(r->worker, im->id, a->range[i].gen, a->range[i].start, a->range[i].end,
					      a->range[i].base, a->range[i].module);
	}
	if (has_ancestor(im, p->image))
		p->image = im;
	return im;
}

void ty_module_mapped(struct ty_recorder *r, struct ty_rproc *p, const struct ty_rec_module *m, const char *path)
{
	struct ty_image *im = map_of(r, p, m);
	if (!im) {
		r->lost.no_memory++;
		return;
	}
	uint32_t module = module_of(r, p, m, path);
	if (module == TY_NONE || ty_reserve(&im->range, &im->cap, im->count + 1, sizeof *im->range) < 0) {
		r->lost.no_memory++;
		return;
	}
	if (m->gen > p->gen)
		p->gen = m->gen;
	size_t i = im->count;
	for (; i > 0; i--) {
		const struct ty_range *b = &im->range[i - 1];
		if (b->gen == m->gen && b->start == m->start && b->module == module)
			return; /* forked siblings each say it */
		if (b->gen < m->gen || (b->gen == m->gen && b->start <= m->start))
			break;
	}
	memmove(im->range + i + 1, im->range + i, (im->count - i) * sizeof *im->range);
	im->range[i] = (struct ty_range){ m->gen, m->start, m->end, m->base, module };
	im->count++;
	if (r->set->self_check)
		ty_worker_map(r->worker, im->id, m->gen, m->start, m->end, m->base, module);
}

/* In the map or the ones under it: the range of the same generation, else of the latest one before it: what was
 * mapped at start is said once and stays. */
uint32_t ty_module_find(const struct ty_image *im, uint64_t gen, uint64_t address, uint64_t *base)
{
	for (int deep = 0; im && deep < MAPS_DEEP; im = im->from, deep++)
		for (size_t i = im->count; i-- > 0;) {
			const struct ty_range *g = &im->range[i];
			if (g->gen <= gen && address >= g->start && address < g->end) {
				*base = g->base;
				return g->module;
			}
		}
	return TY_NONE;
}

static void published(struct ty_recorder *r, struct ty_built *b)
{
	struct ty_rmodule *m = &r->modules.module[b->module];
	m->built = true;
	m->elf = b->elf;
	m->imports = b->imports;
	int rc = b->rows ? ty_arena_publish(&r->arena, &b->id, b->rows, b->bytes) :
			   ty_arena_publish(&r->arena, &b->id, NULL, 0);
	if (rc < 0)
		r->modules.no_room++;
	if (!b->rows && asprintf(&m->rows, "none: %s", b->err) < 0)
		m->rows = NULL;
	if (b->rows) {
		m->row_count = b->rows->count;
		m->skipped = b->rows->skipped;
		m->rows = strdup(rc < 0 ? "none: no room in the arena" : "ready");
	}
	store_module(r, b->module);
}

void ty_modules_built(struct ty_recorder *r)
{
	for (struct ty_built *b; (b = ty_worker_answer(r->worker)); free(b)) {
		published(r, b);
		r->modules.pending--;
		free(b->rows);
	}
}

void ty_modules_free(struct ty_recorder *r)
{
	struct ty_modules *t = &r->modules;
	size_t at = 0;
	uint64_t id, image;
	for (size_t i = 0; i < t->count; i++) {
		ty_elf_close(t->module[i].elf);
		free(t->module[i].path);
		free(t->module[i].rows);
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
