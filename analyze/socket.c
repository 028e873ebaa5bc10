/* SPDX-License-Identifier: MIT
 *
 * Rule `socket`: cuts requests on accepted connections: from the first receive
 * after a send to the last send before the next receive.  Which connection a
 * number is, socket_fds.c knows.  Runs in readers, driven by cut.c.  Must stay
 * true: a connection that the process itself opened never has requests. */
#include "analyze/socket.h"
#include "tarry/event.h"

/* Rule transaction: the statement in hand goes on with what the one before began
 * if the session was not idle in between. */
static void statement(struct ty_cut *c, struct ty_conn *k)
{
	if (c->r->rule != TY_RULE_TRANSACTION || k->req->txn)
		return;
	if (k->state == TY_SESSION_IDLE)
		ty_txn_over(c, &k->txn, true);
	ty_txn_join(c, &k->txn, k->req);
}

/* No more comes on this connection. */
static void conn_end(struct ty_cut *c, struct ty_conn *k)
{
	if (k->req)
		statement(c, k);
	ty_txn_over(c, &k->txn, k->state == TY_SESSION_IDLE);
}

void ty_conn_over(struct ty_cut *c, struct ty_conn *k)
{
	conn_end(c, k);
	if (k->req)
		ty_req_close(c, k->req);
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

static struct ty_conn *conn_of(struct ty_cut *c, const struct ty_ev *ev, uint32_t process)
{
	bool socket = ev->cls == TY_CLASS_RECV || ev->cls == TY_CLASS_SEND;
	struct ty_slot *s = ty_slot_get(c, process, ev->object, socket);
	if (!s || s->conn || s->state != TY_SLOT_UNKNOWN || !socket)
		return s ? s->conn : NULL;
	if (!inherited(c, ev, process))
		s->state = TY_SLOT_OTHER;
	else if (ty_slot_accept(c, s, ev->begin))
		c->r->counts.inherited++;
	return s->conn;
}

static void received(struct ty_cut *c, struct ty_conn *k, const struct ty_ev *ev, uint32_t site)
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

static void sent(struct ty_cut *c, struct ty_conn *k, const struct ty_ev *ev, uint32_t site)
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
	struct ty_slot *s = ty_slot_get(c, process, ev->object, true);
	/* a number taken again before close() returned is already another descriptor */
	if (s && (s->since < ev->begin || !s->since))
		ty_slot_clear(c, s, TY_SLOT_OTHER, ev->end);
}

static void duplicated(struct ty_cut *c, const struct ty_ev *ev, uint32_t process)
{
	struct ty_slot *to = ty_slot_get(c, process, ev->aux, true);
	struct ty_slot *from = ty_slot_get(c, process, ev->object, false);
	if (!to || ev->aux == ev->object)
		return;
	struct ty_conn *k = from ? from->conn : NULL;
	enum ty_slot_state state = from ? from->state : TY_SLOT_UNKNOWN;
	if (k)
		k->refs++;
	ty_slot_clear(c, to, state, ev->end);
	to->conn = k;
}

void ty_socket_event(struct ty_cut *c, const struct ty_ev *ev, uint32_t site)
{
	uint32_t process = c->th[ev->thread].process;
	struct ty_slot *s;
	struct ty_conn *k = NULL;
	if (c->socket->p[process].ended) {
		ty_cut_wait(c, ev, site);
		return;
	}
	if (!c->socket->p[process].started) /* its start was seen late */
		ty_fds_inherit(c, process);
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
		s = ty_slot_get(c, process, ev->object, true);
		if (s)
			ty_slot_clear(c, s, TY_SLOT_CONNECTED, ev->end);
	} else if (ev->cls == TY_CLASS_CLOSE) {
		closed(c, ev, process);
	} else if (!ev->err && ev->cls == TY_CLASS_DUP) {
		duplicated(c, ev, process);
	} else if (!ev->err && ev->cls == TY_CLASS_ACCEPT) {
		s = ty_slot_get(c, process, ev->aux, true);
		if (s && ty_slot_accept(c, s, ev->end))
			c->r->counts.accepted++;
	}
}

void ty_socket_mark(struct ty_cut *c, const struct ty_ev *ev)
{
	uint32_t process = c->th[ev->thread].process;
	struct ty_slot *s = c->socket->p[process].ended ? NULL : ty_slot_get(c, process, ev->object, false);
	struct ty_conn *k = s ? s->conn : NULL;
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
