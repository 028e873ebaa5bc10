/* SPDX-License-Identifier: MIT
 *
 * Names and source lines of code addresses.  Runs in the recorder, which puts
 * them into the store so that it reads on another machine.  libdwfl finds the
 * symbol tables and separate debug files; the look-up is made here.  What must
 * stay true: a name is given only if the symbol's range covers the address.
 * The symbol before a gap is not the function in the gap.
 */
#include "recorder/symbols.h"

#include <demangle.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/elf_int.h"
#include "recorder/srcline.h"

enum { MAX_INLINE = 64 };

struct span {
	uint64_t lo, hi;
	uint64_t top; /* largest hi of this and all before it */
	const char *name;
	int rank; /* of several names for one address the lowest */
	bool local;
};

struct ty_symbols {
	bool ready;
	bool debuginfod;
	Dwfl *dwfl;
	Dwfl_Module *mod;
	uint64_t bias; /* libdwfl's address of ELF address 0 */
	uint64_t dwarf_bias;
	struct span *fn, *var; /* functions, and variables once asked for */
	size_t count, vars;
	struct ty_srcline *src; /* NULL: no DWARF */
	void *names;            /* tree of struct name */
};

struct name {
	char *text; /* "" if raw is not mangled */
	char raw[];
};

static int cmp_name(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->raw, ((const struct name *)b)->raw);
}

static void free_name(void *p)
{
	struct name *n = p;
	free(n->text);
	free(n);
}

/* The readable form of a symbol or linkage name, made once. */
static const char *readable(struct ty_symbols *s, const char *raw)
{
	size_t len = strcspn(raw, "@"); /* "@@VERSION" in .symtab */
	struct name *n = malloc(sizeof *n + len + 1);
	if (!n)
		return raw;
	memcpy(n->raw, raw, len);
	n->raw[len] = '\0';
	n->text = NULL;
	struct name **slot = tsearch(n, &s->names, cmp_name);
	if (!slot || *slot != n) { /* no memory, or known */
		free(n);
		if (!slot)
			return raw;
		n = *slot;
	} else {
		n->text = cplus_demangle(n->raw, DMGL_ANSI | DMGL_AUTO);
	}
	return n->text ? n->text : n->raw;
}

static bool crc_matches(int fd, uint32_t want)
{
	uint32_t table[256];
	unsigned char buf[1 << 14];
	uint32_t crc = ~0u;
	ssize_t n;
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;
		for (int k = 0; k < 8; k++)
			c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
		table[i] = c;
	}
	for (off_t off = 0; (n = pread(fd, buf, sizeof buf, off)) > 0; off += n)
		for (ssize_t i = 0; i < n; i++)
			crc = table[(crc ^ buf[i]) & 0xff] ^ crc >> 8;
	return n == 0 && ~crc == want;
}

/* Separate debug information without asking a server: by build-id, then by the
 * name and checksum in .gnu_debuglink. */
static int find_local(Dwfl_Module *mod, void **userdata, const char *modname, Dwarf_Addr base,
		      const char *file, const char *link, GElf_Word crc, char **found)
{
	int fd = dwfl_build_id_find_debuginfo(mod, userdata, modname, base, file, link, crc, found);
	if (fd >= 0 || !link || !file || strchr(link, '/'))
		return fd;
	const char *slash = strrchr(file, '/');
	int dir = slash ? (int)(slash - file) : 0;
	static const char *const form[] = { "%.*s/%s", "%.*s/.debug/%s", "/usr/lib/debug%.*s/%s" };
	for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
		char *path;
		if (asprintf(&path, form[i], dir, file, link) < 0)
			return -1;
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0 && crc_matches(fd, crc)) {
			*found = path;
			return fd;
		}
		if (fd >= 0)
			close(fd);
		free(path);
	}
	return -1;
}

static const Dwfl_Callbacks local = {
	.find_elf = dwfl_build_id_find_elf, /* never called: modules are reported with a descriptor */
	.find_debuginfo = find_local,
	.section_address = dwfl_offline_section_address,
};
static const Dwfl_Callbacks servers = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* Several symbols often name one function; the choice must not depend on the
 * order in the file: global before weak before local, then fewer underscores. */
static int rank_of(const GElf_Sym *sym, const char *name)
{
	static const unsigned char by_bind[] = { [STB_LOCAL] = 2, [STB_GLOBAL] = 0, [STB_WEAK] = 1 };
	unsigned bind = GELF_ST_BIND(sym->st_info);
	return (bind < 3 ? by_bind[bind] : 0) + 4 * (int)strspn(name, "_");
}

static int by_address(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	if (x->hi != y->hi)
		return x->hi > y->hi ? -1 : 1; /* the inner one last */
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1; /* the best one last */
	return -strcmp(x->name, y->name);
}

static bool is_function(int type)
{
	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

static bool is_variable(int type)
{
	return type == STT_OBJECT;
}

/* Symbols of some types by address. */
static struct span *list_spans(const struct ty_symbols *s, bool (*wanted)(int type), size_t *count)
{
	int n = dwfl_module_getsymtab(s->mod);
	struct span *list = n > 0 ? calloc((size_t)n, sizeof *list) : NULL;
	*count = 0;
	for (int i = 0; list && i < n; i++) {
		GElf_Sym sym;
		GElf_Addr addr;
		GElf_Word shndx;
		const char *name = dwfl_module_getsym_info(s->mod, i, &sym, &addr, &shndx, NULL, NULL);
		if (!name || !*name || !sym.st_size || shndx == SHN_UNDEF || shndx == SHN_ABS ||
		    !wanted(GELF_ST_TYPE(sym.st_info)))
			continue;
		uint64_t lo = addr - s->bias;
		list[(*count)++] = (struct span){ .lo = lo,
						  .hi = lo + sym.st_size,
						  .name = name,
						  .rank = rank_of(&sym, name),
						  .local = GELF_ST_BIND(sym.st_info) == STB_LOCAL };
	}
	if (*count)
		qsort(list, *count, sizeof *list, by_address);
	for (size_t i = 0; i < *count; i++)
		list[i].top = i && list[i - 1].top > list[i].hi ? list[i - 1].top : list[i].hi;
	return list;
}

static struct ty_symbols *symbols_of(struct ty_elf *e)
{
	if (!e->symbols)
		e->symbols = calloc(1, sizeof *e->symbols);
	return e->symbols;
}

static void prepare(struct ty_elf *e, struct ty_symbols *s)
{
	s->ready = true;
	s->dwfl = dwfl_begin(s->debuginfod ? &servers : &local);
	int fd = s->dwfl ? fcntl(e->fd, F_DUPFD_CLOEXEC, 3) : -1;
	if (fd < 0)
		return;
	dwfl_report_begin(s->dwfl);
	s->mod = dwfl_report_elf(s->dwfl, e->path, e->path, fd, 0, false);
	if (!s->mod) {
		close(fd); /* libdwfl owns it only on success */
		return;
	}
	dwfl_report_end(s->dwfl, NULL, NULL);
	GElf_Addr bias;
	if (!dwfl_module_getelf(s->mod, &bias))
		return;
	s->bias = bias;
	s->fn = list_spans(s, is_function, &s->count);
	Dwarf_Addr dwarf_bias;
	Dwarf *dwarf = dwfl_module_getdwarf(s->mod, &dwarf_bias);
	if (dwarf) {
		s->dwarf_bias = dwarf_bias;
		s->src = ty_srcline_new(dwarf);
	}
}

static const struct span *span_at(const struct span *list, size_t count, uint64_t vaddr)
{
	size_t lo = 0, hi = count;
	while (lo < hi) {
		size_t m = lo + (hi - lo) / 2;
		if (list[m].lo <= vaddr)
			lo = m + 1;
		else
			hi = m;
	}
	while (lo-- > 0 && list[lo].top > vaddr)
		if (list[lo].hi > vaddr)
			return &list[lo];
	return NULL;
}

/* The file's symbols, read at the first use; NULL: none, or the file was overwritten. */
static struct ty_symbols *usable(struct ty_elf *e)
{
	struct ty_symbols *s = symbols_of(e);
	if (!s || (s->ready ? !s->mod : ty_elf_changed(e)))
		return NULL;
	if (!s->ready)
		prepare(e, s);
	return s;
}

int ty_symbols_at(struct ty_elf *e, uint64_t vaddr, bool exact, struct ty_elf_symbol *out, size_t max)
{
	struct ty_symbols *s = max ? usable(e) : NULL;
	struct ty_src src[MAX_INLINE];
	if (!s)
		return 0;
	uint64_t addr = exact ? vaddr : vaddr - 1;
	const struct span *f = span_at(s->fn, s->count, addr);
	int n = s->src ? ty_srcline_at(s->src, addr + s->bias - s->dwarf_bias, src,
				       max < MAX_INLINE ? max : MAX_INLINE) :
			 0;
	for (int i = 0; i < n; i++) {
		const char *raw = src[i].name;
		/* The exported name is the one people know ("poll", not
		 * "__GI___poll"), the local one may be a clone's. */
		if (i == n - 1 && f && (!raw || !f->local))
			raw = f->name;
		if (!raw)
			raw = "?";
		out[i] = (struct ty_elf_symbol){ .name = readable(s, raw),
						 .file = src[i].file,
						 .line = src[i].line,
						 .inlined = i < n - 1 };
	}
	if (n == 0 && f) {
		out[0] = (struct ty_elf_symbol){ .name = readable(s, f->name) };
		n = 1;
	}
	return n;
}

static struct ty_symbols *with_variables(struct ty_elf *e)
{
	struct ty_symbols *s = usable(e);
	if (!s || !s->mod)
		return NULL;
	if (!s->var)
		s->var = list_spans(s, is_variable, &s->vars);
	return s;
}

void ty_symbols_variables(struct ty_elf *e, ty_variable_cb *cb, void *arg)
{
	struct ty_symbols *s = with_variables(e);
	for (size_t i = 0; s && i < s->vars; i++)
		cb(arg, readable(s, s->var[i].name), s->var[i].lo, s->var[i].hi - s->var[i].lo);
}

bool ty_symbols_variable_at(struct ty_elf *e, uint64_t vaddr, char *buf, size_t size)
{
	struct ty_symbols *s = with_variables(e);
	const struct span *v = s ? span_at(s->var, s->vars, vaddr) : NULL;
	if (!v)
		return false;
	if (vaddr > v->lo)
		snprintf(buf, size, "%s+0x%" PRIx64, readable(s, v->name), vaddr - v->lo);
	else
		snprintf(buf, size, "%s", readable(s, v->name));
	return true;
}

void ty_symbols_debuginfod(struct ty_elf *e, bool on)
{
	struct ty_symbols *s = symbols_of(e);
	if (s && !s->ready)
		s->debuginfod = on;
}

void ty_symbols_free(struct ty_symbols *s)
{
	if (!s)
		return;
	ty_srcline_free(s->src);
	dwfl_end(s->dwfl);
	tdestroy(s->names, free_name);
	free(s->fn);
	free(s->var);
	free(s);
}
