/* SPDX-License-Identifier: MIT
 * Which module an address of the traced process belongs to.  A private list,
 * only appended to; readers take no lock.  The constructor fills it with what
 * is mapped at start; later modules are found through _dl_find_object (glibc
 * 2.35: lock-free, no system call) when a walk meets them, and announced to
 * the recorder, which answers by publishing their rows in the arena.
 *
 * dlclose may unmap a module and dlopen may put another one at its address:
 * entries found after start carry the generation they were made in, dlclose
 * starts a new one before it unmaps anything, and while one is running nothing
 * is added. */
#include "preload/path.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include "tarry/module_id.h"

#define MODULES 1024
#define GEN_ALWAYS UINT64_MAX
#define HINTS 1024

struct module {
	uint64_t start, end, base;
	_Atomic uint64_t gen;         /* release in add, acquire in covers; GEN_ALWAYS: mapped at start */
	_Atomic(const struct ty_rows *) rows; /* release in look_up, acquire in module_rows */
	_Atomic uint32_t answered;    /* 0: rows not decided; 1: rows or never.  Release after rows in look_up,
				       * acquire in module_rows */
	_Atomic uint32_t looked_at;   /* module_count of the arena at the last look.  Relaxed: only saves a look */
	struct ty_module_id id;
};

static struct module modules[MODULES];
static _Atomic uint32_t count;    /* release after an entry is filled; acquire in find */
static _Atomic uint16_t hints[HINTS]; /* index by address; only a guess, checked: relaxed */
static _Atomic uint32_t adding;   /* one thread appends, others come back later: CAS acquire, release when done */
/* dlclose calls in progress, and how many have begun.  Both change seq_cst, closing
 * first, before the real call.  Announcing reads them the other way round (acquire,
 * seq_cst): if it finds nobody closing, its generation is older than any call that
 * begins after it looked, and what it adds is over when that call begins.  Elsewhere
 * generation is relaxed: a path says with which one it was walked. */
static _Atomic uint32_t closing;
static _Atomic uint64_t generation;

uint64_t ty_module_gen(void)
{
	return atomic_load_explicit(&generation, memory_order_relaxed);
}

void ty_module_close_begin(struct ty_thread *t)
{
	atomic_fetch_add_explicit(&closing, 1, memory_order_seq_cst);
	uint64_t gen = atomic_fetch_add_explicit(&generation, 1, memory_order_seq_cst) + 1;
	if (!t)
		return;
	ty_guard_set((uintptr_t)__builtin_frame_address(0));
	struct ty_rec_gen *r = ty_ring_reserve(ty_proc.arena, t, &ty_tls.cursor, sizeof *r);
	if (r) {
		*r = (struct ty_rec_gen){ TY_WORD0(TY_REC_GEN, sizeof *r / 8, 0, 0, 0), ty_now(), gen };
		ty_ring_commit(ty_proc.arena, &ty_tls.cursor, r, sizeof *r);
	}
	ty_guard_clear();
}

void ty_module_close_end(void)
{
	uint32_t n = atomic_load_explicit(&closing, memory_order_relaxed);
	/* 0 already when a destructor forked and the child comes back from dlclose */
	while (n && !atomic_compare_exchange_weak_explicit(&closing, &n, n - 1, memory_order_seq_cst,
							   memory_order_relaxed))
		;
}

void ty_module_forked(void)
{
	atomic_store_explicit(&adding, 0, memory_order_relaxed);
	atomic_store_explicit(&closing, 0, memory_order_relaxed);
}

static int covers(const struct module *m, uint64_t at)
{
	if (at < m->start || at >= m->end)
		return 0;
	uint64_t gen = atomic_load_explicit(&m->gen, memory_order_acquire);
	return gen == GEN_ALWAYS || gen == ty_module_gen();
}

TY_HOT static struct module *find(uint64_t at)
{
	uint32_t n = atomic_load_explicit(&count, memory_order_acquire);
	_Atomic uint16_t *hint = &hints[(at >> 14) % HINTS];
	uint32_t h = atomic_load_explicit(hint, memory_order_relaxed);
	if (TY_LIKELY(h < n && covers(&modules[h], at)))
		return &modules[h];
	for (uint32_t i = 0; i < n; i++)
		if (covers(&modules[i], at)) {
			atomic_store_explicit(hint, (uint16_t)i, memory_order_relaxed);
			return &modules[i];
		}
	return NULL;
}

/* What the arena says about m; decides once. */
static void look_up(struct module *m)
{
	struct ty_arena *a = ty_proc.arena;
	uint32_t n = atomic_load_explicit(&a->module_count, memory_order_acquire);
	if (!m->id.kind) { /* another unidentified module's rows would be the wrong ones */
		atomic_store_explicit(&m->answered, 1, memory_order_release);
		return;
	}
	if (n == atomic_load_explicit(&m->looked_at, memory_order_relaxed))
		return;
	for (uint32_t i = 0; i < n && i < TY_MODULES; i++) {
		const struct ty_module *am = &a->module[i];
		if (memcmp(&am->id, &m->id, sizeof m->id) != 0)
			continue;
		if (am->state == TY_MODULE_READY) {
			const struct ty_rows *r = (const void *)ty_arena_chunk(a, am->rows_off_chunk);
			uint64_t room = a->reserve - a->chunk_off - (uint64_t)am->rows_off_chunk * TY_CHUNK;
			if (a->reserve - a->chunk_off > (uint64_t)am->rows_off_chunk * TY_CHUNK &&
			    r->magic == TY_ROWS_MAGIC && r->count && ty_rows_size(r->count, r->blocks) <= room)
				atomic_store_explicit(&m->rows, r, memory_order_release);
		}
		atomic_store_explicit(&m->answered, 1, memory_order_release);
		return;
	}
	atomic_store_explicit(&m->looked_at, n, memory_order_relaxed);
}

/* The rows of m, which was found for `at`; NULL: there are none, *st says why. */
static const struct ty_rows *module_rows(struct module *m, uint64_t at, enum ty_rows_state *st)
{
	if (TY_LIKELY(m != NULL)) {
		if (TY_UNLIKELY(!atomic_load_explicit(&m->answered, memory_order_acquire)))
			look_up(m);
		const struct ty_rows *r = atomic_load_explicit(&m->rows, memory_order_acquire);
		*st = r ? TY_ROWS_READY :
			  atomic_load_explicit(&m->answered, memory_order_acquire) ? TY_ROWS_NEVER : TY_ROWS_PENDING;
		return r;
	}
	*st = TY_ROWS_NEVER;
#if __GLIBC_PREREQ(2, 35)
	struct dl_find_object o;
	if (atomic_load_explicit(&closing, memory_order_seq_cst))
		*st = TY_ROWS_PENDING;
	else if (_dl_find_object((void *)(uintptr_t)at, &o) == 0)
		*st = TY_ROWS_NEW;
#endif
	return NULL;
}

/* ---- rules of addresses met before ---- */

/* A look-up in the rows touches three or four lines and as many pages far from
 * each other, for each frame; after a system call that is most of what a wait
 * costs.  So rules of modules that stay mapped are kept, each in one word with
 * its whole address: a word that is there is true, whoever wrote it.
 *
 *   63                    27 26  24 23            10  9   8             0
 *  +-----------------------+------+-----------------+---+----------------+
 *  | address / KEPT        | kind | k / 8 (signed)  | s | bp / 8 (signed)|
 *  +-----------------------+------+-----------------+---+----------------+
 */
#define KEPT 1024u
static _Atomic uint64_t kept[KEPT] __attribute__((aligned(4096))); /* relaxed */

/* The lower part of the address, mixed with the upper: where it is kept says what it is. */
static inline uint64_t kept_slot(uint64_t at)
{
	return (at ^ at / KEPT) % KEPT;
}

static inline uint32_t kept_rule(uint64_t word)
{
	int32_t bp8 = (int32_t)((uint32_t)word << 23) >> 23, k8 = (int32_t)((uint32_t)word << 8) >> 18;
	return ty_rule((enum ty_rule_kind)(word >> 24 & 7), k8, (int)(word >> 9), bp8);
}

static void keep(uint64_t at, uint32_t rule)
{
	_Atomic uint64_t *slot = &kept[kept_slot(at)];
	uint64_t word = at / KEPT << 27 | (uint64_t)ty_rule_kind(rule) << 24 |
			((uint64_t)(ty_rule_k(rule) / 8) & 0x3fff) << 10 | (uint64_t)ty_rule_saved(rule) << 9 |
			((uint64_t)(ty_rule_bp(rule) / 8) & 0x1ff);
	if (at >> 47 || kept_rule(word) != rule)
		return; /* does not fit */
	/* Two addresses of one slot should not drive each other out at every wait. */
	if (atomic_load_explicit(slot, memory_order_relaxed) && ty_tls.cursor.pos / 16 % 16)
		return;
	atomic_store_explicit(slot, word, memory_order_relaxed);
}

TY_HOT int ty_module_rule(uint64_t at, uint32_t *rule, enum ty_rows_state *st)
{
	uint64_t word = atomic_load_explicit(&kept[kept_slot(at)], memory_order_relaxed);
	if (TY_LIKELY(word >> 27 == at / KEPT && word)) {
		*rule = kept_rule(word);
		return 1;
	}
	struct module *m = find(at);
	const struct ty_rows *rows = module_rows(m, at, st);
	if (!rows)
		return 0;
	*rule = ty_rows_find(rows, at - m->base);
	if (atomic_load_explicit(&m->gen, memory_order_relaxed) == GEN_ALWAYS)
		keep(at, *rule);
	return 1;
}

/* ---- identity ---- */

static void note_id(struct ty_module_id *id, const char *p, const char *end)
{
	while ((size_t)(end - p) >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const void *)p;
		size_t name = (n->n_namesz + 3u) & ~3u, desc = (n->n_descsz + 3u) & ~3u;
		p += sizeof *n;
		if (name > (size_t)(end - p) || desc > (size_t)(end - p) - name)
			return;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && memcmp(p, "GNU", 4) == 0 &&
		    n->n_descsz > 0) {
			id->kind = 1;
			id->len = (uint8_t)(n->n_descsz < TY_ID_MAX ? n->n_descsz : TY_ID_MAX);
			memcpy(id->id, p + name, id->len);
			return;
		}
		p += name + desc;
	}
}

static void identify(struct module *m, const ElfW(Phdr) *ph, size_t n)
{
	const void *eh = NULL;
	size_t eh_size = 0;
	for (size_t i = 0; i < n && !m->id.kind; i++) {
		uint64_t at = m->base + ph[i].p_vaddr;
		if (at < m->start || at >= m->end || ph[i].p_filesz > m->end - at)
			continue;
		if (ph[i].p_type == PT_NOTE)
			note_id(&m->id, (const char *)(uintptr_t)at, (const char *)(uintptr_t)(at + ph[i].p_filesz));
		if (ph[i].p_type == PT_GNU_EH_FRAME) {
			eh = (const void *)(uintptr_t)at;
			eh_size = ph[i].p_filesz;
		}
	}
	if (!m->id.kind)
		ty_module_hash(&m->id, ph, n * sizeof *ph, eh, eh_size);
}

/* ---- adding ---- */

static int tell(struct ty_thread *t, const struct module *m, uint64_t gen, uint64_t map, const char *path)
{
	size_t len = strlen(path);
	if (len > 1000)
		len = 1000;
	uint32_t bytes = (uint32_t)((sizeof(struct ty_rec_module) + len + 8) & ~(size_t)7);
	struct ty_rec_module *r = ty_ring_reserve(ty_proc.arena, t, &ty_tls.cursor, bytes);
	if (!r)
		return 0;
	memset(r, 0, bytes);
	r->w0 = TY_WORD0(TY_REC_MODULE, 0, 0, 0, 0);
	r->words = bytes / 8;
	r->gen = gen;
	r->map = map;
	r->from = atomic_load_explicit(&ty_proc.map, memory_order_relaxed);
	r->base = m->base;
	r->start = m->start;
	r->end = m->end;
	r->id = m->id;
	memcpy(r->path, path, len);
	ty_ring_commit(ty_proc.arena, &ty_tls.cursor, r, bytes);
	return 1;
}

/* Appends, or revives the same module's entry of an older generation. */
static int add(struct ty_thread *t, const struct module *new, uint64_t gen, const char *path)
{
	uint32_t n = atomic_load_explicit(&count, memory_order_relaxed);
	uint64_t map = ty_proc.image;
	if (gen != GEN_ALWAYS)
		map = ty_mix(ty_fnv1a(atomic_load_explicit(&ty_proc.map, memory_order_relaxed) ^ new->start, &new->id,
				      sizeof new->id));
	if (!tell(t, new, gen == GEN_ALWAYS ? 0 : gen, map, path))
		return 0;
	atomic_store_explicit(&ty_proc.map, map, memory_order_relaxed);
	for (uint32_t i = 0; i < n; i++) {
		struct module *m = &modules[i];
		if (m->start == new->start && m->end == new->end && memcmp(&m->id, &new->id, sizeof m->id) == 0) {
			atomic_store_explicit(&m->gen, gen, memory_order_release);
			return 1;
		}
	}
	if (n == MODULES)
		return 0;
	struct module *m = &modules[n];
	m->start = new->start;
	m->end = new->end;
	m->base = new->base;
	m->id = new->id;
	atomic_store_explicit(&m->gen, gen, memory_order_relaxed);
	atomic_store_explicit(&count, n + 1, memory_order_release);
	return 1;
}

static const char *shown_path(const char *name, uint64_t base)
{
	if (base && base == getauxval(AT_SYSINFO_EHDR))
		return "[vdso]";
	return name && *name ? name : ty_proc.exe;
}

int ty_module_announce(struct ty_thread *t, uint64_t at)
{
#if __GLIBC_PREREQ(2, 35)
	struct dl_find_object o;
	struct module m = { 0 };
	uint32_t no = 0;
	uint64_t gen = atomic_load_explicit(&generation, memory_order_acquire);
	if (!atomic_compare_exchange_strong_explicit(&adding, &no, 1, memory_order_acquire, memory_order_relaxed))
		return 0;
	int done = 0;
	if (find(at)) { /* another thread was faster */
		done = 1;
	} else if (!atomic_load_explicit(&closing, memory_order_seq_cst) &&
		   _dl_find_object((void *)(uintptr_t)at, &o) == 0) {
		const ElfW(Ehdr) *eh = o.dlfo_map_start;
		m.start = (uintptr_t)o.dlfo_map_start;
		m.end = (uintptr_t)o.dlfo_map_end;
		m.base = o.dlfo_link_map ? o.dlfo_link_map->l_addr : m.start;
		if (m.end - m.start >= 4096 && memcmp(eh->e_ident, ELFMAG, SELFMAG) == 0 &&
		    eh->e_phentsize == sizeof(ElfW(Phdr)) &&
		    eh->e_phoff + (uint64_t)eh->e_phnum * sizeof(ElfW(Phdr)) <= 4096)
			identify(&m, (const void *)((const char *)eh + eh->e_phoff), eh->e_phnum);
		done = add(t, &m, gen, shown_path(o.dlfo_link_map ? o.dlfo_link_map->l_name : NULL, m.start));
	}
	atomic_store_explicit(&adding, 0, memory_order_release);
	return done;
#else
	(void)t, (void)at;
	return 0;
#endif
}

static int startup_one(struct dl_phdr_info *p, size_t size, void *arg)
{
	struct module m = { .start = UINT64_MAX, .base = p->dlpi_addr };
	(void)size;
	for (int i = 0; i < p->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &p->dlpi_phdr[i];
		if (ph->p_type != PT_LOAD)
			continue;
		uint64_t lo = (m.base + ph->p_vaddr) & ~4095ull, hi = m.base + ph->p_vaddr + ph->p_memsz;
		m.start = lo < m.start ? lo : m.start;
		m.end = hi > m.end ? hi : m.end;
	}
	if (m.end <= m.start)
		return 0;
	identify(&m, p->dlpi_phdr, p->dlpi_phnum);
	add(arg, &m, GEN_ALWAYS, shown_path(p->dlpi_name, m.start));
	return 0;
}

void ty_module_startup(struct ty_thread *t)
{
	dl_iterate_phdr(startup_one, t);
}

int ty_module_pending(void)
{
	uint32_t n = atomic_load_explicit(&count, memory_order_relaxed);
	int pending = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!atomic_load_explicit(&modules[i].answered, memory_order_relaxed))
			look_up(&modules[i]);
		pending += !atomic_load_explicit(&modules[i].answered, memory_order_relaxed);
	}
	return pending;
}
