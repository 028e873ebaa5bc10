/* SPDX-License-Identifier: MIT
 *
 * Rule `socket`: follows descriptors through accept, connect, dup, close, fork
 * and exec, and cuts requests on accepted connections: from the first receive
 * after a send to the last send before the next receive.  Runs in readers,
 * driven by cut.c.  Must stay true: a reused number is another connection; a
 * connection that the process itself opened never has requests. */
#include "analyze/cut.h"
#include "tarry/event.h"

#define FD_MAX (1u << 20) /* larger numbers are not followed */

struct conn {
	struct ty_req *req; /* open request */
	struct ty_txn *txn; /* rule transaction: what its statements belong to, NULL: none yet */
	uint32_t refs;      /* slots that mean it */
	uint8_t state;      /* enum ty_session_state as last told */
};

enum state { UNKNOWN, ACCEPTED, CONNECTED, OTHER };
struct slot {
	struct conn *conn;
	uint64_t since;
	uint8_t state; /* enum state */
};
struct table {
	struct slot *v;
	size_t n;
	bool started, ended;
};

struct change { uint64_t at; uint32_t process; bool end; };

struct ty_socket {
	struct table *p;  /* [nprocesses] */
	uint32_t *before; /* [nprocesses] whose descriptors it starts with */
	struct change *change;
	size_t nchange, at;
	uint16_t shutdown; /* op of shutdown(), which closes no number */
};

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (int)x->end - (int)y->end;
}

/* Rule transaction: the statement in hand goes on with what the one before began
 * if the session was not idle in between. */
static void statement(struct ty_cut *c, struct conn *k)
{
	if (c->r->rule != TY_RULE_TRANSACTION || k->req->txn)
		return;
	if (k->state == TY_SESSION_IDLE)
		ty_txn_over(c, &k->txn, true);
	ty_txn_join(c, &k->txn, k->req);
}

/* No more comes on this connection. */
static void conn_end(struct ty_cut *c, struct conn *k)
{
	if (k->req)
		statement(c, k);
	ty_txn_over(c, &k->txn, k->state == TY_SESSION_IDLE);
}

static void conn_put(struct ty_cut *c, struct conn *k)
{
	if (!k || --k->refs)
		return;
	conn_end(c, k);
	if (k->req)
		ty_req_close(c, k->req);
	free(k);
}

static void slot_clear(struct ty_cut *c, struct slot *s, enum state state, uint64_t now)
{
	struct conn *k = s->conn;
	*s = (struct slot){ .since = now, .state = (uint8_t)state };
	conn_put(c, k);
}

static struct slot *slot_get(struct ty_cut *c, uint32_t process, uint64_t fd, bool make)
{
	struct table *t = &c->socket->p[process];
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

static bool slot_accept(struct ty_cut *c, struct slot *s, uint64_t now)
{
	struct conn *k = calloc(1, sizeof *k);
	if (!k) {
		c->error = -ENOMEM;
		return false;
	}
	slot_clear(c, s, ACCEPTED, now);
	k->refs = 1;
	s->conn = k;
	return true;
}

/* ---- processes ---- */

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
	struct change *v = reallocarray(s->change, r->t.nprocesses * 2 + 1, sizeof *v);
	if (!v)
		return -ENOMEM;
	s->change = v;
	s->nchange = s->at = 0;
	for (uint32_t i = 0; i < r->t.nprocesses; i++) {
		if (!s->p[i].started)
			v[s->nchange++] = (struct change){ .at = r->t.processes[i].start, .process = i };
		if (r->t.processes[i].end && !s->p[i].ended)
			v[s->nchange++] = (struct change){ .at = r->t.processes[i].end, .process = i, .end = true };
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
	struct table *p = reallocarray(s->p, n + 1, sizeof *p);
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

static void inherit(struct ty_cut *c, uint32_t p)
{
	struct ty_socket *s = c->socket;
	uint32_t a = s->before[p];
	struct table *to = &s->p[p];
	if (to->started)
		return;
	to->started = true;
	if (a == TY_NONE || a == p)
		return;
	const struct table *from = &s->p[a];
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
		else if (to->v[i].state != CONNECTED)
			to->v[i].state = UNKNOWN; /* the parent may have closed it before we heard of the child */
	}
}

void ty_socket_until(struct ty_cut *c, uint64_t now)
{
	struct ty_socket *s = c->socket;
	while (s->at < s->nchange && s->change[s->at].at <= now) {
		const struct change *k = &s->change[s->at++];
		struct table *t = &s->p[k->process];
		if (!k->end) {
			inherit(c, k->process);
			continue;
		}
		for (size_t i = 0; i < t->n; i++)
			slot_clear(c, &t->v[i], OTHER, k->at);
		free(t->v);
		*t = (struct table){ .started = true, .ended = true };
	}
}

uint64_t ty_socket_next(const struct ty_cut *c)
{
	const struct ty_socket *s = c->socket;
	return s->at < s->nchange ? s->change[s->at].at : UINT64_MAX;
}

/* Does "tcp LOCAL:PORT <- PEER:PORT" look like the serving end?  Clients get
 * their port from the range for temporary ones. */
static bool serving_end(const char *name)
{
	const char *arrow = strstr(name, " <- "), *local = arrow, *peer = strrchr(name, ':');
	while (local && local > name && local[-1] != ':')
		local--;
	if (!local || peer < arrow)
		return false;
	int port = atoi(local), from = atoi(peer + 1);
	return port > 0 && port < 32768 && port < from;
}

/* A descriptor of which nothing was seen receives as a socket.  Is it an
 * accepted connection?  It may have come by fork or as a standard descriptor
 * (inetd), or was accepted while recording was switched off. */
static bool inherited(struct ty_cut *c, const struct ty_ev *ev, uint32_t process)
{
	const struct ty_descriptor *d = ty_descriptor_at(&c->r->t, process, ev->object, ev->end);
	bool before = c->r->t.processes[process].forked || ev->object <= 2;
	if (!d || !*d->name)
		return before;
	if (strcmp(d->kind, "socket"))
		return false;
	if (!strncmp(d->name, "tcp ", 4))
		return serving_end(d->name);
	/* the accepted end of a unix connection has the server's path, the other end has none */
	return !strncmp(d->name, "unix ", 5) || (before && strncmp(d->name, "udp", 3));
}

/* ---- events ---- */

static struct conn *conn_of(struct ty_cut *c, const struct ty_ev *ev, uint32_t process)
{
	bool socket = ev->cls == TY_CLASS_RECV || ev->cls == TY_CLASS_SEND;
	struct slot *s = slot_get(c, process, ev->object, socket);
	if (!s || s->conn || s->state != UNKNOWN || !socket)
		return s ? s->conn : NULL;
	if (!inherited(c, ev, process))
		s->state = OTHER;
	else if (slot_accept(c, s, ev->begin))
		c->r->counts.inherited++;
	return s->conn;
}

static void received(struct ty_cut *c, struct conn *k, const struct ty_ev *ev, uint32_t site)
{
	struct ty_req *q = k->req;
	if (q && !q->answered) { /* more of the same request */
		ty_cut_wait(c, ev, site);
		ty_req_touch(c, q, ev->thread, ev->end);
		if (q->nagain < sizeof q->again / sizeof *q->again) {
			q->again[q->nagain++] = ev->end;
			q->again_thread = ev->thread;
		}
		return;
	}
	ty_cut_wait(c, ev, site);
	q = k->req; /* the wait may have closed it */
	if (q)
		ty_req_close(c, q);
	ty_req_open(c, ev->thread, ev->end, &k->req);
}

static void sent(struct ty_cut *c, struct conn *k, const struct ty_ev *ev, uint32_t site)
{
	struct ty_req *q = k->req;
	if (!q || ev->end <= q->begin) { /* the server speaks first, or a straggler */
		c->r->counts.late += q != NULL;
		ty_cut_wait(c, ev, site);
		return;
	}
	statement(c, k);
	/* Another thread has already received the next request while this send was returning. */
	if (q->nagain && q->again_thread != ev->thread)
		for (uint32_t i = 0; i < q->nagain; i++)
			if (q->again[i] > ev->begin && q->again[i] <= ev->end) {
				ty_req_split(c, q, q->again[i]);
				ty_cut_wait(c, ev, site);
				return;
			}
	ty_req_touch(c, q, ev->thread, ev->begin > q->begin ? ev->begin : q->begin);
	ty_cut_wait(c, ev, site);
	if (k->req == q)
		ty_req_answer(c, q, ev->end);
}

static void closed(struct ty_cut *c, const struct ty_ev *ev, uint32_t process)
{
	/* Ranges are closed by daemons before they serve and by children before
	 * they exec (a vfork child speaks with its parent's voice): never on
	 * connections in use, so they are not looked at. */
	if (ev->op == c->socket->shutdown || ev->err == EBADF || ev->object >> 63)
		return;
	struct slot *s = slot_get(c, process, ev->object, true);
	/* a number taken again before close() returned is already another descriptor */
	if (s && (s->since < ev->begin || !s->since))
		slot_clear(c, s, OTHER, ev->end);
}

static void duplicated(struct ty_cut *c, const struct ty_ev *ev, uint32_t process)
{
	struct slot *to = slot_get(c, process, ev->aux, true);
	struct slot *from = slot_get(c, process, ev->object, false);
	if (!to || ev->aux == ev->object)
		return;
	struct conn *k = from ? from->conn : NULL;
	enum state state = from ? from->state : UNKNOWN;
	if (k)
		k->refs++;
	slot_clear(c, to, state, ev->end);
	to->conn = k;
}

void ty_socket_event(struct ty_cut *c, const struct ty_ev *ev, uint32_t site)
{
	uint32_t process = c->th[ev->thread].process;
	struct slot *s;
	struct conn *k = NULL;
	if (c->socket->p[process].ended) {
		ty_cut_wait(c, ev, site);
		return;
	}
	if (!c->socket->p[process].started) /* its start was seen late */
		inherit(c, process);
	bool data = !ev->err && ev->aux > 0 && ev->cls != TY_CLASS_ACCEPT && ev->cls != TY_CLASS_CONNECT &&
		    ev->cls != TY_CLASS_CLOSE && ev->cls != TY_CLASS_DUP;
	if (data)
		k = conn_of(c, ev, process);
	if (k && (ev->cls == TY_CLASS_RECV || ev->cls == TY_CLASS_READ)) {
		received(c, k, ev, site);
		return;
	}
	if (k) {
		sent(c, k, ev, site);
		return;
	}
	ty_cut_wait(c, ev, site);
	if (ev->cls == TY_CLASS_CONNECT && ev->err != EBADF) {
		s = slot_get(c, process, ev->object, true);
		if (s)
			slot_clear(c, s, CONNECTED, ev->end);
	} else if (ev->cls == TY_CLASS_CLOSE) {
		closed(c, ev, process);
	} else if (!ev->err && ev->cls == TY_CLASS_DUP) {
		duplicated(c, ev, process);
	} else if (!ev->err && ev->cls == TY_CLASS_ACCEPT) {
		s = slot_get(c, process, ev->aux, true);
		if (s && slot_accept(c, s, ev->end))
			c->r->counts.accepted++;
	}
}

void ty_socket_mark(struct ty_cut *c, const struct ty_ev *ev)
{
	uint32_t process = c->th[ev->thread].process;
	struct slot *s = c->socket->p[process].ended ? NULL : slot_get(c, process, ev->object, false);
	struct conn *k = s ? s->conn : NULL;
	if (!k)
		return;
	if (ev->op == TY_MARK_STATE)
		k->state = ev->aux <= TY_SESSION_FAILED ? (uint8_t)ev->aux : TY_SESSION_IDLE;
	else if (ev->op == TY_MARK_CLASS && k->req && ev->end >= k->req->begin) {
		bool first = k->req->cls == TY_NONE && !k->req->answered;
		*(first ? &k->req->cls : &k->req->next_cls) = (uint32_t)ev->aux;
		k->req->next_at = first ? 0 : ev->end;
	}
}

void ty_socket_end(struct ty_cut *c)
{
	for (size_t i = 0; i < c->r->t.nprocesses; i++)
		for (size_t j = 0; j < c->socket->p[i].n; j++)
			if (c->socket->p[i].v[j].conn)
				conn_end(c, c->socket->p[i].v[j].conn);
}

void ty_socket_free(struct ty_cut *c)
{
	struct ty_socket *s = c->socket;
	if (!s)
		return;
	for (size_t i = 0; s->p && i < c->r->t.nprocesses; i++) {
		for (size_t j = 0; j < s->p[i].n; j++) {
			struct conn *k = s->p[i].v[j].conn;
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
