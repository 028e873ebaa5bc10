/* SPDX-License-Identifier: MIT
 *
 * One event as a line of text or of JSON.  Runs in readers.  Must stay true:
 * one event is one line whatever a recording's names contain, and JSON has no
 * number beyond 63 bits, which many readers refuse: ids and addresses are strings. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dump.h"
#include "analyze/fmt.h"
#include "analyze/json.h"
#include "analyze/names.h"
#include "analyze/put.h"

static const char *const kinds[] = { "wait", "open", "wake", "mark" };
static const char *const marks[] = { "none", "begin", "end", "pause", "resume", "class", "state" };
static const char *const states[] = { "idle", "in transaction", "failed transaction" };
static const struct { uint16_t flag; const char *name; } flags[] = {
	{ TY_F_CONTENDED, "contended" }, { TY_F_SHARED, "shared" }, { TY_F_BROADCAST, "broadcast" },
	{ TY_F_CLOCK, "clock" },
};

static const char *kind_of(const struct ty_ev *e) { return e->kind < 4 ? kinds[e->kind] : "unknown"; }
static const char *mark_of(const struct ty_ev *e)
{
	return e->op < sizeof marks / sizeof *marks ? marks[e->op] : "unknown";
}
/* What it says of its request, or of the session on its descriptor. */
static const char *mark_text(const struct dump *d, const struct ty_ev *e)
{
	if (e->op != TY_MARK_STATE)
		return ty_store_label(d->run.store, (uint32_t)e->aux);
	return e->aux < sizeof states / sizeof *states ? states[e->aux] : "unknown";
}

static const char *path_kind(const struct ty_path *p)
{
	return p->flags & TY_F_NO_PATH ? "not_taken" : p->flags & TY_F_LEAF ? "leaf" : p->flags & TY_F_MISS ? "miss" :
	       p->flags & TY_F_CUT ? "cut" : "complete";
}

/* The descriptor an event is about; -1: none. */
static int64_t fd_of(const struct ty_ev *e)
{
	return e->cls < TY_CLASS_COUNT && ty_class_has_fd(e->cls) && e->object <= INT32_MAX ? (int64_t)e->object : -1;
}

static const char *name_of(const struct dump *d, const struct ty_ev *e, int64_t fd)
{
	const struct ty_tables *t = &d->run.t;
	if (fd < 0)
		return ty_variable_name(&d->run, e->thread, e->object);
	const struct ty_descriptor *f = ty_descriptor_at(t, t->threads[e->thread].process, (uint64_t)fd, e->end);
	return f && f->name[0] ? f->name : NULL;
}

static const char *error_name(unsigned err, char *buf, size_t size)
{
	const char *name = strerrorname_np((int)err);
	if (name)
		snprintf(buf, size, "%s", name);
	else
		snprintf(buf, size, "errno %u", err);
	return buf;
}

/* ---- text ---- */

/* Ends the memory stream in which text for many lines was made. */
static const char *made(FILE *out, char **text)
{
	if (out && fclose(out)) {
		free(*text);
		*text = NULL;
	}
	return *text ? *text : "";
}

/* At least `width` columns, if it is ASCII. */
static void put_padded(const char *s, size_t width)
{
	size_t n = strlen(s);
	fwrite(s, 1, n, stdout);
	for (; n < width; n++)
		putchar(' ');
}

static void put_number(uint64_t x, unsigned width)
{
	unsigned n = 1;
	for (uint64_t rest = x; rest /= 10;)
		n++;
	ty_put_uint(stdout, x);
	put_padded("", n < width ? width - n : 0);
}

struct text_line {
	const struct dump *d;
	FILE *out;
};

static int text_line(void *arg, const struct ty_line *l)
{
	const struct text_line *to = arg;
	char buf[TY_NAME_MAX];
	ty_fmt_put(to->out, ty_line_name(&to->d->run, l, buf));
	if (!to->d->paths)
		return 1;
	if (l->symbol && l->symbol->file) {
		fputs(" (", to->out);
		ty_fmt_put(to->out, l->symbol->file);
		fprintf(to->out, ":%u)", l->symbol->line);
	}
	fputs(l->inlined ? " <i " : " < ", to->out);
	return 0;
}

static const char *text_tail(struct dump *d, uint32_t path)
{
	if (d->tail[path])
		return d->tail[path];
	char **tail = &d->tail[path];
	size_t n;
	struct text_line to = { d, open_memstream(tail, &n) };
	if (to.out) {
		const char *kind = path_kind(&d->run.t.paths[path]);
		ty_path_each(&d->run, path, text_line, &to);
		if (strcmp(kind, "complete") != 0)
			fprintf(to.out, " [%s]", kind);
		putc('\n', to.out);
	}
	return made(to.out, tail);
}

static const char *text_who(struct dump *d, uint32_t thread)
{
	const struct ty_tables *t = &d->run.t;
	const struct ty_thread_info *th = &t->threads[thread];
	char who[32];
	size_t n;
	if (d->who[thread])
		return d->who[thread];
	FILE *out = open_memstream(&d->who[thread], &n);
	snprintf(who, sizeof who, "%u/%u", t->processes[th->process].pid, th->tid);
	if (out)
		fprintf(out, "  %-15s  ", who);
	return made(out, &d->who[thread]);
}

static void text_object(const struct dump *d, const struct ty_ev *e)
{
	int64_t fd = fd_of(e);
	const char *name = name_of(d, e, fd);
	char fit[4 * 40 + 1];
	size_t width = 40;
	if (fd >= 0) {
		ty_put_wide(stdout, (uint64_t)fd, 3, ' ');
		putchar(' ');
		width = 36;
	}
	if (name) {
		put_padded(ty_fmt_fit(fit, sizeof fit, name, (unsigned)width), width);
	} else if (fd >= 0) {
		put_padded("", width);
	} else if (e->object == TY_FD_NONE || e->object == 0) {
		put_padded("-", width);
	} else if (e->object >> 63 && e->cls == TY_CLASS_CLOSE) {
		printf("%" PRIu64 "..%-36" PRIu64, e->object << 1 >> 32, e->object & 0x7fffffff);
	} else {
		put_padded("", width - ty_put_hex(stdout, e->object)); /* up to 18 */
	}
}

static void text_result(const struct ty_ev *e)
{
	char took[TY_FMT] = "-", name[32];
	if (e->kind != TY_EV_WAKE)
		ty_fmt_ns(took, (double)(e->end - e->begin));
	put_padded("", 2 + (strlen(took) < 9 ? 9 - strlen(took) : 0));
	fputs(took, stdout);
	fputs("  ", stdout);
	if (e->kind == TY_EV_OPEN)
		put_padded("in progress", 11);
	else if (e->err)
		put_padded(error_name(e->err, name, sizeof name), 11);
	else if (fd_of(e) >= 0)
		put_number(e->aux, 11);
	else
		put_padded("ok", 11);
	fputs("  ", stdout);
}

void ty_dump_text(struct dump *d, const struct ty_ev *e)
{
	if (d->raw)
		ty_put_uint(stdout, e->end);
	else
		ty_put_ns(stdout, (int64_t)(e->end - d->run.start), 9, 4);
	fputs(text_who(d, e->thread), stdout);
	fputs(kind_of(e), stdout);
	fputs("  ", stdout);
	if (e->kind == TY_EV_MARK) {
		fputs(mark_of(e), stdout);
		putchar(' ');
		ty_put_uint(stdout, e->object);
		putchar(' ');
		ty_fmt_put(stdout, mark_text(d, e));
		putchar('\n');
		return;
	}
	put_padded(d->run.t.ops[e->op].name, 24);
	fputs("  ", stdout);
	text_object(d, e);
	text_result(e);
	fputs(text_tail(d, e->path), stdout);
}

/* ---- JSON ---- */

static void put_json(const char *s)
{
	json_t *j = s ? json_string(s) : NULL;
	if (!j && s) /* not UTF-8 */
		j = ty_json_text(s);
	if (!j || json_dumpf(j, stdout, JSON_ENCODE_ANY))
		fputs("null", stdout);
	json_decref(j);
}

static int json_line(void *arg, const struct ty_line *l)
{
	const struct dump *d = ((void **)arg)[0];
	bool *first = ((void **)arg)[1];
	fputs(*first ? "{\"function\":" : ",{\"function\":", stdout);
	*first = false;
	put_json(l->symbol ? l->symbol->function : NULL);
	fputs(",\"module\":", stdout);
	put_json(l->frame->module < 0 ? NULL : ty_module_name(&d->run.t, l->frame->module));
	printf(",\"offset\":\"0x%" PRIx64 "\",\"file\":", l->frame->offset);
	put_json(l->symbol ? l->symbol->file : NULL);
	if (l->symbol && l->symbol->line)
		printf(",\"line\":%u", l->symbol->line);
	else
		fputs(",\"line\":null", stdout);
	printf(",\"inlined\":%s}", l->inlined ? "true" : "false");
	return 0;
}

static int json_leaf(void *arg, const struct ty_line *l)
{
	const struct dump *d = arg;
	char buf[TY_NAME_MAX];
	put_json(ty_line_name(&d->run, l, buf));
	return 1;
}

static void json_path(const struct dump *d, const struct ty_ev *e)
{
	bool first = true;
	void *arg[2] = { (void *)(uintptr_t)d, &first };
	printf(",\"path_kind\":\"%s\",\"function\":", path_kind(&d->run.t.paths[e->path]));
	if (!ty_path_each(&d->run, e->path, json_leaf, arg[0]))
		fputs("null", stdout);
	if (!d->paths)
		return;
	fputs(",\"path\":[", stdout);
	ty_path_each(&d->run, e->path, json_line, arg);
	putchar(']');
}

static void json_object_of(const struct dump *d, const struct ty_ev *e)
{
	int64_t fd = fd_of(e);
	if (fd >= 0)
		printf(",\"object\":null,\"fd\":%" PRId64 ",\"name\":", fd);
	else if (e->object == TY_FD_NONE || e->object == 0)
		fputs(",\"object\":null,\"fd\":null,\"name\":", stdout);
	else
		printf(",\"object\":\"0x%" PRIx64 "\",\"fd\":null,\"name\":", e->object);
	put_json(name_of(d, e, fd));
}

void ty_dump_json(struct dump *d, const struct ty_ev *e)
{
	const struct ty_tables *t = &d->run.t;
	const struct ty_thread_info *th = &t->threads[e->thread];
	char buf[32];
	printf("{\"begin_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64 ",\"pid\":%u,\"tid\":%u,\"kind\":\"%s\"",
	       e->begin, e->end, t->processes[th->process].pid, th->tid, kind_of(e));
	if (e->kind == TY_EV_MARK) {
		printf(",\"mark\":\"%s\"", mark_of(e));
		if (e->op > TY_MARK_RESUME) /* found in captured bytes */
			printf(",\"request\":null,\"fd\":%" PRIu64 ",\"label\":", e->object & INT32_MAX);
		else
			printf(",\"request\":\"%" PRIu64 "\",\"label\":", e->object);
		put_json(mark_text(d, e));
		fputs("}\n", stdout);
		return;
	}
	fputs(",\"operation\":", stdout);
	put_json(t->ops[e->op].name);
	fputs(",\"class\":", stdout);
	put_json(t->ops[e->op].class_name);
	json_object_of(d, e);
	printf(",\"duration_ns\":%" PRIu64 ",\"errno\":%u,\"error\":", e->end - e->begin, e->err);
	put_json(e->err ? error_name(e->err, buf, sizeof buf) : NULL);
	printf(",\"aux\":%" PRId64 ",\"flags\":[", (int64_t)e->aux);
	const char *comma = "";
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		if (e->flags & flags[i].flag) {
			printf("%s\"%s\"", comma, flags[i].name);
			comma = ",";
		}
	putchar(']');
	json_path(d, e);
	fputs("}\n", stdout);
}
