/* SPDX-License-Identifier: MIT
 *
 * Classes of requests.  Captured bytes arrive ring by ring, but what matters is
 * their order on a connection, whichever threads served it.  So each record
 * leaves a pending mark in the held events, in its thread's order, and waits
 * here until a later pass has seen all rings; then the records are looked at in
 * order of time, and the marks are filled in or dropped when they are stored.
 * Main thread only.  What must stay true: the bytes end here; a class is one of
 * a bounded number of labels.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "recorder/connections.h"

#define CLASSES_MAX 1024u /* of one recording; more than all lists of words have together; then "other" */
#define TARGETS_MAX 64u  /* of them with the path of an HTTP request; then "GET other" */

enum what { RECEIVED, SENT, OPENED, OUTGOING, COPIED, CLOSED, CLOSED_RANGE, SENT_UNSEEN };

struct item {
	/* A receive counts when it returns, a send when it begins: an answer to it may
	 * come before it returns. */
	uint64_t key;
	uint64_t number;
	uint64_t object, other; /* descriptor; COPIED: onto other */
	uint64_t length;
	uint32_t process;
	uint8_t what;
	bool done;     /* looked at */
	bool expected; /* a pending mark will ask for it */
	bool no_tail;  /* SENT: its last bytes are not known */
	uint16_t op;   /* the answer: enum ty_mark, TY_MARK_PENDING: none */
	uint64_t begin, aux;
	uint8_t data[TY_BYTES_MAX];
};

struct ty_classifier {
	struct item *item;   /* [first, count) by number */
	size_t first, count, cap;
	uint64_t next;       /* number of the next item */
	uint32_t *order;     /* scratch */
	size_t order_cap;
	struct ty_statements *statements;
	const struct ty_protocol *protocol; /* NULL: guessed for each connection */
	struct ty_map known; /* hash of class -> label */
	uint32_t classes, targets;
};

int ty_classify_new(struct ty_recorder *r)
{
	if (!r->set->capture_bytes)
		return 0;
	r->classes = calloc(1, sizeof *r->classes);
	if (!r->classes)
		return -ENOMEM;
	r->classes->protocol = ty_protocol_by_name(r->set->protocol);
	r->classes->statements = ty_statements_new();
	return r->classes->statements ? 0 : -ENOMEM;
}

void ty_classify_free(struct ty_recorder *r)
{
	struct ty_classifier *c = r->classes;
	if (!c)
		return;
	free(c->item);
	free(c->order);
	free(c->statements);
	ty_map_free(&c->known);
	free(c);
	r->classes = NULL;
}

/* ---- labels ---- */

static uint32_t label_of(struct ty_recorder *r, char text[TY_CLASS_TEXT], bool target)
{
	struct ty_classifier *c = r->classes;
	uint64_t hash = XXH3_64bits(text, strlen(text));
	const uint64_t *found = ty_map_find(&c->known, hash);
	if (found)
		return (uint32_t)*found;
	if (target && c->targets >= TARGETS_MAX) {
		strcpy(strchr(text, ' ') + 1, "other");
		return label_of(r, text, false);
	}
	if (c->classes >= CLASSES_MAX)
		return ty_label(r, "other");
	uint64_t *at = ty_map_put(&c->known, hash);
	uint32_t label = ty_label(r, text);
	if (at) {
		*at = label;
		c->classes++;
		c->targets += target;
	}
	return label;
}

/* ---- in order of time ---- */

static void answer(struct item *m, uint16_t op, uint64_t begin, uint64_t aux)
{
	m->op = op;
	m->begin = begin;
	m->aux = aux;
}

static void look(struct ty_recorder *r, struct item *m)
{
	const struct ty_classifier *c = r->classes;
	struct ty_rproc *p = r->reg.process[m->process];
	struct ty_dialog *d;
	const uint64_t *at;
	char text[TY_CLASS_TEXT];
	size_t n;
	int state;
	switch ((enum what)m->what) {
	case RECEIVED:
		d = ty_connection_of(p, m->object, c->protocol, c->statements);
		n = m->length < r->set->capture_bytes ? (size_t)m->length : r->set->capture_bytes;
		if (d && ty_dialog_received(d, m->data, n, m->length, m->key, text))
			answer(m, TY_MARK_CLASS, d->begin, label_of(r, text, d->protocol == &ty_protocol_http));
		break;
	case SENT:
		d = ty_connection_of(p, m->object, c->protocol, c->statements);
		state = d ? ty_dialog_sent(d, m->data, m->no_tail ? NULL : m->data + TY_REPLY_HALF, m->length) : -1;
		if (state >= 0)
			answer(m, TY_MARK_STATE, m->begin, (uint64_t)state);
		break;
	case SENT_UNSEEN: /* its bytes were not taken, but it is an answer if this is a connection */
		at = ty_map_find(&p->dialogs, m->object);
		if (at && *at)
			ty_dialog_sent_unseen((void *)(uintptr_t)*at, m->length);
		break;
	case OPENED:
		ty_connection_new(p, m->object, c->protocol, c->statements);
		break;
	case OUTGOING: /* our own request to somebody else's server */
		d = ty_connection_new(p, m->object, NULL, c->statements);
		if (d)
			d->silent = true;
		break;
	case COPIED:
		ty_connection_copied(p, m->object, m->other);
		break;
	case CLOSED:
		ty_connections_close(p, m->object, m->object);
		break;
	case CLOSED_RANGE:
		ty_connections_close(p, m->object, m->other);
		break;
	}
}

static int by_key(const void *a, const void *b, void *arg)
{
	const struct item *v = arg, *x = &v[*(const uint32_t *)a], *y = &v[*(const uint32_t *)b];
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

void ty_classify_pass(struct ty_recorder *r, uint64_t until)
{
	struct ty_classifier *c = r->classes;
	if (!c || c->first == c->count)
		return;
	size_t n = 0;
	bool sorted = true;
	if (ty_reserve(&c->order, &c->order_cap, c->count - c->first, sizeof *c->order) < 0) {
		r->lost.no_memory++;
		return;
	}
	for (size_t i = c->first; i < c->count; i++)
		if (!c->item[i].done && c->item[i].key <= until) {
			sorted = sorted && (!n || c->item[c->order[n - 1]].key <= c->item[i].key);
			c->order[n++] = (uint32_t)i;
		}
	if (!sorted)
		qsort_r(c->order, n, sizeof *c->order, by_key, c->item);
	for (size_t i = 0; i < n; i++) {
		struct item *m = &c->item[c->order[i]];
		look(r, m);
		memset(m->data, 0, sizeof m->data);
		m->done = true;
	}
}

/* Items leave from the front: looked at, and asked for by their marks. */
static void drop_done(struct ty_classifier *c)
{
	while (c->first < c->count && c->item[c->first].done && !c->item[c->first].expected)
		c->first++;
	if (c->first == c->count)
		c->first = c->count = 0;
}

bool ty_classify_answer(struct ty_recorder *r, struct ty_ev *ev)
{
	struct ty_classifier *c = r->classes;
	uint64_t oldest = c->next - (c->count - c->first);
	if (ev->aux < oldest || ev->aux >= c->next)
		return false;
	struct item *m = &c->item[c->first + (ev->aux - oldest)];
	bool said = m->done && m->op != TY_MARK_PENDING;
	ev->op = m->op;
	ev->aux = m->aux;
	ev->begin = m->begin < ev->end ? m->begin : ev->end;
	m->expected = false;
	m->done = true; /* too late for anything else */
	drop_done(c);
	return said;
}

/* ---- from the rings ---- */

static struct item *push(struct ty_recorder *r, uint16_t slot, enum what what, uint64_t key, uint64_t object)
{
	struct ty_classifier *c = r->classes;
	drop_done(c);
	if (c->first > 4096 && c->first > c->count / 2) {
		memmove(c->item, c->item + c->first, (c->count - c->first) * sizeof *c->item);
		c->count -= c->first;
		c->first = 0;
	}
	if (ty_reserve(&c->item, &c->cap, c->count + 1, sizeof *c->item) < 0) {
		r->lost.no_memory++;
		return NULL;
	}
	struct item *m = &c->item[c->count++];
	*m = (struct item){ .key = key, .number = c->next++, .object = object, .process = r->reg.slot[slot].process,
			    .what = (uint8_t)what, .op = TY_MARK_PENDING };
	return m;
}

void ty_classify_wait(struct ty_recorder *r, uint16_t slot, const struct ty_ev *ev)
{
	struct item *m;
	if (!r->classes || (ev->err && ev->cls != TY_CLASS_CONNECT))
		return;
	switch (ev->cls) {
	case TY_CLASS_ACCEPT:
		push(r, slot, OPENED, ev->end, ev->aux);
		break;
	case TY_CLASS_CONNECT: /* also when it is still on its way */
		push(r, slot, OUTGOING, ev->end, ev->object);
		break;
	case TY_CLASS_DUP:
		if ((m = push(r, slot, COPIED, ev->end, ev->object)))
			m->other = ev->aux;
		break;
	case TY_CLASS_CLOSE: /* the number may be taken again before close() returns */
		if (ev->op == TY_OP_shutdown)
			break;
		if (!(ev->object >> 63))
			push(r, slot, CLOSED, ev->begin, ev->object);
		else if ((m = push(r, slot, CLOSED_RANGE, ev->begin, ev->object >> 31 & UINT32_MAX)))
			m->other = ev->object & 0x7fffffff;
		break;
	case TY_CLASS_SEND:
	case TY_CLASS_WRITE:
	case TY_CLASS_COPY:
		if (ev->aux && ev->object < TY_CONNECTIONS_MAX && (m = push(r, slot, SENT_UNSEEN, ev->begin, ev->object)))
			m->length = ev->aux; /* unless its bytes follow at once */
		break;
	default:
		break;
	}
}

/* The item that the record of the call itself has just left: now its bytes are here. */
static struct item *unseen(struct ty_recorder *r, uint16_t slot, const struct ty_rec_bytes *b)
{
	struct ty_classifier *c = r->classes;
	struct item *m = c->count > c->first ? &c->item[c->count - 1] : NULL;
	if (!m || m->done || m->what != SENT_UNSEEN || m->key != b->begin || m->object != b->object ||
	    m->process != r->reg.slot[slot].process)
		return push(r, slot, SENT, b->begin, b->object);
	m->what = SENT;
	return m;
}

bool ty_classify_bytes(struct ty_recorder *r, uint16_t slot, const struct ty_rec_bytes *b)
{
	if (!r->classes)
		return false; /* nobody asked for them */
	bool sent = ty_rec_flags(b->w0) & TY_BYTES_SENT;
	struct item *m = sent ? unseen(r, slot, b) : push(r, slot, RECEIVED, b->end, b->object);
	if (!m)
		return true;
	m->no_tail = ty_rec_flags(b->w0) & TY_BYTES_NO_TAIL;
	m->length = b->length;
	m->begin = b->end;
	memcpy(m->data, b->data, sizeof m->data);
	const struct ty_ev ev = {
		.begin = b->end,
		.end = b->end,
		.object = b->object,
		.aux = m->number,
		.thread = r->reg.slot[slot].thread,
		.op = TY_MARK_PENDING,
		.kind = TY_EV_MARK,
		.cls = TY_CLASS_COUNT,
	};
	m->expected = ty_event_add(r, slot, &ev, 0, TY_F_NO_PATH);
	return true;
}
