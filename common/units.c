/* SPDX-License-Identifier: MIT
 *
 * Times, sizes, ratios and misspelt words.  Pure functions without state, for
 * the configuration reader and the command line; recorder and readers only.
 * Strict on purpose: no sign, blank, fraction or overflow is accepted, because
 * a setting that was misread is worse than one that was refused.
 */
#include "common/units.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "common/conf.h"

#define MS 1000000ull
#define SEC (1000 * MS)
#define MIB (1ull << 20)

struct unit { const char *name; uint64_t factor; };
static const struct unit time_units[] = {
	{ "ns", 1 }, { "us", 1000 }, { "ms", MS }, { "s", SEC }, { "m", 60 * SEC }, { "h", 3600 * SEC }, { NULL, 0 },
};
static const struct unit size_units[] = {
	{ "", 1 }, { "K", 1024 }, { "M", MIB }, { "G", 1024 * MIB }, { "T", 1024 * 1024 * MIB }, { NULL, 0 },
};

/* strtoull would take signs, blanks and an overflow */
static int parse_digits(const char **p, uint64_t *ret)
{
	uint64_t v = 0;
	if (!isdigit((unsigned char)**p))
		return -EINVAL;
	for (; isdigit((unsigned char)**p); ++*p)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(**p - '0'), &v))
			return -EINVAL;
	*ret = v;
	return 0;
}

static int parse_unit(const char *text, const struct unit *units, uint64_t *ret)
{
	uint64_t v;
	if (parse_digits(&text, &v) < 0)
		return -EINVAL;
	if (v == 0 && *text == 0) {
		*ret = 0;
		return 0;
	}
	for (const struct unit *u = units; u->name; u++)
		if (strcmp(text, u->name) == 0) {
			if (__builtin_mul_overflow(v, u->factor, &v))
				return -EINVAL;
			*ret = v;
			return 0;
		}
	return -EINVAL;
}

int ty_parse_time(const char *text, uint64_t *ns)
{
	return parse_unit(text, time_units, ns);
}

int ty_parse_size(const char *text, uint64_t *bytes)
{
	return parse_unit(text, size_units, bytes);
}

int ty_parse_number(const char *text, uint64_t *ret)
{
	uint64_t v;
	if (parse_digits(&text, &v) < 0 || *text)
		return -EINVAL;
	*ret = v;
	return 0;
}

int ty_parse_ratio(const char *text, uint64_t *ret)
{
	if (strcmp(text, "off") == 0 || strcmp(text, "0") == 0) {
		*ret = 0;
		return 0;
	}
	if (strncmp(text, "1/", 2) != 0)
		return -EINVAL;
	uint64_t v;
	if (ty_parse_number(text + 2, &v) < 0 || v == 0)
		return -EINVAL;
	*ret = v;
	return 0;
}

/* Levenshtein distance of two short words, one row at a time. */
static size_t distance(const char *a, const char *b)
{
	size_t row[65], n = strlen(b);
	if (strlen(a) > 64 || n > 64)
		return SIZE_MAX;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t corner = row[0];
		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t change = corner + (tolower((unsigned char)a[i - 1]) != b[j - 1]);
			corner = row[j];
			row[j] = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
			if (change < row[j])
				row[j] = change;
		}
	}
	return row[n];
}

void ty_nearer(struct ty_nearest *n, const char *candidate)
{
	size_t len = strlen(n->word), d = distance(n->word, candidate);
	if (len > 1 && d && !strncmp(n->word, candidate, len))
		d = 1; /* cut short, as 'lat' for 'latency' is: nearer than 'not' */
	if (d < n->distance && d <= 1 + strlen(candidate) / 3) {
		n->best = candidate;
		n->distance = d;
	}
}

const char *ty_quote(char buf[TY_QUOTE], const char *text)
{
	size_t n = strnlen(text, 40);
	for (size_t i = 0; i < n; i++)
		buf[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
	strcpy(buf + n, text[n] ? "..." : "");
	return buf;
}
