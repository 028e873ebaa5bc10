/* SPDX-License-Identifier: MIT
 *
 * Rows of the store's tables as JSON text, and back.  Runs in the recorder
 * (out) and in readers (in).  Readers ignore keys they do not know and take
 * zero or "" for missing ones, so that rows can gain keys without a new
 * format.  JSON is UTF-8 while names of files and threads are any bytes: bytes
 * that are not UTF-8 are stored as the text \xHH. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/store_priv.h"

static json_t *text_json(const char *s)
{
	if (!s)
		return json_null();
	json_t *j = json_string(s);
	if (j)
		return j;
	char *out = malloc(4 * strlen(s) + 1), *o = out;
	if (!out)
		return NULL;
	while (*s) {
		size_t n = 1;
		while (n < 4 && s[n] && ((uint8_t)s[n] & 0xc0) == 0x80)
			n++;
		json_t *one = json_stringn(s, n); /* one character, if it is one */
		if (one) {
			memcpy(o, s, n);
			o += n;
		} else {
			n = 1;
			o += sprintf(o, "\\x%02x", (uint8_t)*s);
		}
		json_decref(one);
		s += n;
	}
	*o = 0;
	j = json_string(out);
	free(out);
	return j;
}

/* Adding to an object that is NULL, or a NULL value, fails quietly: the text is then NULL. */
static void add(json_t **o, const char *key, json_t *value)
{
	if (*o && json_object_set_new(*o, key, value) < 0) {
		json_decref(*o);
		*o = NULL;
	}
}
static void add_text(json_t **o, const char *key, const char *s) { add(o, key, text_json(s)); }
static void add_num(json_t **o, const char *key, uint64_t v) { add(o, key, json_integer((json_int_t)v)); }
static void add_bool(json_t **o, const char *key, bool v) { add(o, key, json_boolean(v)); }

static char *done(json_t *o)
{
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(o);
	return text;
}

char *ty_row_op(const char *name, const char *class_name)
{
	json_t *o = json_object();
	add_text(&o, "name", name);
	add_text(&o, "class", class_name);
	return done(o);
}

char *ty_row_loss(const char *name, const char *what)
{
	json_t *o = json_object();
	add_text(&o, "name", name);
	add_text(&o, "what", what);
	return done(o);
}

char *ty_row_process(const struct ty_process *p)
{
	json_t *o = json_object();
	add_num(&o, "pid", p->pid);
	add_num(&o, "ppid", p->ppid);
	add(&o, "parent", json_integer(p->parent));
	add_bool(&o, "forked", p->forked);
	add_bool(&o, "ended_waiting", p->ended_waiting);
	add_bool(&o, "ended", p->ended);
	add_num(&o, "image", p->image);
	add_num(&o, "start", p->start);
	add_num(&o, "end", p->end);
	add_text(&o, "exe", p->exe);
	add_text(&o, "cmdline", p->cmdline);
	return done(o);
}

char *ty_row_thread(const struct ty_thread_info *t)
{
	json_t *o = json_object();
	add_num(&o, "process", t->process);
	add_num(&o, "tid", t->tid);
	add_text(&o, "name", t->name);
	add_num(&o, "start", t->start);
	add_num(&o, "end", t->end);
	return done(o);
}

/* [index, count, index, count...] of those that are not zero */
static json_t *pairs(const uint64_t *v, size_t n)
{
	json_t *a = json_array();
	for (size_t i = 0; v && i < n; i++) {
		if (!v[i])
			continue;
		json_array_append_new(a, json_integer((json_int_t)i));
		json_array_append_new(a, json_integer((json_int_t)v[i]));
	}
	return a;
}

char *ty_row_counters(const struct ty_thread_info *t, size_t ops, size_t losses)
{
	json_t *o = json_object();
	add_num(&o, "sampled_ns", t->sampled_ns);
	add_num(&o, "cpu_ns", t->cpu_ns);
	add_num(&o, "runq_ns", t->runq_ns);
	add_num(&o, "waits_ns", t->waits_ns);
	add(&o, "fast", pairs(t->fast, ops));
	add(&o, "recorded", pairs(t->recorded, ops));
	add(&o, "loss", pairs(t->loss, losses));
	if (t->open_begin) {
		add_num(&o, "open_begin", t->open_begin);
		add_num(&o, "open_path", t->open_path);
	}
	return done(o);
}

char *ty_row_module(const struct ty_module_info *m)
{
	json_t *o = json_object();
	add_text(&o, "path", m->path);
	add_text(&o, "build_id", m->build_id);
	add_text(&o, "rows", m->rows);
	add_num(&o, "row_count", m->row_count);
	add_num(&o, "rows_skipped", m->rows_skipped);
	return done(o);
}

char *ty_row_descriptor(const struct ty_descriptor *d)
{
	json_t *o = json_object();
	add_num(&o, "process", d->process);
	add(&o, "fd", json_integer(d->fd));
	add_num(&o, "from", d->from);
	add_text(&o, "kind", d->kind);
	add_text(&o, "name", d->name);
	return done(o);
}

char *ty_row_symbols(const struct ty_symbol *y, size_t n)
{
	json_t *a = json_array();
	for (size_t i = 0; i < n; i++) {
		json_t *o = json_object();
		if (y[i].function)
			add_text(&o, "function", y[i].function);
		if (y[i].file)
			add_text(&o, "file", y[i].file);
		add_num(&o, "line", y[i].line);
		add_bool(&o, "inlined", y[i].inlined);
		if (!o || json_array_append_new(a, o) < 0) {
			json_decref(a);
			return NULL;
		}
	}
	return done(a);
}

/* ---- and back ---- */

static json_t *load(const MDB_val *v)
{
	return json_loadb(v->mv_data, v->mv_size, 0, NULL);
}
static uint64_t num(json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}
static bool yes(json_t *o, const char *key) { return json_is_true(json_object_get(o, key)); }

/* *ok turns false when memory is out. */
static const char *text_or(struct ty_mem *m, json_t *o, const char *key, const char *none, bool *ok)
{
	json_t *s = json_object_get(o, key);
	if (!json_is_string(s))
		return none;
	const char *t = ty_mem_text(m, json_string_value(s), json_string_length(s));
	*ok = *ok && t;
	return t;
}
static const char *text(struct ty_mem *m, json_t *o, const char *key, bool *ok)
{
	return text_or(m, o, key, "", ok);
}

/* Tarry's own words, which readers print as they are: with '?' for what no tarry writes, so that a file made up by
 * others cannot control a terminal.  Names that come from a program stay what they are: readers look to them. */
static const char *word(struct ty_mem *m, json_t *o, const char *key, bool *ok)
{
	json_t *s = json_object_get(o, key);
	if (!json_is_string(s))
		return "";
	char *t = ty_mem_text(m, json_string_value(s), json_string_length(s));
	for (char *p = t; p && *p; p++)
		*p = *p < ' ' || *p > '~' ? '?' : *p;
	*ok = *ok && t;
	return t;
}

static int end(json_t *o, bool ok)
{
	json_decref(o);
	return ok ? 0 : -ENOMEM;
}

int ty_get_op(struct ty_mem *m, const MDB_val *v, struct ty_op_info *op)
{
	json_t *o = load(v);
	bool ok = true;
	if (!o)
		return -EBADMSG;
	op->name = word(m, o, "name", &ok);
	op->class_name = word(m, o, "class", &ok);
	return end(o, ok);
}

int ty_get_loss(struct ty_mem *m, const MDB_val *v, const char **name, const char **what)
{
	json_t *o = load(v);
	bool ok = true;
	if (!o)
		return -EBADMSG;
	*name = word(m, o, "name", &ok);
	*what = word(m, o, "what", &ok);
	return end(o, ok);
}

int ty_get_process(struct ty_mem *m, const MDB_val *v, struct ty_process *p)
{
	json_t *o = load(v);
	bool ok = true;
	if (!o)
		return -EBADMSG;
	json_t *parent = json_object_get(o, "parent");
	*p = (struct ty_process){
		.pid = (uint32_t)num(o, "pid"), .ppid = (uint32_t)num(o, "ppid"),
		.parent = json_is_integer(parent) ? (int32_t)json_integer_value(parent) : -1,
		.forked = yes(o, "forked"), .ended_waiting = yes(o, "ended_waiting"), .ended = yes(o, "ended"),
		.image = num(o, "image"), .start = num(o, "start"), .end = num(o, "end"),
		.exe = text(m, o, "exe", &ok), .cmdline = text(m, o, "cmdline", &ok),
	};
	return end(o, ok);
}

int ty_get_thread(struct ty_mem *m, const MDB_val *v, struct ty_thread_info *t)
{
	json_t *o = load(v);
	bool ok = true;
	if (!o)
		return -EBADMSG;
	t->process = (uint32_t)num(o, "process");
	t->tid = (uint32_t)num(o, "tid");
	t->name = text(m, o, "name", &ok);
	t->start = num(o, "start");
	t->end = num(o, "end");
	return end(o, ok);
}

/* An index this store does not have is ignored, like an unknown key. */
static const uint64_t *unpair(struct ty_mem *m, json_t *o, const char *key, size_t n, bool *ok)
{
	json_t *a = json_object_get(o, key);
	if (json_array_size(a) == 0)
		return NULL; /* most are; the reader has common zeros for them */
	uint64_t *v = ty_mem_get(m, (n + 1) * sizeof *v);
	*ok = *ok && v;
	for (size_t i = 0; v && i + 1 < json_array_size(a); i += 2) {
		uint64_t k = (uint64_t)json_integer_value(json_array_get(a, i));
		if (k < n)
			v[k] = (uint64_t)json_integer_value(json_array_get(a, i + 1));
	}
	return v;
}

int ty_get_counters(struct ty_mem *m, const MDB_val *v, struct ty_thread_info *t, size_t ops, size_t losses)
{
	json_t *o = load(v);
	bool ok = true;
	if (!o)
		return -EBADMSG;
	t->sampled_ns = num(o, "sampled_ns");
	t->cpu_ns = num(o, "cpu_ns");
	t->runq_ns = num(o, "runq_ns");
	t->waits_ns = num(o, "waits_ns");
	t->fast = unpair(m, o, "fast", ops, &ok);
	t->recorded = unpair(m, o, "recorded", ops, &ok);
	t->loss = unpair(m, o, "loss", losses, &ok);
	t->open_begin = num(o, "open_begin");
	t->open_path = (uint32_t)num(o, "open_path");
	return end(o, ok);
}

int ty_get_module(struct ty_mem *m, const MDB_val *v, struct ty_module_info *i)
{
	json_t *o = load(v);
	bool ok = true;
	if (!o)
		return -EBADMSG;
	i->path = text(m, o, "path", &ok);
	i->build_id = word(m, o, "build_id", &ok);
	i->rows = text(m, o, "rows", &ok);
	i->row_count = (uint32_t)num(o, "row_count");
	i->rows_skipped = (uint32_t)num(o, "rows_skipped");
	return end(o, ok);
}

int ty_get_descriptor(struct ty_mem *m, const MDB_val *v, struct ty_descriptor *d)
{
	json_t *o = load(v);
	bool ok = true;
	if (!o)
		return -EBADMSG;
	d->process = (uint32_t)num(o, "process");
	d->fd = (int32_t)num(o, "fd");
	d->from = num(o, "from");
	d->kind = word(m, o, "kind", &ok);
	d->name = text(m, o, "name", &ok);
	return end(o, ok);
}

int ty_get_symbols(struct ty_mem *m, const MDB_val *v, struct ty_symbol **ret, size_t *n)
{
	json_t *a = load(v);
	bool ok = true;
	if (!a)
		return -EBADMSG;
	size_t count = json_array_size(a);
	struct ty_symbol *y = ty_mem_get(m, (count + 1) * sizeof *y);
	ok = y;
	for (size_t i = 0; ok && i < count; i++) {
		json_t *o = json_array_get(a, i);
		y[i].function = text_or(m, o, "function", NULL, &ok);
		y[i].file = text_or(m, o, "file", NULL, &ok);
		y[i].line = (uint32_t)num(o, "line");
		y[i].inlined = yes(o, "inlined");
	}
	*ret = y;
	*n = ok ? count : 0;
	return end(a, ok);
}
