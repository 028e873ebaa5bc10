/* SPDX-License-Identifier: MIT
 *
 * Sites that would look the same in a table: one operation, one function, but
 * other callers.  Each is told apart by the innermost caller in which its path
 * differs from all others of that name.  Runs in readers. */
#include "analyze/names.h"

#include <inttypes.h>

#define LINES 128
#define OTHERS 32 /* of one name, in one table; it is not asked about more */

struct lines {
	size_t n;
	struct ty_line line[LINES];
};

static int add(void *arg, const struct ty_line *l)
{
	struct lines *all = arg;
	all->line[all->n++] = *l;
	return all->n == LINES;
}

static bool same_name(const struct run *r, uint32_t a, uint32_t b)
{
	char x[TY_NAME_MAX], y[TY_NAME_MAX];
	return r->sites.v[a].op == r->sites.v[b].op && !strcmp(ty_site_function(r, a, x), ty_site_function(r, b, y));
}

static bool same_line(const struct ty_line *a, const struct ty_line *b)
{
	return a->frame->module == b->frame->module && a->frame->offset == b->frame->offset && a->inlined == b->inlined &&
	       a->symbol == b->symbol;
}

struct others {
	struct lines line[OTHERS];
	size_t n;
};

static void find_others(const struct run *r, uint32_t site, const uint32_t *list, size_t n, struct others *o)
{
	o->n = 0;
	for (size_t i = 0; i < n && o->n < OTHERS; i++) {
		if (list[i] == site || !ty_site_has_path(r, list[i]) || !same_name(r, site, list[i]))
			continue;
		o->line[o->n].n = 0;
		ty_path_each(r, r->sites.v[list[i]].path, add, &o->line[o->n++]);
	}
}

static bool has_name(const struct run *r, const struct lines *l, const char *name)
{
	char y[TY_NAME_MAX];
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(name, ty_line_name(r, &l->line[i], y)))
			return true;
	return false;
}

/* The innermost line whose name is in no other path; SIZE_MAX: none. */
static size_t by_its_name(const struct run *r, const struct lines *mine, const struct others *o)
{
	char x[TY_NAME_MAX];
	for (size_t d = 0; d < mine->n; d++) {
		const char *name = ty_line_name(r, &mine->line[d], x);
		size_t i = 0;
		while (i < o->n && !has_name(r, &o->line[i], name))
			i++;
		if (i == o->n)
			return d;
	}
	return SIZE_MAX;
}

/* What is shown of a line whose function does not tell the sites apart. */
static const char *place(const struct run *r, const struct ty_line *l, char buf[TY_NAME_MAX])
{
	char name[TY_NAME_MAX];
	const char *f = ty_line_name(r, l, name);
	if (!l->symbol || !l->symbol->function)
		snprintf(buf, TY_NAME_MAX, "%s", f);
	else if (l->symbol->line)
		snprintf(buf, TY_NAME_MAX, "%s:%u", f, l->symbol->line);
	else
		snprintf(buf, TY_NAME_MAX, "%s at +0x%" PRIx64, f, (uint64_t)l->frame->offset);
	return buf;
}

/* Shown: whether what is shown of both is the same.  Lines that are inlined at two places differ only there. */
static bool same(const struct run *r, const struct ty_line *a, const struct ty_line *b, bool shown)
{
	char x[TY_NAME_MAX], y[TY_NAME_MAX];
	return same_line(a, b) || (shown && !strcmp(place(r, a, x), place(r, b, y)));
}

/*
 * The innermost line in which it differs from all of them, whatever its name; SIZE_MAX: from one of them in none,
 * as far as is shown.
 */
static size_t by_its_place(const struct run *r, const struct lines *mine, const struct others *o, bool shown)
{
	size_t at = 0;
	for (size_t i = 0; i < o->n; i++) {
		size_t d = 0;
		while (d < mine->n && d < o->line[i].n && same(r, &mine->line[d], &o->line[i].line[d], shown))
			d++;
		if (shown && d == mine->n)
			return SIZE_MAX;
		at = d < mine->n && d > at ? d : at;
	}
	return at;
}

/* The line after which the site is named: see ty_path_function. */
static size_t own_line(const struct run *r, const struct lines *l)
{
	size_t i = 0;
	while (i < l->n && ty_line_wrapper(r, &l->line[i]))
		i++;
	return i < l->n ? i : 0;
}

/* Its own name is not said again: of a place in the function, or a call of itself, the file and line tell. */
static void put_words(const struct run *r, const struct lines *mine, size_t at, bool own_name, struct ty_apart *ret)
{
	const struct ty_line *l = &mine->line[at];
	char where[TY_NAME_MAX];
	const char *file = l->symbol ? l->symbol->file : NULL, *slash = file ? strrchr(file, '/') : NULL;
	if (file && l->symbol->line)
		snprintf(where, sizeof where, "%s:%u", slash ? slash + 1 : file, l->symbol->line);
	else
		snprintf(where, sizeof where, "+0x%" PRIx64, (uint64_t)l->frame->offset);
	bool own_place = at == own_line(r, mine);
	const char *what = own_place ? " at " : own_name ? " < itself at " : " < ";
	size_t n = (size_t)snprintf(ret->words, sizeof ret->words, "%s", what);
	snprintf(ret->words + n, sizeof ret->words - n, "%s", own_place || own_name ? where : ret->caller);
}

bool ty_site_apart(const struct run *r, uint32_t site, const uint32_t *list, size_t n, struct ty_apart *ret)
{
	struct lines mine = { 0 };
	char name[TY_NAME_MAX], own[TY_NAME_MAX];
	if (r->sites.by != TY_BY_SITE || !ty_site_has_path(r, site))
		return false;
	struct others *o = malloc(sizeof *o);
	if (!o)
		return false;
	ty_path_each(r, r->sites.v[site].path, add, &mine);
	find_others(r, site, list, n, o);
	size_t at = o->n ? by_its_name(r, &mine, o) : SIZE_MAX;
	bool alone = at != SIZE_MAX, needed = o->n && mine.n;
	if (needed && !alone) {
		at = by_its_place(r, &mine, o, true);
		at = at == SIZE_MAX ? by_its_place(r, &mine, o, false) : at;
	}
	free(o);
	if (!needed)
		return false;
	const char *f = ty_line_name(r, &mine.line[at], name);
	if (alone)
		snprintf(ret->caller, sizeof ret->caller, "%s", f);
	else
		place(r, &mine.line[at], ret->caller);
	put_words(r, &mine, at, !strcmp(f, ty_site_function(r, site, own)), ret);
	return true;
}
