/* SPDX-License-Identifier: MIT
 *
 * Names of addresses in running processes: an IO call in progress publishes
 * its caller's address, which no store knows yet, and the names of variables
 * come into the store at the end.  Runs in a reader.  Must stay true: a name
 * comes only from the module that the recording knows, by its build-id; else
 * code is module+offset, and a variable is shown as its address. */
#include <elf.h>
#include <inttypes.h>
#include <unistd.h>

#include "analyze/live.h"
#include "analyze/top.h"

#define PCS_MAX 4096u /* names kept; then from the start again */
#define ASKED 64u /* objects looked for in one frame: most are on the heap, and each reads a process's maps */

struct mapping { uint64_t base; char path[512]; };

/*
 * The file mapped at pc, and where its first byte lies in memory.  data: also when pc is in memory without a file
 * right behind it, as zeroed variables are.
 */
static bool find_mapping(uint32_t pid, uint64_t pc, bool data, struct mapping *m)
{
	char file[64], line[1024], path[512] = "";
	uint64_t first = 0, end = 0;
	bool found = false;
	snprintf(file, sizeof file, "/proc/%u/maps", pid);
	FILE *f = fopen(file, "re");
	while (f && !found && fgets(line, sizeof line, f)) {
		uint64_t from, to, offset;
		int at = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &from, &to, &offset,
			   &at) < 3)
			continue;
		line[strcspn(line, "\n")] = 0;
		bool behind = data && !line[at] && from == end && path[0] == '/';
		if (!behind && (strcmp(path, line + at) != 0 || offset == 0))
			first = from - offset;
		if (!behind)
			snprintf(path, sizeof path, "%s", line + at);
		end = to;
		found = pc >= from && pc < to && path[0] == '/';
	}
	if (f)
		fclose(f);
	m->base = first;
	snprintf(m->path, sizeof m->path, "%s", path);
	return found;
}

/* A program at fixed addresses: what it is linked at is where it lies. */
static bool fixed_addresses(uint32_t pid, const char *path)
{
	char at[600];
	Elf64_Ehdr h;
	snprintf(at, sizeof at, "/proc/%u/root%s", pid, path);
	FILE *f = fopen(at, "re");
	bool fixed = f && fread(&h, sizeof h, 1, f) == 1 && h.e_type == ET_EXEC;
	if (f)
		fclose(f);
	return fixed;
}

static void name_pc(struct ty_top *t, uint32_t pid, uint64_t pc, char *to, size_t size)
{
	struct mapping m;
	size_t n = 0;
	*to = 0;
	if (!find_mapping(pid, pc, false, &m))
		return;
	uint64_t offset = fixed_addresses(pid, m.path) ? pc : pc - m.base;
	for (size_t i = 0; i < t->modules && t->run.live; i++) {
		struct ty_frame f = { .module = (int32_t)i, .offset = offset };
		if (strcmp(t->module[i].path, m.path) != 0)
			continue;
		const struct ty_symbol *y = ty_live_symbols(t->run.live, &f, &n);
		size_t k = 0; /* who asked, not what was inlined into it to wait */
		while (k < n && ty_line_wrapper(&t->run, &(struct ty_line){ .frame = &f, .symbol = y + k }))
			k++;
		y += k < n ? k : 0;
		if (n && y->function) {
			snprintf(to, size, "%s", y->function);
			return;
		}
	}
	snprintf(to, size, "%.60s+0x%" PRIx64, strrchr(m.path, '/') + 1, offset);
}

static struct ty_top_pc *find_kept(struct ty_top_pc *v, size_t n, uint64_t image, uint64_t pc)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].pc == pc && v[i].image == image)
			return &v[i];
	return NULL;
}

/* NULL: no memory. */
static struct ty_top_pc *keep(struct ty_top_pc **v, size_t *n, size_t *cap, uint64_t image, uint64_t pc)
{
	if (*n == PCS_MAX)
		*n = 0;
	if (TY_RESERVE(*v, *cap, *n + 1, (size_t)64))
		return NULL;
	struct ty_top_pc *p = &(*v)[(*n)++];
	*p = (struct ty_top_pc){ .image = image, .pc = pc };
	return p;
}

const char *ty_top_pc_name(struct ty_top *t, uint32_t pid, uint64_t image, uint64_t pc)
{
	struct ty_top_pc *p = find_kept(t->pc, t->pcs, image, pc);
	if (p)
		return p->text;
	p = keep(&t->pc, &t->pcs, &t->pcs_cap, image, pc);
	if (!p)
		return "";
	name_pc(t, pid, pc, p->text, sizeof p->text);
	return p->text;
}

static void name_variable(struct ty_top *t, uint32_t pid, uint64_t object, char *to, size_t size)
{
	struct mapping m;
	if (!t->run.live || !find_mapping(pid, object, true, &m))
		return;
	uint64_t offset = fixed_addresses(pid, m.path) ? object : object - m.base;
	for (size_t i = 0; i < t->modules; i++)
		if (!strcmp(t->module[i].path, m.path) && ty_live_variable(t->run.live, (int32_t)i, offset, to, size))
			return;
	*to = 0;
}

const char *ty_top_variable(struct ty_top *t, uint32_t pid, uint64_t image, uint64_t object)
{
	struct ty_top_pc *p = find_kept(t->var, t->vars, image, object);
	if (p)
		return p->text;
	p = t->asked < ASKED ? keep(&t->var, &t->vars, &t->vars_cap, image, object) : NULL;
	if (!p)
		return "";
	t->asked++;
	name_variable(t, pid, object, p->text, sizeof p->text);
	return p->text;
}
