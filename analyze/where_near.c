/* SPDX-License-Identifier: MIT
 *
 * The names of a recording that are nearest to one that is not in it, for
 * error messages.  Runs in readers.  Must stay true: memory is a few names,
 * however many candidates there are. */
#include "analyze/where.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "analyze/fmt.h"
#include "analyze/names.h"

#define WORD 64

/* Letters that must change to turn a into some part of b, both cut to WORD; case does not count. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[WORD + 1] = { 0 }, best;
	size_t n = strnlen(b, WORD), m = strnlen(a, WORD);
	for (size_t i = 1; i <= m; i++) {
		unsigned corner = row[0];
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= n; j++) {
			unsigned change = corner + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
			corner = row[j];
			row[j] = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
			if (change < row[j])
				row[j] = change;
		}
	}
	best = row[0];
	for (size_t j = 1; j <= n; j++)
		best = row[j] < best ? row[j] : best;
	/* of equal ones the one of the most similar length */
	return best * WORD + (unsigned)(n > m ? n - m : m - n);
}

void ty_near_add(struct ty_near *n, const char *candidate)
{
	char name[96];
	if (!*candidate)
		return;
	ty_fmt_fit(name, sizeof name, candidate, 23);
	if (strlen(candidate) < sizeof name && strpbrk(candidate, "\n\t\r\033") == NULL)
		strcpy(name, candidate);
	for (size_t i = 0; i < n->n; i++)
		if (!strcmp(n->best[i].name, name))
			return;
	unsigned d = distance(n->text, candidate);
	size_t i = n->n;
	while (i && n->best[i - 1].distance > d)
		i--;
	if (i >= TY_NEAR)
		return;
	n->n += n->n < TY_NEAR;
	memmove(&n->best[i + 1], &n->best[i], (n->n - 1 - i) * sizeof n->best[0]);
	n->best[i].distance = d;
	strcpy(n->best[i].name, name);
}

struct each { struct ty_near *near; const struct run *r; };

static int add_line(void *arg, const struct ty_line *l)
{
	struct each *e = arg;
	if (l->symbol && l->symbol->function)
		ty_near_add(e->near, l->symbol->function);
	else if (!l->symbol)
		ty_near_add(e->near, ty_module_name(&e->r->t, l->frame->module));
	return 0;
}

void ty_near_functions(struct ty_near *n, const struct run *r, bool operations)
{
	struct each e = { n, r };
	for (uint32_t i = 0; i < r->t.npaths; i++)
		ty_path_each(r, i, add_line, &e);
	for (size_t i = 0; operations && i < r->t.nops; i++)
		ty_near_add(n, r->t.ops[i].name);
}

void ty_near_path(struct ty_near *n, const struct run *r, uint32_t path)
{
	struct each e = { n, r };
	ty_path_each(r, path, add_line, &e);
}

int ty_not_there(const char *where, const char *what, const struct ty_near *near, char *err)
{
	char words[512], word[64];
	snprintf(word, sizeof word, "%.60s", near->text);
	for (char *p = word; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = '?';
	return ty_err(err, -EINVAL, "%s: %s '%s' in this recording%s%s", where, what, word, near->n ? "; nearest: " : "",
		      ty_near_words(near, words));
}

const char *ty_near_words(const struct ty_near *n, char buf[512])
{
	size_t at = 0;
	buf[0] = 0;
	for (size_t i = 0; i < n->n; i++)
		at += (size_t)snprintf(buf + at, 512 - at, "%s%s", !i ? "" : i + 1 == n->n ? " or " : ", ",
				       n->best[i].name);
	return buf;
}
