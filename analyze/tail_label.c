/* SPDX-License-Identifier: MIT
 *
 * Names of sites for the tail's tables.  Runs in readers.  Must stay true: of
 * two listed sites with the same function and operation each says through which
 * function of its path it differs. */
#include <stdio.h>

#include "analyze/fmt.h"
#include "analyze/names.h"
#include "analyze/tail.h"
#include "analyze/tree.h"

#define LABELS 256u /* more sites are not told apart */

struct label {
	uint32_t site;
	char *function;
	char **line; /* outermost last */
	size_t n, cap;
	char in[128]; /* one or two of line; "": nothing to add */
	bool failed;
};

struct ty_tail_labels {
	const struct run *r;
	struct label v[LABELS];
	size_t n;
	uint16_t *of; /* [sites] number in v + 1 */
};

struct collect { const struct run *r; struct label *l; };

static int take_line(void *arg, const struct ty_line *line)
{
	struct collect *c = arg;
	struct label *l = c->l;
	char buf[TY_NAME_MAX];
	if (TY_RESERVE(l->line, l->cap, l->n + 1, (size_t)32) ||
	    !(l->line[l->n] = strdup(ty_line_name(c->r, line, buf)))) {
		l->failed = true;
		return 1;
	}
	l->n++;
	return 0;
}

static void add(struct ty_tail_labels *a, uint32_t site)
{
	char buf[TY_NAME_MAX];
	if (site == TY_SITE_HELD || !ty_site_has_path(a->r, site) || a->of[site] || a->n == LABELS)
		return;
	struct label *l = &a->v[a->n];
	struct collect c = { a->r, l };
	l->site = site;
	l->function = strdup(ty_site_function(a->r, site, buf));
	ty_path_each(a->r, a->r->sites.v[site].path, take_line, &c);
	a->of[site] = (uint16_t)++a->n;
	l->failed |= !l->function;
}

/* The i-th line from outside. */
static const char *outer(const struct label *l, size_t i)
{
	return l->line[l->n - 1 - i];
}

static bool has_name(const char *line)
{
	return !strstr(line, "+0x");
}

static bool alike(const struct ty_tail_labels *a, const struct label *p, const struct label *q)
{
	return p != q && !p->failed && !q->failed && a->r->sites.v[p->site].op == a->r->sites.v[q->site].op &&
	       !strcmp(p->function, q->function);
}

/* Lines from outside that l shares with all sites that look like it, + 1; 0: none does. */
static size_t shared(const struct ty_tail_labels *a, const struct label *l)
{
	size_t least = 0;
	for (size_t k = 0; k < a->n; k++) {
		const struct label *o = &a->v[k];
		size_t same = 0;
		if (!alike(a, l, o))
			continue;
		while (same < l->n && same < o->n && !strcmp(outer(l, same), outer(o, same)))
			same++;
		least = !least || same + 1 < least ? same + 1 : least;
	}
	return least;
}

static bool elsewhere(const struct ty_tail_labels *a, const struct label *l, const char *line)
{
	for (size_t k = 0; k < a->n; k++)
		for (size_t i = 0; alike(a, l, &a->v[k]) && i < a->v[k].n; i++)
			if (!strcmp(a->v[k].line[i], line))
				return true;
	return false;
}

/* The first functions with a name that are not shared: one that no other site has will do, else two. */
static void choose_different(const struct ty_tail_labels *a, struct label *l, size_t from)
{
	size_t at = 0;
	for (size_t i = from, n = 0; i < l->n && n < 2; i++) {
		const char *line = outer(l, i);
		bool unique = !elsewhere(a, l, line);
		if (!has_name(line) || !strcmp(line, l->function))
			continue;
		at += (size_t)snprintf(l->in + at, sizeof l->in - at, "%s%.50s", n ? " > " : "", line);
		n += unique ? 2 : 1;
	}
	if (!at && from < l->n)
		snprintf(l->in, sizeof l->in, "%.100s", outer(l, from));
}

static void choose(const struct ty_tail_labels *a, struct label *l)
{
	size_t from = l->failed ? 0 : shared(a, l);
	if (from) {
		choose_different(a, l, from - 1);
		return;
	}
	if (l->failed || has_name(l->function))
		return;
	for (size_t i = 0; i < l->n && !*l->in; i++) /* the nearest one with a name */
		if (has_name(l->line[i]) && strcmp(l->line[i], l->function) != 0)
			snprintf(l->in, sizeof l->in, "%.100s", l->line[i]);
}

int ty_tail_labels_make(struct ty_tail_labels **ret, const struct ty_tail *t, size_t top)
{
	struct ty_tail_labels *a = calloc(1, sizeof *a);
	if (!a || !(a->of = calloc(t->r->sites.n + 1, sizeof *a->of))) {
		free(a);
		return -ENOMEM;
	}
	a->r = t->r;
	for (size_t i = 0; i < t->causes && i < top; i++)
		add(a, t->cause[i].site);
	for (size_t i = 0; i < t->nslow; i++)
		for (size_t k = 0; k < t->slow[i].waits; k++)
			add(a, t->slow[i].wait[k].part.site);
	for (size_t i = 0; i < a->n; i++)
		choose(a, &a->v[i]);
	*ret = a;
	return 0;
}

void ty_tail_labels_free(struct ty_tail_labels *a)
{
	for (size_t i = 0; a && i < a->n; i++) {
		for (size_t k = 0; k < a->v[i].n; k++)
			free(a->v[i].line[k]);
		free(a->v[i].line);
		free(a->v[i].function);
	}
	if (a)
		free(a->of);
	free(a);
}

const char *ty_tail_label(const struct ty_tail_labels *a, uint32_t site, unsigned width, char buf[1024])
{
	const struct run *r = a->r;
	char name[TY_NAME_MAX], object[512], text[TY_NAME_MAX * 4];
	if (site == TY_SITE_HELD)
		return "held up: its thread worked on another request";
	const char *f = ty_site_function(r, site, name), *o = ty_site_target(r, site, object);
	const char *in = a->of[site] ? a->v[a->of[site] - 1].in : "";
	snprintf(text, sizeof text, "%s%s%s%s%s%s%s", in, *in ? " .. " : "", f, *f ? ": " : "", ty_site_operation(r, site),
		 o ? "  on " : "", o ? o : "");
	return ty_fmt_fit(buf, 1024, text, width);
}
