/* SPDX-License-Identifier: MIT
 *
 * Objects that are static variables: which of them were waited for, process by
 * process, and at the end their names into the store.  An address of a static
 * variable means nothing in the next run, its name does.  A library that came
 * later is known once a call path goes through it.  Main thread only;
 * names when the worker has stopped. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "recorder/finish.h"
#include "recorder/recorder.h"
#include "recorder/symbols.h"

#define OBJECTS_MAX 65536u /* then further ones keep their addresses */
#define COMMIT_EVERY 4096u

static uint64_t key_of(uint32_t process, uint64_t object)
{
	return ty_mix(object ^ ty_mix((uint64_t)process + 1));
}

void ty_object_seen(struct ty_recorder *r, const struct ty_rproc *p, const struct ty_ev *ev)
{
	struct ty_objects *t = &r->objects;
	if (ev->kind == TY_EV_MARK || !ev->object || ev->flags & TY_F_SHARED || !p->image)
		return;
	uint64_t key = key_of(p->id, ev->object), base = 0;
	uint64_t *recent = &t->recent[key % TY_OBJECTS_RECENT];
	if (*recent == key) /* most events; those on the heap, too */
		return;
	*recent = key;
	uint32_t module = t->count < OBJECTS_MAX ? ty_module_find(p->image, ev->object, &base) : TY_NONE;
	uint64_t *at = module != TY_NONE ? ty_map_put(&t->known, key) : NULL;
	if (!at || *at || ty_reserve(&t->v, &t->cap, t->count + 1, sizeof *t->v) < 0)
		return;
	t->v[t->count++] = (struct ty_static){ p->id, module, ev->object, ev->object - base };
	*at = t->count;
}

void ty_objects_mapped(struct ty_recorder *r)
{
	memset(r->objects.recent, 0, sizeof r->objects.recent);
}

/* "cache_lock", "table+0x28"; without a symbol table "server+0x1f80". */
static void name_of(const struct ty_rmodule *m, uint64_t vaddr, char *buf, size_t size)
{
	const char *slash = strrchr(m->path, '/');
	if (!m->elf || !ty_symbols_variable_at(m->elf, vaddr, buf, size))
		snprintf(buf, size, "%s+0x%" PRIx64, slash ? slash + 1 : m->path, vaddr);
}

int ty_store_object_names(struct ty_recorder *r, struct ty_store *s, char *err)
{
	const struct ty_objects *t = &r->objects;
	char name[256];
	int rc = 0;
	for (size_t i = 0; i < t->count && rc == 0 && !r->stop_early; i++) {
		const struct ty_static *o = &t->v[i];
		name_of(&r->modules.module[o->module], o->vaddr, name, sizeof name);
		rc = ty_store_put_object(s, o->process, o->object, name, err);
		if (rc == 0 && i % COMMIT_EVERY == COMMIT_EVERY - 1)
			rc = ty_store_commit(s, false, err);
	}
	return rc;
}

void ty_objects_free(struct ty_recorder *r)
{
	ty_map_free(&r->objects.known);
	free(r->objects.v);
}
