/* SPDX-License-Identifier: MIT
 *
 * One small row per request, and its times by site as packed bytes beside it:
 * in memory up to a bound, beyond that in an unlinked temporary file.  Written
 * once in any order, then read back in the same order as often as needed. */
#ifndef TY_LEDGER_H
#define TY_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ty_row {
	uint64_t end, latency; /* ns; begin = end - latency */
	uint32_t cls;          /* label of its class, UINT32_MAX: none */
	uint32_t n;            /* sites with time in this request */
};

struct ty_ledger {
	struct ty_row *v;
	size_t n, cap;
	/* packed times not yet in the file; then the file */
	uint8_t *buf;
	size_t len, buf_cap, limit; /* limit 0: the default, 192 MiB */
	FILE *spill;
	/* reading */
	size_t at;
	bool at_file;           /* p is in `in` */
	const uint8_t *p, *end; /* what of the packed times is in memory and not read yet */
	uint8_t *in;
	uint32_t *site;
	uint64_t *ns;
	size_t site_cap, ns_cap;
};

int ty_ledger_add(struct ty_ledger *r, const struct ty_row *row, const uint32_t *site, const uint64_t *ns);
int ty_ledger_rewind(struct ty_ledger *r);
/* 1: the next row and row->n sites with their times; 0: end; < 0: errno. */
int ty_ledger_next(struct ty_ledger *r, const struct ty_row **row, const uint32_t **site, const uint64_t **ns);
/* Empty again; the limit stays. */
void ty_ledger_free(struct ty_ledger *r);

#endif
