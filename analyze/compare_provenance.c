/* SPDX-License-Identifier: MIT
 *
 * Where two recordings come from, as far as it differs: the values, and for
 * people all of them.  Runs in readers.  Must stay true: every line fits 132
 * columns, and nothing of a value is left out but what both have. */
#include <jansson.h>
#include <stdio.h>

#include "analyze/compare.h"
#include "analyze/fmt.h"

#define SHORT 48u /* columns of a value that stands beside the other one */
#define WIDE 112u /* of a line of one that does not */

/* A value of the store's meta as a person reads it; the empty string if there is none. */
static char *meta_words(const struct run *r, const char *key)
{
	const char *value = r->store ? ty_store_meta(r->store, key) : NULL;
	json_t *j = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL, *word;
	char *text = NULL;
	size_t i, len = 0;
	if (json_is_string(j)) {
		text = strdup(json_string_value(j));
	} else if (json_is_array(j)) {
		char buf[1000];
		FILE *out = open_memstream(&text, &len);
		json_array_foreach(j, i, word) if (out) fprintf(
			out, "%s%s", i ? " " : "",
			json_is_string(word) ? ty_fmt_word(buf, sizeof buf, json_string_value(word)) : "?");
		if (out)
			fclose(out);
	} else if (value) {
		text = strdup(value);
	}
	json_decref(j);
	/* cppcheck-suppress memleak ; the caller frees it */
	return text ? text : strdup("");
}

size_t ty_provenance(const struct ty_comparison *c, struct ty_provenance ret[TY_PROVENANCE])
{
	static const char *const keys[] = { "host",  "kernel",  "cpu",    "cores",
					    "glibc", "command", "config", "tool",
					    "orders" };
	_Static_assert(sizeof keys / sizeof *keys == TY_PROVENANCE, "all of them may differ");
	size_t n = 0;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		char *a = meta_words(&c->run[0], keys[i]), *b = meta_words(&c->run[1], keys[i]);
		if (a && b && strcmp(a, b)) {
			ret[n++] = (struct ty_provenance){ keys[i], { a, b } };
			continue;
		}
		free(a);
		free(b);
	}
	return n;
}

/* ---- for people ---- */

static bool has_line(const char *text, const char *line, size_t n)
{
	for (size_t k; *text; text += k + (text[k] == '\n')) {
		k = strcspn(text, "\n");
		if (k == n && !memcmp(text, line, n))
			return true;
	}
	return false;
}

/* Bytes of the first WIDE columns at most, whole characters. */
static size_t piece(const char *text, size_t n)
{
	size_t k = 0, columns = 0;
	while (k < n && columns < WIDE) {
		k++;
		while (k < n && ((unsigned char)text[k] & 0xc0) == 0x80)
			k++;
		columns++;
	}
	return k;
}

/* The lines of a value that the other one does not have. */
static void show_lines(const char *side, const char *text, const char *other)
{
	char part[4 * WIDE + 1], fit[4 * WIDE + 1];
	if (!*text)
		printf("    %-5s (none)\n", side);
	for (size_t n, k; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (has_line(other, text, n))
			continue;
		for (size_t at = 0; at < n; at += k) {
			k = piece(text + at, n - at < sizeof part - 1 ? n - at : sizeof part - 1);
			snprintf(part, sizeof part, "%.*s", (int)k, text + at);
			printf("    %-5s %s\n", at ? "" : side, ty_fmt_fit(fit, sizeof fit, part, WIDE));
		}
	}
}

static bool fits(const char *text)
{
	return strlen(text) <= SHORT && !strchr(text, '\n');
}

void ty_provenance_text(const struct ty_comparison *c)
{
	struct ty_provenance p[TY_PROVENANCE];
	char a[4 * SHORT + 1], b[4 * SHORT + 1];
	size_t n = ty_provenance(c, p);
	for (size_t i = 0; i < n; i++) {
		const char *x = p[i].text[0], *y = p[i].text[1];
		if (fits(x) && fits(y)) {
			printf("  warning: %s differ%s: %s  |  %s\n", p[i].key, strcmp(p[i].key, "orders") ? "s" : "",
			       *x ? ty_fmt_fit(a, sizeof a, x, SHORT) : "(none)",
			       *y ? ty_fmt_fit(b, sizeof b, y, SHORT) : "(none)");
		} else {
			printf("  warning: %s differs:\n", p[i].key);
			show_lines("base:", x, y);
			show_lines("new:", y, x);
		}
		free(p[i].text[0]);
		free(p[i].text[1]);
	}
}
