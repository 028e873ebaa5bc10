/* SPDX-License-Identifier: MIT
 *
 * Which connection a descriptor's number means in each process, through fork,
 * exec and exit (see socket.h).  Runs in readers, for the rule `socket`.  Must
 * stay true: a reused number is another connection, and a connection ends when
 * the last number for it is gone, in whatever process. */
#include "analyze/socket.h"

#define FD_MAX (1u << 20) /* larger numbers are not followed */

/* ---- numbers ---- */

static void conn_put(struct ty_cut *c, struct ty_conn *k)
{
	if (!k || --k->refs)
		return;
	ty_conn_over(c, k);
	free(k);
}

void ty_slot_clear(struct ty_cut *c, struct ty_slot *s, enum ty_slot_state state, uint64_t now)
{
	struct ty_conn *k = s->conn;
	*s = (struct ty_slot){ .since = now, .state = (uint8_t)state };
	conn_put(c, k);
}

struct ty_slot *ty_slot_get(struct ty_cut *c, uint32_t process, uint64_t fd, bool make)
{
	struct ty_fds *t = &c->socket->p[process];
	if (fd < t->n)
		return &t->v[fd];
	if (!make || fd >= FD_MAX)
		return NULL;
	if (TY_RESERVE(t->v, t->n, (size_t)fd + 1, (size_t)64)) {
		c->error = -ENOMEM;
		return NULL;
	}
	return &t->v[fd];
}

bool ty_slot_accept(struct ty_cut *c, struct ty_slot *s, uint64_t now)
{
	struct ty_conn *k = calloc(1, sizeof *k);
	if (!k) {
		c->error = -ENOMEM;
		return false;
	}
	ty_slot_clear(c, s, TY_SLOT_ACCEPTED, now);
	k->refs = 1;
	s->conn = k;
	return true;
}

/* ---- processes ---- */

static int by_time(const void *a, const void *b)
{
	const struct ty_change *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (int)x->end - (int)y->end;
}

static int by_pid(const void *a, const void *b, void *arg)
{
	const struct ty_process *p = arg, *x = &p[*(const uint32_t *)a], *y = &p[*(const uint32_t *)b];
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Fills before[]: the process whose descriptors each one has at its start, the
 * one it was forked from or the program that it replaced; TY_NONE: not recorded. */
static int find_ancestors(const struct run *r, uint32_t *before)
{
	size_t n = r->t.nprocesses;
	uint32_t *order = calloc(n + 1, sizeof *order);
	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof *order, by_pid, (void *)(uintptr_t)r->t.processes);
	for (size_t i = 0; i < n; i++) {
		const struct ty_process *x = &r->t.processes[order[i]];
		uint32_t prev = i ? order[i - 1] : TY_NONE;
		if (x->forked)
			prev = x->parent >= 0 && (size_t)x->parent < n ? (uint32_t)x->parent : TY_NONE;
		else if (i && r->t.processes[prev].pid != x->pid)
			prev = TY_NONE;
		before[order[i]] = prev;
	}
	free(order);
	return 0;
}

/* Starts and ends that are still to come. */
static int list_changes(struct ty_socket *s, const struct run *r)
{
	struct ty_change *v = reallocarray(s->change, r->t.nprocesses * 2 + 1, sizeof *v);
	if (!v)
		return -ENOMEM;
	s->change = v;
	s->nchange = s->at = 0;
	for (uint32_t i = 0; i < r->t.nprocesses; i++) {
		if (!s->p[i].started)
			v[s->nchange++] = (struct ty_change){ .at = r->t.processes[i].start, .process = i };
		if (r->t.processes[i].end && !s->p[i].ended)
			v[s->nchange++] = (struct ty_change){ .at = r->t.processes[i].end, .process = i, .end = true };
	}
	qsort(v, s->nchange, sizeof *v, by_time);
	return 0;
}

int ty_socket_init(struct ty_cut *c)
{
	struct run *r = c->r;
	struct ty_socket *s = c->socket = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->p = calloc(r->t.nprocesses + 1, sizeof *s->p);
	s->before = calloc(r->t.nprocesses + 1, sizeof *s->before);
	if (!s->p || !s->before || find_ancestors(r, s->before) || list_changes(s, r))
		return -ENOMEM;
	s->shutdown = UINT16_MAX;
	for (size_t i = 0; i < r->t.nops; i++)
		if (!strcmp(r->t.ops[i].name, "shutdown"))
			s->shutdown = (uint16_t)i;
	return 0;
}

int ty_socket_grow(struct ty_cut *c, size_t processes_before)
{
	struct ty_socket *s = c->socket;
	size_t n = c->r->t.nprocesses;
	struct ty_fds *p = reallocarray(s->p, n + 1, sizeof *p);
	if (!p)
		return -ENOMEM;
	s->p = p;
	memset(s->p + processes_before, 0, (n + 1 - processes_before) * sizeof *s->p);
	uint32_t *before = reallocarray(s->before, n + 1, sizeof *before);
	if (!before)
		return -ENOMEM;
	s->before = before;
	int e = find_ancestors(c->r, s->before);
	/* cppcheck-suppress memleak ; the socket's state owns both */
	return e ? e : list_changes(s, c->r);
}

void ty_fds_inherit(struct ty_cut *c, uint32_t p)
{
	struct ty_socket *s = c->socket;
	uint32_t a = s->before[p];
	struct ty_fds *to = &s->p[p];
	if (to->started)
		return;
	to->started = true;
	if (a == TY_NONE || a == p)
		return;
	const struct ty_fds *from = &s->p[a];
	bool forked = c->r->t.processes[p].forked;
	/* of an exec only the standard descriptors are known to have stayed open */
	size_t n = forked || from->n < 3 ? from->n : 3;
	if (!n)
		return;
	to->v = calloc(n, sizeof *to->v);
	if (!to->v) {
		c->error = -ENOMEM;
		return;
	}
	to->n = n;
	for (size_t i = 0; i < n; i++) {
		to->v[i] = from->v[i];
		if (to->v[i].conn)
			to->v[i].conn->refs++;
		else if (to->v[i].state != TY_SLOT_CONNECTED)
			to->v[i].state = TY_SLOT_UNKNOWN; /* the parent may have closed it before we heard of the child */
	}
}

void ty_socket_until(struct ty_cut *c, uint64_t now)
{
	struct ty_socket *s = c->socket;
	while (s->at < s->nchange && s->change[s->at].at <= now) {
		const struct ty_change *k = &s->change[s->at++];
		struct ty_fds *t = &s->p[k->process];
		if (!k->end) {
			ty_fds_inherit(c, k->process);
			continue;
		}
		for (size_t i = 0; i < t->n; i++)
			ty_slot_clear(c, &t->v[i], TY_SLOT_OTHER, k->at);
		free(t->v);
		*t = (struct ty_fds){ .started = true, .ended = true };
	}
}

uint64_t ty_socket_next(const struct ty_cut *c)
{
	const struct ty_socket *s = c->socket;
	return s->at < s->nchange ? s->change[s->at].at : UINT64_MAX;
}

void ty_socket_free(struct ty_cut *c)
{
	struct ty_socket *s = c->socket;
	if (!s)
		return;
	for (size_t i = 0; s->p && i < c->r->t.nprocesses; i++) {
		for (size_t j = 0; j < s->p[i].n; j++) {
			struct ty_conn *k = s->p[i].v[j].conn;
			if (k && !--k->refs)
				free(k);
		}
		free(s->p[i].v);
	}
	free(s->p);
	free(s->change);
	free(s->before);
	free(s);
	c->socket = NULL;
}
