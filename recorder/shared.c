/* SPDX-License-Identifier: MIT
 *
 * Objects in shared memory have another address in each process; what they
 * have in common is file and offset.  The recorder reads /proc/PID/maps, keeps
 * the shared ranges, and turns (device, inode, offset) into one id.  Where the
 * maps cannot be read the address has to do.  Main thread only; reading is
 * bounded by time, so a program that maps and unmaps costs no more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "recorder/recorder.h"

#define READ_NS 100000000ull /* not more often than this for one process */

static const struct ty_shared_range *find(const struct ty_maps *m, uint64_t address)
{
	for (size_t i = 0; i < m->count; i++)
		if (address >= m->range[i].start && address < m->range[i].end)
			return &m->range[i];
	return NULL;
}

/* "start-end perms offset major:minor inode path" */
static void add_line(struct ty_maps *m, const char *line)
{
	unsigned long long start, end, offset, inode;
	unsigned major, minor;
	char perms[8];
	if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu", &start, &end, perms, &offset, &major, &minor, &inode) != 7 ||
	    perms[3] != 's' || ty_reserve(&m->range, &m->cap, m->count + 1, sizeof *m->range) < 0)
		return;
	m->range[m->count++] = (struct ty_shared_range){
		.start = start, .end = end, .offset = offset, .dev = (uint64_t)major << 32 | minor, .inode = inode,
	};
}

static void read_maps(struct ty_rproc *p)
{
	char path[64], *line = NULL;
	size_t size = 0;
	snprintf(path, sizeof path, "/proc/%u/maps", p->info.pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return;
	p->maps.count = 0;
	while (getline(&line, &size, f) > 0)
		add_line(&p->maps, line);
	free(line);
	fclose(f);
}

uint64_t ty_shared_object(struct ty_recorder *r, struct ty_rproc *p, uint64_t address)
{
	const struct ty_shared_range *s = find(&p->maps, address);
	if (!s && !p->info.ended && (!p->maps.read_at || r->now - p->maps.read_at > READ_NS)) {
		p->maps.read_at = r->now;
		read_maps(p);
		s = find(&p->maps, address);
	}
	if (!s)
		return address;
	return ty_mix(ty_mix(s->dev ^ ty_mix(s->inode)) + s->offset + (address - s->start));
}

void ty_shared_inherit(struct ty_rproc *child, const struct ty_rproc *parent)
{
	if (child->maps.count || !parent->maps.count ||
	    ty_reserve(&child->maps.range, &child->maps.cap, parent->maps.count, sizeof *child->maps.range) < 0)
		return;
	memcpy(child->maps.range, parent->maps.range, parent->maps.count * sizeof *child->maps.range);
	child->maps.count = parent->maps.count;
}
