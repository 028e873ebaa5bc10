/* SPDX-License-Identifier: MIT
 *
 * Rules `marker` (the application says where a request begins and ends) and
 * `site:` (between two returns from a named wait).  Runs in readers, driven by
 * cut.c.  Must stay true: an id is looked up in its own process only; a begin
 * of an id that is open gives up the old one as unfinished. */
#include "analyze/cut.h"
#include "tarry/event.h"

struct mark { uint64_t id; uint32_t process; struct ty_req *req; };

/* Open requests by (process, id): open addressing; an entry stays when its
 * request has ended, and is dropped when the table is rebuilt. */
struct ty_marks {
	struct mark *v;
	size_t slots, used;
};

int ty_marks_init(struct ty_cut *c)
{
	c->marks = calloc(1, sizeof *c->marks);
	if (!c->marks)
		return -ENOMEM;
	c->marks->slots = 1024;
	c->marks->v = calloc(c->marks->slots, sizeof *c->marks->v);
	return c->marks->v ? 0 : -ENOMEM;
}

void ty_marks_free(struct ty_cut *c)
{
	if (c->marks)
		free(c->marks->v);
	free(c->marks);
	c->marks = NULL;
}

/* process + 1 is stored, so that 0 is an empty entry */
static struct mark *find(struct mark *v, size_t slots, uint32_t process, uint64_t id)
{
	size_t i = (size_t)ty_mix(id ^ (uint64_t)process << 32) & (slots - 1);
	while (v[i].process && !(v[i].process == process + 1 && v[i].id == id))
		i = (i + 1) & (slots - 1);
	return &v[i];
}

/* Room for one more; the requests that are open stay, at their new places. */
static int rebuild(struct ty_marks *m)
{
	size_t open = 0, slots = 1024;
	for (size_t i = 0; i < m->slots; i++)
		open += m->v[i].req != NULL;
	while (slots < open * 4)
		slots *= 2;
	struct mark *v = calloc(slots, sizeof *v);
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < m->slots; i++)
		if (m->v[i].req)
			*find(v, slots, m->v[i].process - 1, m->v[i].id) = m->v[i];
	free(m->v);
	m->v = v;
	m->slots = slots;
	m->used = open;
	return 0;
}

static void begin(struct ty_cut *c, const struct ty_ev *ev, uint32_t process)
{
	struct ty_marks *m = c->marks;
	struct mark *k = find(m->v, m->slots, process, ev->object);
	if (!k->process) {
		if (m->used * 2 >= m->slots) {
			if (rebuild(m)) {
				c->error = -ENOMEM;
				return;
			}
			k = find(m->v, m->slots, process, ev->object);
		}
		m->used++;
		*k = (struct mark){ .id = ev->object, .process = process + 1 };
	}
	if (k->req)
		ty_req_close(c, k->req);
	k->req = ty_req_open(c, ev->thread, ev->end, NULL);
	if (k->req)
		k->req->cls = (uint32_t)ev->aux;
}

void ty_mark_event(struct ty_cut *c, const struct ty_ev *ev)
{
	uint32_t process = c->th[ev->thread].process;
	struct ty_carrier *th = &c->th[ev->thread];
	struct mark *k = find(c->marks->v, c->marks->slots, process, ev->object);
	if (ev->end > th->last)
		th->last = ev->end;
	if (ev->op == TY_MARK_BEGIN) {
		begin(c, ev, process);
	} else if (k->req && ev->op == TY_MARK_PAUSE) {
		ty_req_leave(c, k->req, ev->end);
	} else if (k->req && ev->op == TY_MARK_RESUME) {
		ty_req_touch(c, k->req, ev->thread, ev->end);
	} else if (k->req && ev->op == TY_MARK_END) {
		ty_req_touch(c, k->req, ev->thread, ev->end);
		ty_req_answer(c, k->req, ev->end);
		ty_req_close(c, k->req);
		k->req = NULL;
	}
}

void ty_site_event(struct ty_cut *c, const struct ty_ev *ev)
{
	struct ty_carrier *th = &c->th[ev->thread];
	if (th->own) {
		ty_req_answer(c, th->own, ev->end);
		ty_req_close(c, th->own);
	}
	ty_req_open(c, ev->thread, ev->end, &th->own);
}
