/* SPDX-License-Identifier: MIT
 * Prepared statements of all connections: which SQL word each begins with.  One
 * table of fixed size for a whole recording; when it is crowded, the entry
 * looked at longest ago makes room. */
#ifndef TY_STATEMENTS_H
#define TY_STATEMENTS_H

#include <stdint.h>

#define TY_STATEMENT_SETS 8192u
#define TY_STATEMENT_WAYS 8u

struct ty_statements {
	uint64_t connections; /* numbers given so far */
	uint64_t slot[TY_STATEMENT_SETS][TY_STATEMENT_WAYS]; /* hash and word; 0: free; latest first */
};

struct ty_statements *ty_statements_new(void); /* free() it; NULL: no memory */
/* key: id of the statement or hash of its name; word: of sql.c, + 1.  0: forget it. */
void ty_statement_set(struct ty_statements *s, uint64_t connection, uint64_t key, unsigned word);
unsigned ty_statement_word(struct ty_statements *s, uint64_t connection, uint64_t key); /* 0: not known */

#endif
