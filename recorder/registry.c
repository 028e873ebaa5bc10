/* SPDX-License-Identifier: MIT
 *
 * Who is recorded: processes by (pid, image), threads by slot and incarnation,
 * and who has ended.  Runs in the recorder's main thread.  A process's end is
 * seen by its pidfd, a thread's by its own word, by /proc (sample.c), or by
 * another slot with the same owner.  What must stay true: a slot is given back
 * only after its ring has been read to the end, and nobody can still write it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "recorder/connections.h"

#define ASK_NS 200000000ull

enum ty_class ty_op_class(uint16_t op)
{
	static const uint8_t cls[TY_OP_COUNT] = {
#define TY_W(ret, name, ver, need, c, body, params, args, obj, try) [TY_OP_##name] = TY_CLASS_##c,
#define TY_SYS(id, name, c) [TY_OP_##id] = TY_CLASS_##c,
#include "tarry/wrap.def"
	};
	return op < TY_OP_COUNT ? (enum ty_class)cls[op] : TY_CLASS_COUNT;
}

/* ---- pids ---- */

static struct ty_watch *find_watch(struct ty_recorder *r, pid_t pid)
{
	for (size_t i = 0; i < r->reg.watches; i++)
		if (r->reg.watch[i]->pid == pid && !r->reg.watch[i]->dead)
			return r->reg.watch[i];
	return NULL;
}

struct ty_watch *ty_watch_add(struct ty_recorder *r, pid_t pid)
{
	struct ty_registry *g = &r->reg;
	struct ty_watch *w = find_watch(r, pid);
	if (w)
		return w;
	if (ty_reserve(&g->watch, &g->watch_cap, g->watches + 1, sizeof *g->watch) < 0 ||
	    !(w = calloc(1, sizeof *w)))
		return NULL;
	w->pid = pid;
	w->fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	if (pid <= 0 || (w->fd < 0 && errno == ESRCH)) {
		w->dead = r->death = true;
		w->died = ty_now(); /* not r->now: it may have been born since */
	}
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = (uint64_t)(uint32_t)pid };
	if (w->fd >= 0 && epoll_ctl(r->poll, EPOLL_CTL_ADD, w->fd, &e) < 0) {
		close(w->fd);
		w->fd = -1;
	}
	g->watch[g->watches++] = w;
	return w;
}

void ty_watch_died(struct ty_recorder *r, pid_t pid)
{
	struct ty_watch *w = find_watch(r, pid);
	if (!w)
		return;
	w->dead = r->death = true;
	w->died = ty_now();
	if (w->fd >= 0)
		close(w->fd); /* also takes it out of the epoll set */
	w->fd = -1;
}

void ty_watch_ask(struct ty_recorder *r)
{
	for (size_t i = 0; i < r->reg.watches; i++) {
		struct ty_watch *w = r->reg.watch[i];
		if (w->dead || w->fd >= 0 || r->now - w->asked < ASK_NS)
			continue;
		w->asked = r->now;
		if (!ty_proc_alive(w->pid))
			ty_watch_died(r, w->pid);
	}
}

/* ---- processes ---- */

static uint64_t process_key(uint32_t pid, uint64_t image)
{
	return ty_mix(image ^ ty_mix(pid));
}

static void store_process(struct ty_recorder *r, struct ty_rproc *p)
{
	ty_writer_process(r->writer, p->id, &p->info);
}

static void replace(const char **at, const char *text)
{
	free((char *)*at);
	*at = strdup(text ? text : "");
}

static void read_names(struct ty_rproc *p)
{
	char buf[4096], path[64];
	ty_proc_cmdline((pid_t)p->info.pid, buf, sizeof buf);
	replace(&p->info.cmdline, buf);
	snprintf(path, sizeof path, "/proc/%u/exe", p->info.pid);
	ssize_t n = readlink(path, buf, sizeof buf - 1);
	buf[n < 0 ? 0 : n] = 0;
	replace(&p->info.exe, buf);
}

void ty_process_end(struct ty_recorder *r, struct ty_rproc *p, uint64_t when)
{
	p->info.ended = true;
	p->info.end = when;
	store_process(r, p);
	ty_map_free(&p->fds);
	ty_connections_forget(p);
	free(p->maps.range);
	memset(&p->maps, 0, sizeof p->maps);
	r->reg.alive--;
}

/* The pid has called exec and goes on with another image: what ran before
 * cannot write any more. */
static void leave_image(struct ty_recorder *r, struct ty_rproc *old)
{
	struct ty_registry *g = &r->reg;
	old->replaced = true;
	for (uint32_t i = 0; i < g->actives; i++) {
		struct ty_slot *s = &g->slot[g->active[i]];
		if (s->registered && s->process == old->id)
			s->gone = true;
	}
	if (!old->slots)
		ty_process_end(r, old, r->now);
}

/* Two images of one pid: the one that was born first is left.  It may be the
 * one found last, its slot being far from where new ones are looked for. */
static void one_image(struct ty_recorder *r, struct ty_rproc *p)
{
	struct ty_registry *g = &r->reg;
	uint64_t *latest = ty_map_find(&g->by_pid, p->info.pid);
	struct ty_rproc *other = *latest ? g->process[*latest - 1] : NULL;
	if (other && !other->info.ended && other->info.start > p->info.start) {
		p->older = other->older;
		other->older = p->id + 1;
		p->replaced = true;
		return;
	}
	p->older = (uint32_t)*latest;
	*latest = p->id + 1;
	if (other && !other->info.ended)
		leave_image(r, other);
}

struct ty_rproc *ty_process_get(struct ty_recorder *r, uint32_t pid, uint64_t image, uint64_t birth)
{
	struct ty_registry *g = &r->reg;
	uint64_t key = process_key(pid, image), *at = ty_map_find(&g->by_key, key);
	struct ty_rproc *p = at && *at ? g->process[*at - 1] : NULL;
	/* ended, but born in time: its slot was found late, after an exec */
	if (p && (!p->info.ended || (p->replaced && birth < p->info.end)))
		return p;
	p = calloc(1, sizeof *p);
	if (!p || ty_reserve(&g->process, &g->cap, g->count + 1, sizeof *g->process) < 0 ||
	    !(p->image = ty_image_get(r, image))) {
		free(p);
		return NULL;
	}
	p->image->first = true;
	p->id = (uint32_t)g->count;
	p->info = (struct ty_process){ .pid = pid, .parent = -1, .image = image, .start = birth };
	at = ty_map_put(&g->by_key, key);
	if (!at || !ty_map_put(&g->by_pid, pid)) {
		free(p);
		return NULL;
	}
	read_names(p);
	g->process[g->count++] = p;
	g->alive++;
	*at = p->id + 1;
	one_image(r, p);
	store_process(r, p);
	return p;
}

/* A living or late process of that pid; for a fork, of that image. */
static struct ty_rproc *find_parent(struct ty_recorder *r, uint32_t pid, const struct ty_rproc *child, bool fork)
{
	uint64_t *at = fork ? ty_map_find(&r->reg.by_key, process_key(pid, child->info.image)) :
			      ty_map_find(&r->reg.by_pid, pid);
	struct ty_rproc *p = at && *at ? r->reg.process[*at - 1] : NULL;
	return p == child ? NULL : p;
}

void ty_process_announced(struct ty_recorder *r, struct ty_rproc *p, uint16_t flags, uint32_t parent, uint64_t when,
			  const char *exe)
{
	bool fork = flags & TY_P_FORK;
	struct ty_rproc *from = find_parent(r, parent, p, fork);
	p->info.ppid = parent;
	p->info.forked = fork;
	p->info.parent = from ? (int32_t)from->id : -1;
	if (!p->seen_start)
		p->info.start = when;
	p->seen_start = true;
	if (*exe)
		replace(&p->info.exe, exe);
	if (fork && from) {
		p->gen = from->gen;
		if (p->image->id == p->info.image) /* what the parent loaded after start is mapped here too */
			p->image = from->image;
		ty_shared_inherit(p, from);
		/* /proc may already show what the child has exec'd since */
		replace(&p->info.exe, from->info.exe);
		replace(&p->info.cmdline, from->info.cmdline);
	}
	store_process(r, p);
}

void ty_registry_reap(struct ty_recorder *r)
{
	struct ty_registry *g = &r->reg;
	for (size_t i = 0; i < g->watches;) {
		struct ty_watch *w = g->watch[i];
		/* a full scan has looked for claims that nobody knew of */
		if (!w->dead || w->slots || !r->full_scan) {
			i++;
			continue;
		}
		uint64_t *at = ty_map_find(&g->by_pid, (uint32_t)w->pid);
		for (uint32_t k = at ? (uint32_t)*at : 0; k; k = g->process[k - 1]->older) {
			struct ty_rproc *p = g->process[k - 1];
			if (p->info.start > w->died) /* the pid was used again */
				continue;
			if (p->info.ended)
				break;
			ty_process_end(r, p, w->died);
		}
		free(w);
		g->watch[i] = g->watch[--g->watches];
	}
	for (size_t i = 0; i < g->watches; i++)
		if (g->watch[i]->dead)
			r->want_full = true;
}

void ty_registry_free(struct ty_recorder *r)
{
	struct ty_registry *g = &r->reg;
	for (size_t i = 0; i < g->count; i++) {
		ty_map_free(&g->process[i]->fds);
		ty_connections_forget(g->process[i]);
		free(g->process[i]->maps.range);
		free((char *)g->process[i]->info.exe);
		free((char *)g->process[i]->info.cmdline);
		free(g->process[i]);
	}
	for (size_t i = 0; i < g->watches; i++) {
		if (g->watch[i]->fd >= 0)
			close(g->watch[i]->fd);
		free(g->watch[i]);
	}
	for (uint32_t i = 0; i < TY_THREADS; i++) {
		free(g->slot[i].recorded);
		free(g->slot[i].stack);
	}
	free(g->process);
	free(g->watch);
	ty_map_free(&g->by_key);
	ty_map_free(&g->by_pid);
}
