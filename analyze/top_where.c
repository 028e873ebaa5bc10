/* SPDX-License-Identifier: MIT
 *
 * Names of addresses in running processes: an IO call in progress publishes
 * its caller's address, which no store knows yet.  Runs in a reader.  Must stay
 * true: a name comes only from the module that the recording knows, by its
 * build-id; else it is module+offset. */
#include <elf.h>
#include <inttypes.h>
#include <unistd.h>

#include "analyze/live.h"
#include "analyze/top.h"

#define PCS_MAX 4096u /* names kept; then from the start again */

struct mapping { uint64_t base; char path[512]; };

/* The file mapped at pc, and where its first byte lies in memory. */
static bool find_mapping(uint32_t pid, uint64_t pc, struct mapping *m)
{
	char file[64], line[1024], path[512] = "";
	uint64_t first = 0;
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
		if (strcmp(path, line + at) != 0 || offset == 0)
			first = from - offset;
		snprintf(path, sizeof path, "%s", line + at);
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
	if (!find_mapping(pid, pc, &m))
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

const char *ty_top_pc_name(struct ty_top *t, uint32_t pid, uint64_t image, uint64_t pc)
{
	for (size_t i = 0; i < t->pcs; i++)
		if (t->pc[i].pc == pc && t->pc[i].image == image)
			return t->pc[i].text;
	if (t->pcs == PCS_MAX)
		t->pcs = 0;
	if (TY_RESERVE(t->pc, t->pcs_cap, t->pcs + 1, (size_t)64))
		return "";
	struct ty_top_pc *p = &t->pc[t->pcs++];
	p->image = image;
	p->pc = pc;
	name_pc(t, pid, pc, p->text, sizeof p->text);
	return p->text;
}
