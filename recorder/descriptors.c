/* SPDX-License-Identifier: MIT
 *
 * What the numbers of descriptors mean: looked up in /proc/PID/fd when a
 * number is first used, and again after a close, dup or accept said that it
 * stands for something else now.  Best effort: a short-lived descriptor may be
 * gone before the drain sees its first use.  Main thread, bounded work a pass.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include "recorder/recorder.h"
#include "recorder/sockets.h"

#define FD_MAX (1u << 20)
#define LOOKUPS_A_PASS 64u
#define PENDING_MAX 4096u
#define PATIENCE_NS 500000000ull /* then a socket's peer is left out */

/* Value of a number in a process's table: bit 0: looked up and not closed
 * since; the rest: hash of the name stored last, so that a number that means
 * the same again is not stored again. */
#define LOOKED_UP 1u

struct pending { /* sockets whose tables may not be read yet */
	uint32_t process;
	int32_t fd;
	uint64_t from, inode, since;
};
struct ty_fd_queue {
	struct pending item[PENDING_MAX];
	uint32_t count;
};

static void store(struct ty_recorder *r, uint32_t process, int32_t fd, uint64_t from, const char *kind,
		  const char *name)
{
	uint64_t *st = ty_map_put(&r->reg.process[process]->fds, (uint64_t)fd);
	uint64_t hash = XXH3_64bits(name, strlen(name)) & ~(uint64_t)LOOKED_UP;
	if (!st || (*st & ~(uint64_t)LOOKED_UP) == hash)
		return;
	*st = hash | (*st & LOOKED_UP);
	ty_writer_descriptor(r->writer, &(struct ty_descriptor){ .process = process, .fd = fd, .from = from,
								 .kind = kind, .name = name });
}

static const char *kind_of(const char *link)
{
	if (link[0] == '/')
		return "file";
	if (strncmp(link, "pipe:", 5) == 0)
		return "pipe";
	if (strcmp(link, "anon_inode:[eventfd]") == 0)
		return "eventfd";
	if (strcmp(link, "anon_inode:[eventpoll]") == 0)
		return "epoll";
	return "other";
}

static void look_up(struct ty_recorder *r, struct ty_rproc *p, int32_t fd, uint64_t from)
{
	char path[64], link[4096];
	unsigned long long inode;
	snprintf(path, sizeof path, "/proc/%u/fd/%d", p->info.pid, fd);
	ssize_t n = readlink(path, link, sizeof link - 1);
	if (n < 0) { /* closed again already: better no name than the one it had before */
		const uint64_t *had = ty_map_find(&p->fds, (uint64_t)fd);
		if (had && *had & ~(uint64_t)LOOKED_UP)
			store(r, p->id, fd, from, "other", "");
		return;
	}
	link[n] = 0;
	if (sscanf(link, "socket:[%llu]", &inode) != 1) {
		store(r, p->id, fd, from, kind_of(link), link);
		return;
	}
	char name[160];
	if (ty_socket_name(r->sockets, p->info.pid, inode, r->now, name, sizeof name))
		store(r, p->id, fd, from, "socket", name);
	else if (r->fds->count < PENDING_MAX)
		r->fds->item[r->fds->count++] = (struct pending){ p->id, fd, from, inode, r->now };
	else
		store(r, p->id, fd, from, "socket", "socket");
}

static void seen(struct ty_recorder *r, struct ty_rproc *p, uint64_t fd, uint64_t from)
{
	uint64_t *st = fd < FD_MAX && !p->info.ended ? ty_map_put(&p->fds, fd) : NULL;
	if (!st || (*st & LOOKED_UP) || r->fd_budget == 0)
		return;
	r->fd_budget--;
	*st |= LOOKED_UP;
	look_up(r, p, (int32_t)fd, from);
}

static void forget(struct ty_rproc *p, uint64_t fd)
{
	uint64_t *st = fd < FD_MAX ? ty_map_find(&p->fds, fd) : NULL;
	if (st)
		*st &= ~(uint64_t)LOOKED_UP;
}

static void forget_range(struct ty_rproc *p, uint64_t first, uint64_t last)
{
	size_t at = 0;
	uint64_t fd, st;
	while (ty_map_next(&p->fds, &at, &fd, &st))
		if (fd >= first && fd <= last)
			forget(p, fd);
}

void ty_descriptors_event(struct ty_recorder *r, struct ty_rproc *p, const struct ty_ev *ev)
{
	switch (ev->cls) {
	case TY_CLASS_CLOSE:
		if (ev->err)
			return;
		if (ev->op == TY_OP_shutdown)
			seen(r, p, ev->object, ev->begin);
		else if (ev->object >> 63)
			forget_range(p, ev->object >> 31 & UINT32_MAX, ev->object & 0x7fffffff);
		else
			forget(p, ev->object);
		return;
	case TY_CLASS_ACCEPT:
	case TY_CLASS_DUP:
		seen(r, p, ev->object, ev->begin);
		if (ev->err)
			return;
		forget(p, ev->aux);
		seen(r, p, ev->aux, ev->end);
		return;
	case TY_CLASS_CONNECT:
		forget(p, ev->object); /* now it has a peer */
		seen(r, p, ev->object, ev->begin);
		return;
	case TY_CLASS_SYNC:
	case TY_CLASS_READ:
	case TY_CLASS_WRITE:
	case TY_CLASS_RECV:
	case TY_CLASS_SEND:
	case TY_CLASS_COPY:
	case TY_CLASS_POLL:
	case TY_CLASS_FLOCK:
		seen(r, p, ev->object, ev->begin);
		return;
	default:
		return;
	}
}

void ty_descriptors_pass_end(struct ty_recorder *r)
{
	struct ty_fd_queue *q = r->fds;
	uint32_t n = 0;
	r->fd_budget = LOOKUPS_A_PASS;
	for (uint32_t i = 0; i < q->count; i++) {
		struct pending *x = &q->item[i];
		const struct ty_rproc *p = r->reg.process[x->process];
		char name[160] = "socket";
		if (!ty_socket_name(r->sockets, p->info.pid, x->inode, r->now, name, sizeof name) &&
		    r->now - x->since < PATIENCE_NS && !p->info.ended)
			q->item[n++] = *x;
		else
			store(r, x->process, x->fd, x->from, "socket", name);
	}
	q->count = n;
}

int ty_descriptors_new(struct ty_recorder *r)
{
	r->sockets = ty_sockets_new();
	r->fds = calloc(1, sizeof *r->fds);
	r->fd_budget = LOOKUPS_A_PASS;
	return r->sockets && r->fds ? 0 : -1;
}

void ty_descriptors_free(struct ty_recorder *r)
{
	ty_sockets_free(r->sockets);
	free(r->fds);
}
