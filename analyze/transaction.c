/* SPDX-License-Identifier: MIT
 *
 * Rule `transaction`: the requests of a session between two moments in which it
 * is idle are one.  Its latency is the sum of theirs: what the client takes to
 * think between them is no wait in the server, and is counted apart.  Runs in
 * readers, driven by socket.c.  Must stay true: a statement is complete before
 * it is added, however late that is; one that was never answered leaves the
 * transaction unfinished. */
#include "analyze/cut.h"

struct ty_txn {
	struct ty_req sum;   /* never on a thread */
	uint64_t busy;       /* the statements' latencies */
	uint64_t cls_at;     /* begin of the statement that gave it its class */
	uint64_t statements;
	uint32_t open;       /* statements that are not complete */
	bool over, whole, opening; /* opening: the class so far is that of a BEGIN */
};

/* Is this class only the beginning, and the next statement's says more? */
static bool opens(const struct ty_cut *c, uint32_t label)
{
	const char *text = c->r->store ? ty_store_label(c->r->store, label) : "";
	const char *word = strrchr(text, ' ') ? strrchr(text, ' ') + 1 : text;
	return !strcmp(word, "BEGIN") || !strcmp(word, "START");
}

static void finish(struct ty_cut *c, struct ty_txn *t)
{
	struct run *r = c->r;
	struct ty_req *q = &t->sum;
	q->answered = t->whole;
	q->closed = true;
	if (q->answered)
		q->think = q->last - q->begin - t->busy;
	q->counted = q->begin >= r->from && (q->answered ? q->last : q->begin) <= r->to && c->th[q->thread].counted;
	size_t rows = r->rows.n;
	ty_req_book(c, q);
	if (r->rows.n > rows) {
		r->counts.statements += t->statements;
		r->counts.think_ns += q->think;
	}
	free(q->part);
	free(q->fold);
	free(q->behind);
	free(t);
}

void ty_txn_join(struct ty_cut *c, struct ty_txn **owner, struct ty_req *q)
{
	struct ty_txn *t = *owner;
	if (!t) {
		t = *owner = calloc(1, sizeof *t);
		if (!t) {
			c->error = c->error ? c->error : -ENOMEM;
			return;
		}
		t->whole = true;
		t->sum.begin = q->begin;
		t->sum.thread = q->thread;
		t->sum.carrier = t->sum.cls = TY_NONE;
	}
	q->txn = t;
	t->open++;
}

void ty_txn_over(struct ty_cut *c, struct ty_txn **owner, bool whole)
{
	struct ty_txn *t = *owner;
	*owner = NULL;
	if (!t)
		return;
	t->over = true;
	t->whole = t->whole && whole;
	if (!t->open)
		finish(c, t);
}

static void take_class(struct ty_cut *c, struct ty_txn *t, const struct ty_req *q)
{
	if (q->cls == TY_NONE)
		return;
	bool opening = opens(c, q->cls);
	bool better = t->sum.cls == TY_NONE || (t->opening && !opening) || (t->opening == opening && q->begin < t->cls_at);
	if (!better)
		return;
	t->sum.cls = q->cls;
	t->cls_at = q->begin;
	t->opening = opening;
}

void ty_txn_retire(struct ty_cut *c, struct ty_req *q)
{
	struct ty_txn *t = q->txn;
	struct ty_req *sum = &t->sum;
	sum->begin = q->begin < sum->begin ? q->begin : sum->begin;
	if (q->answered) {
		sum->last = q->last > sum->last ? q->last : sum->last;
		t->busy += q->last - q->begin;
		t->statements++;
		take_class(c, t, q);
		ty_req_merge(c, sum, q);
	} else {
		t->whole = false;
	}
	if (!--t->open && t->over)
		finish(c, t);
}
