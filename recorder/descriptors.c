/* SPDX-License-Identifier: MIT
 *
 * What the numbers of descriptors mean: looked up in /proc/PID/fd when a
 * number is first used, and again after a close, dup or accept said that it
 * stands for something else now.  A use is read from the ring some time after
 * it happened, and the number may have been closed and opened again meanwhile:
 * a name counts only once everything is read that happened before it was
 * looked up.  A short-lived descriptor so gets no name, but never another's.
 * Main thread, bounded work a pass.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include "recorder/recorder.h"
#include "recorder/sockets.h"

#define FD_MAX (1u << 20)
#define LOOKUPS_A_PASS 64u
#define HELD_MAX 4096u
#define PATIENCE_NS 500000000ull /* then a socket's peer is left out */

/* Value of a number in a process's table: looked up and not closed since; its
 * name is held; the rest: hash of the name stored last, so that a number that
 * means the same again is not stored again. */
#define LOOKED_UP 1u
#define HELD 2u
#define HASH (~(uint64_t)3)

struct held { /* a name that was looked up */
	uint32_t process;
	int32_t fd;
	bool sure; /* not closed between its use and the look-up */
	uint64_t from, at; /* first use, look-up */
	const char *kind;
	char *name;     /* NULL: a socket whose tables may not be read yet */
	uint64_t inode; /* then */
};
struct ty_fd_queue {
	struct held item[HELD_MAX];
	uint32_t count;
};

static void store(struct ty_recorder *r, uint32_t process, int32_t fd, uint64_t from, const char *kind,
		  const char *name)
{
	uint64_t *st = ty_map_put(&r->reg.process[process]->fds, (uint64_t)fd);
	uint64_t hash = XXH3_64bits(name, strlen(name)) & HASH;
	if (!st || (*st & HASH) == hash)
		return;
	*st = hash | (*st & ~HASH);
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

/* Better no name than the one it had before. */
static void store_unknown(struct ty_recorder *r, uint32_t process, int32_t fd, uint64_t from)
{
	const uint64_t *had = ty_map_find(&r->reg.process[process]->fds, (uint64_t)fd);
	if (had && *had & HASH)
		store(r, process, fd, from, "other", "");
}

static void hold(struct ty_recorder *r, struct ty_rproc *p, struct held x)
{
	struct ty_fd_queue *q = r->fds;
	uint64_t *st = ty_map_find(&p->fds, (uint64_t)x.fd);
	if (!st || q->count == HELD_MAX || (!x.name && !x.inode)) {
		store_unknown(r, x.process, x.fd, x.from);
		free(x.name);
		return;
	}
	*st |= HELD;
	q->item[q->count++] = x;
}

static void look_up(struct ty_recorder *r, struct ty_rproc *p, int32_t fd, uint64_t from)
{
	char path[64], link[4096], peer[160];
	unsigned long long inode;
	snprintf(path, sizeof path, "/proc/%u/fd/%d", p->info.pid, fd);
	ssize_t n = readlink(path, link, sizeof link - 1);
	if (n < 0) { /* closed again already */
		store_unknown(r, p->id, fd, from);
		return;
	}
	link[n] = 0;
	struct held x = { .process = p->id, .fd = fd, .from = from, .at = ty_now(), .kind = "socket" };
	if (sscanf(link, "socket:[%llu]", &inode) != 1) {
		x.kind = kind_of(link);
		x.name = strdup(link);
	} else if (ty_socket_name(r->sockets, p->info.pid, inode, r->now, peer, sizeof peer)) {
		x.name = strdup(peer);
	} else {
		x.inode = inode;
	}
	hold(r, p, x);
}

static void seen(struct ty_recorder *r, struct ty_rproc *p, uint64_t fd, uint64_t from)
{
	/* after exec the numbers are another program's */
	uint64_t *st = fd < FD_MAX && !p->info.ended && !p->replaced ? ty_map_put(&p->fds, fd) : NULL;
	if (!st || (*st & LOOKED_UP) || r->fd_budget == 0)
		return;
	r->fd_budget--;
	*st |= LOOKED_UP;
	look_up(r, p, (int32_t)fd, from);
}

/* Stores a held name that counts; false: not yet.  Last: it cannot become better. */
static bool store_held(struct ty_recorder *r, struct held *x, bool last)
{
	struct ty_rproc *p = r->reg.process[x->process];
	char peer[160] = "socket";
	if (!x->sure && p->replaced) { /* perhaps looked up after exec */
		store_unknown(r, x->process, x->fd, x->from);
		free(x->name);
		return true;
	}
	if (!x->sure && (last || x->at < r->now)) { /* this pass has read all that was before */
		uint64_t *st = ty_map_find(&p->fds, (uint64_t)x->fd);
		x->sure = true;
		if (st)
			*st &= ~(uint64_t)HELD;
	}
	if (!x->sure)
		return false;
	if (!x->name && x->inode &&
	    !ty_socket_name(r->sockets, p->info.pid, x->inode, r->now, peer, sizeof peer) &&
	    r->now - x->at < PATIENCE_NS && !p->info.ended && !last)
		return false;
	store(r, x->process, x->fd, x->from, x->kind, x->name ? x->name : peer);
	free(x->name);
	return true;
}

/* The number was closed at `when`: its held name was looked up before, or is another's. */
static void settle(struct ty_recorder *r, const struct ty_rproc *p, int32_t fd, uint64_t when)
{
	struct ty_fd_queue *q = r->fds;
	for (uint32_t i = 0; i < q->count; i++) {
		struct held *x = &q->item[i];
		if (x->process != p->id || x->fd != fd || x->sure)
			continue;
		if (x->at < when) {
			x->sure = true;
			store_held(r, x, true);
		} else {
			store_unknown(r, p->id, fd, x->from);
			free(x->name);
		}
		*x = q->item[--q->count];
		return;
	}
}

static void forget(struct ty_recorder *r, struct ty_rproc *p, uint64_t fd, uint64_t when)
{
	uint64_t *st = fd < FD_MAX ? ty_map_find(&p->fds, fd) : NULL;
	if (!st)
		return;
	bool held = *st & HELD;
	*st &= HASH;
	if (held)
		settle(r, p, (int32_t)fd, when);
}

static void forget_range(struct ty_recorder *r, struct ty_rproc *p, uint64_t first, uint64_t last, uint64_t when)
{
	size_t at = 0;
	uint64_t fd, st;
	while (ty_map_next(&p->fds, &at, &fd, &st))
		if (fd >= first && fd <= last)
			forget(r, p, fd, when);
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
			forget_range(r, p, ev->object >> 31 & UINT32_MAX, ev->object & 0x7fffffff, ev->begin);
		else
			forget(r, p, ev->object, ev->begin);
		return;
	case TY_CLASS_ACCEPT:
	case TY_CLASS_DUP:
		seen(r, p, ev->object, ev->begin);
		if (ev->err)
			return;
		forget(r, p, ev->aux, ev->begin);
		seen(r, p, ev->aux, ev->end);
		return;
	case TY_CLASS_CONNECT:
		forget(r, p, ev->object, ev->begin); /* now it has a peer */
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

static void pass_end(struct ty_recorder *r, bool last)
{
	struct ty_fd_queue *q = r->fds;
	uint32_t n = 0;
	r->fd_budget = LOOKUPS_A_PASS;
	for (uint32_t i = 0; i < q->count; i++)
		if (!store_held(r, &q->item[i], last))
			q->item[n++] = q->item[i];
	q->count = n;
}

void ty_descriptors_pass_end(struct ty_recorder *r)
{
	pass_end(r, false);
}

void ty_descriptors_finish(struct ty_recorder *r)
{
	pass_end(r, true);
}

int ty_descriptors_new(struct ty_recorder *r)
{
	r->sockets = ty_sockets_new();
	r->fds = calloc(1, sizeof *r->fds);
	r->fd_budget = LOOKUPS_A_PASS;
	return r->sockets && r->fds ? 0 : -ENOMEM;
}

void ty_descriptors_free(struct ty_recorder *r)
{
	ty_sockets_free(r->sockets);
	for (uint32_t i = 0; r->fds && i < r->fds->count; i++)
		free(r->fds->item[i].name);
	free(r->fds);
}
