/* SPDX-License-Identifier: MIT
 *
 * Numbers as people write them.  ty_parse_time and ty_parse_size are declared
 * in common/conf.h, which most callers have anyway.
 */
#ifndef TY_UNITS_H
#define TY_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* "17" -> 17 and "off", "1/N" -> 0, N.  0 or -EINVAL with *ret unchanged. */
int ty_parse_number(const char *text, uint64_t *ret);
int ty_parse_ratio(const char *text, uint64_t *ret);

/* Keeps in n the candidate that n->word was probably meant to be; begin with
 * { word, NULL, SIZE_MAX }. */
struct ty_nearest {
	const char *word, *best;
	size_t distance;
};
void ty_nearer(struct ty_nearest *n, const char *candidate);

/* What the user wrote as it may stand in a message: short and printable. */
#define TY_QUOTE 48
const char *ty_quote(char buf[TY_QUOTE], const char *text);

#endif
