/* SPDX-License-Identifier: MIT
 *
 * Symbols while a store has none (see live.h).  Runs in readers.  Must stay
 * true: a file is asked only if it has the build-id that was recorded, so a
 * name is never that of another build. */
#include "analyze/live.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyze/vec.h"
#include "recorder/symbols.h"
#include "tarry/arena.h" /* ty_mix */

#define CHAIN_MAX 64u

struct module {
	struct ty_elf *elf;
	bool tried;
};
struct entry {
	uint64_t offset;
	int32_t module; /* + 1; 0: free */
	struct ty_symbol *y;
	size_t n;
};
struct ty_live {
	const struct ty_module_info *info;
	struct module *module;
	size_t modules;
	struct entry *entry; /* open addressing */
	size_t slots, used;
};

struct ty_live *ty_live_new(const struct ty_module_info *modules, size_t n)
{
	struct ty_live *l = calloc(1, sizeof *l);
	if (!l)
		return NULL;
	l->info = modules;
	l->modules = n;
	l->module = calloc(n + 1, sizeof *l->module);
	l->slots = 1024;
	l->entry = calloc(l->slots, sizeof *l->entry);
	if (!l->module || !l->entry) {
		ty_live_free(l);
		return NULL;
	}
	return l;
}

void ty_live_free(struct ty_live *l)
{
	if (!l)
		return;
	for (size_t i = 0; l->entry && i < l->slots; i++)
		free(l->entry[i].y);
	for (size_t i = 0; l->module && i < l->modules; i++)
		ty_elf_close(l->module[i].elf);
	free(l->entry);
	free(l->module);
	free(l);
}

static bool parse_id(const char *hex, struct ty_module_id *id)
{
	size_t n = strlen(hex);
	*id = (struct ty_module_id){ .kind = 1, .len = (uint8_t)(n / 2) };
	if (n == 0 || n % 2 || n / 2 > TY_ID_MAX)
		return false;
	for (size_t i = 0; i < n; i += 2) {
		char byte[3] = { hex[i], hex[i + 1], 0 }, *end;
		id->id[i / 2] = (uint8_t)strtoul(byte, &end, 16);
		if (*end)
			return false;
	}
	return true;
}

static struct ty_elf *elf_of(struct ty_live *l, int32_t module)
{
	struct module *m = &l->module[module];
	struct ty_module_id id;
	if (!m->tried && parse_id(l->info[module].build_id, &id) &&
	    ty_elf_open(&m->elf, l->info[module].path, &id, NULL))
		m->elf = NULL;
	m->tried = true;
	return m->elf;
}

static struct entry *slot(struct entry *t, size_t slots, int32_t module, uint64_t offset)
{
	size_t i = (size_t)ty_mix(offset ^ (uint64_t)(uint32_t)module << 44) & (slots - 1);
	while (t[i].module && !(t[i].module == module + 1 && t[i].offset == offset))
		i = (i + 1) & (slots - 1);
	return &t[i];
}

static bool grow(struct ty_live *l)
{
	struct entry *t = calloc(l->slots * 2, sizeof *t);
	if (!t)
		return false;
	for (size_t i = 0; i < l->slots; i++)
		if (l->entry[i].module)
			*slot(t, l->slots * 2, l->entry[i].module - 1, l->entry[i].offset) = l->entry[i];
	free(l->entry);
	l->entry = t;
	l->slots *= 2;
	return true;
}

const struct ty_symbol *ty_live_symbols(struct ty_live *l, const struct ty_frame *f, size_t *n)
{
	struct ty_elf_symbol from[CHAIN_MAX];
	*n = 0;
	if (f->module < 0 || (size_t)f->module >= l->modules || (l->used * 2 >= l->slots && !grow(l)))
		return NULL;
	struct entry *e = slot(l->entry, l->slots, f->module, f->offset);
	if (!e->module) {
		struct ty_elf *elf = elf_of(l, f->module);
		int k = elf ? ty_symbols_at(elf, f->offset, f->exact, from, CHAIN_MAX) : 0;
		*e = (struct entry){ .offset = f->offset, .module = f->module + 1 };
		l->used++;
		e->y = k > 0 ? calloc((size_t)k, sizeof *e->y) : NULL;
		e->n = e->y ? (size_t)k : 0;
		for (size_t i = 0; i < e->n; i++)
			e->y[i] = (struct ty_symbol){ from[i].name, from[i].file, from[i].line, from[i].inlined };
	}
	*n = e->n;
	return e->y;
}

bool ty_live_variable(struct ty_live *l, int32_t module, uint64_t offset, char *buf, size_t size)
{
	char byte;
	struct ty_elf *elf = module >= 0 && (size_t)module < l->modules ? elf_of(l, module) : NULL;
	if (!elf || ty_elf_read(elf, offset, &byte, 1)) /* in no segment: what is mapped behind the module */
		return false;
	const char *path = l->info[module].path, *slash = strrchr(path, '/');
	if (!ty_symbols_variable_at(elf, offset, buf, size))
		snprintf(buf, size, "%.60s+0x%" PRIx64, slash ? slash + 1 : path, offset);
	return true;
}
