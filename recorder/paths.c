/* SPDX-License-Identifier: MIT
 *
 * Call paths: raw frames as the traced process sent them -> (module, offset)
 * -> one path of the store, the same for all processes that ran through the
 * same code.  Main thread only.  A path is resolved when the first event that
 * names it is, by then the MODULE records it needs have been drained too.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "recorder/orders.h"
#include "recorder/recorder.h"

#define KNOWN_FULL (TY_KNOWN / 4 * 3)
#define PURGE_NS 1000000000ull /* clearing more often would only send paths again and again */

static struct ty_raw_path *find_raw(const struct ty_recorder *r, uint64_t path)
{
	uint64_t *at = ty_map_find(&r->paths.by_hash, path);
	return at && *at ? &r->paths.raw[*at - 1] : NULL;
}

bool ty_path_known(const struct ty_recorder *r, uint64_t path)
{
	return find_raw(r, path) != NULL;
}

const struct ty_raw_path *ty_path_raw(const struct ty_recorder *r, uint64_t path)
{
	return find_raw(r, path);
}

void ty_path_record(struct ty_recorder *r, const struct ty_rproc *p, const struct ty_rec_path *rec, uint32_t frames)
{
	struct ty_paths *t = &r->paths;
	uint64_t *at = ty_map_put(&t->by_hash, rec->path);
	if (!at || *at) /* known: sent again after the table was cleared */
		return;
	struct ty_raw_path raw = { .path = rec->path, .image = rec->map ? rec->map : p->info.image,
				   .count = (uint16_t)frames,
				   .flags = ty_rec_flags(rec->w0) & TY_F_PARTIAL, .id = TY_NONE };
	raw.frame = malloc(frames * sizeof *raw.frame + 1);
	if (!raw.frame || ty_reserve(&t->raw, &t->cap, t->count + 1, sizeof *t->raw) < 0) {
		free(raw.frame);
		return;
	}
	memcpy(raw.frame, rec->frame, frames * sizeof *raw.frame);
	ty_orders_path(r, raw.path, raw.image, raw.frame, frames);
	t->raw[t->count++] = raw;
	*at = t->count;
}

/* Remembers an address for the symbols at the end. */
static void note_seen(struct ty_recorder *r, const struct ty_frame *f)
{
	struct ty_paths *t = &r->paths;
	uint64_t *at = f->module < 0 ? NULL :
			ty_map_put(&t->seen_at, ty_mix(f->offset) ^ ty_mix((uint64_t)f->module + 1) ^ f->exact);
	if (!at || *at || ty_reserve(&t->seen, &t->seen_cap, t->seen_count + 1, sizeof *t->seen) < 0)
		return;
	t->seen[t->seen_count++] = (struct ty_address){ (uint32_t)f->module, f->exact, f->offset };
	*at = t->seen_count;
	r->modules.module[f->module].seen = true;
}

/* The store's id of a list of frames; a new one is written. */
static uint32_t store_path(struct ty_recorder *r, const struct ty_frame *frame, uint32_t count, uint16_t flags)
{
	struct ty_paths *t = &r->paths;
	uint64_t words[2 * TY_FRAMES_MAX + 1];
	words[0] = flags;
	for (uint32_t i = 0; i < count; i++) {
		words[1 + 2 * i] = (uint64_t)(int64_t)frame[i].module << 1 | frame[i].exact;
		words[2 + 2 * i] = frame[i].offset;
	}
	uint64_t *at = ty_map_put(&t->stored, XXH3_64bits(words, (1 + 2 * (size_t)count) * sizeof *words));
	if (at && *at)
		return (uint32_t)*at - 1;
	uint32_t id = t->next++;
	if (at)
		*at = id + 1;
	for (uint32_t i = 0; i < count; i++)
		note_seen(r, &frame[i]);
	ty_writer_path(r->writer, id, &(struct ty_path){ .flags = flags, .count = (uint16_t)count, .frames = frame });
	return id;
}

static struct ty_frame to_frame(struct ty_image *im, uint64_t raw)
{
	uint64_t address = raw & ~TY_FRAME_EXACT, base = 0;
	bool exact = raw & TY_FRAME_EXACT;
	/* a return address may be the first byte after its function, and after its module */
	uint32_t m = im ? ty_module_find(im, exact ? address : address - 1, &base) : TY_NONE;
	return (struct ty_frame){ .module = m == TY_NONE ? -1 : (int32_t)m, .exact = exact, .offset = address - base };
}

bool ty_path_locate(const struct ty_recorder *r, uint64_t image, uint64_t frame, struct ty_address *ret)
{
	struct ty_image **im = (struct ty_image **)ty_map_find(&r->modules.images, image);
	struct ty_frame f = to_frame(im ? *im : NULL, frame);
	*ret = (struct ty_address){ (uint32_t)f.module, f.exact, f.offset };
	return f.module >= 0;
}

/* Its frames were dropped: one unknown frame, for a path has at least one. */
static uint32_t missing(struct ty_recorder *r)
{
	if (!r->paths.missing)
		r->paths.missing = store_path(r, &(struct ty_frame){ .module = -1 }, 1, TY_F_MISS) + 1;
	r->lost.path_missed++;
	return r->paths.missing - 1;
}

/* One frame, the caller's address. */
static uint32_t caller(struct ty_recorder *r, const struct ty_rproc *p, uint64_t address, uint16_t flags)
{
	uint16_t about = flags & (TY_F_NO_PATH | TY_F_PARTIAL);
	about = about ? about : TY_F_NO_PATH;
	uint64_t key = ty_mix(address ^ ty_mix(p->image->id ^ ty_mix(p->gen << 16 | about)));
	uint64_t *at = ty_map_put(&r->paths.callers, key);
	if (at && *at)
		return (uint32_t)*at - 1;
	struct ty_frame f = address ? to_frame(p->image, address) : (struct ty_frame){ .module = -1 };
	uint32_t id = store_path(r, &f, 1, about);
	if (at && (f.module >= 0 || address == 0)) /* its module may still be announced */
		*at = id + 1;
	return id;
}

uint32_t ty_path_resolve(struct ty_recorder *r, const struct ty_rproc *p, uint64_t path, uint16_t flags)
{
	if (!(path >> 63))
		return caller(r, p, path, flags);
	struct ty_raw_path *raw = find_raw(r, path);
	if (!raw)
		return missing(r);
	if (raw->id != TY_NONE)
		return raw->id;
	struct ty_frame frame[TY_FRAMES_MAX];
	struct ty_image **im = (struct ty_image **)ty_map_find(&r->modules.images, raw->image);
	for (uint32_t i = 0; i < raw->count; i++)
		frame[i] = to_frame(im ? *im : NULL, raw->frame[i]);
	raw->id = store_path(r, frame, raw->count, raw->flags);
	if (!r->set->self_check) {
		free(raw->frame);
		raw->frame = NULL;
	}
	return raw->id;
}

/* Forgets paths of images that no living process has. */
static void drop_unused(struct ty_recorder *r)
{
	struct ty_paths *t = &r->paths;
	size_t n = 0;
	ty_images_age(r);
	ty_map_free(&t->by_hash);
	for (size_t i = 0; i < t->count; i++) {
		uint64_t *im = ty_map_find(&r->modules.images, t->raw[i].image);
		bool unused = im && *im && ((struct ty_image *)(uintptr_t)*im)->emptied;
		uint64_t *v = unused ? NULL : ty_map_put(&t->by_hash, t->raw[i].path);
		if (v) {
			t->raw[n++] = t->raw[i];
			*v = n;
		} else {
			free(t->raw[i].frame);
		}
	}
	t->count = n;
}

void ty_paths_purge(struct ty_recorder *r)
{
	struct ty_arena *a = r->arena.a;
	if (atomic_load_explicit(&a->known_count, memory_order_relaxed) < KNOWN_FULL || r->now - r->known_at < PURGE_NS ||
	    r->events.before.count)
		return;
	r->known_at = r->now;
	for (uint32_t i = 0; i < TY_KNOWN; i++)
		atomic_store_explicit(&a->known[i], 0, memory_order_relaxed);
	atomic_store_explicit(&a->known_count, 0, memory_order_relaxed);
	drop_unused(r);
}

void ty_paths_free(struct ty_recorder *r)
{
	struct ty_paths *t = &r->paths;
	for (size_t i = 0; i < t->count; i++)
		free(t->raw[i].frame);
	free(t->raw);
	free(t->seen);
	ty_map_free(&t->by_hash);
	ty_map_free(&t->callers);
	ty_map_free(&t->stored);
	ty_map_free(&t->seen_at);
}
