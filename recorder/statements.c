/* SPDX-License-Identifier: MIT
 * A cache of sets; the low byte of a slot is the word, the rest a hash.  Runs in
 * the recorder. */
#include "recorder/statements.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct ty_statements *ty_statements_new(void)
{
	return calloc(1, sizeof(struct ty_statements));
}

/* Takes the entry out of its set, if there is one; *set and *tag say where it belongs. */
static uint64_t take(struct ty_statements *s, uint64_t connection, uint64_t key, uint64_t **set, uint64_t *tag)
{
	const uint64_t id[2] = { connection, key };
	uint64_t hash = XXH3_64bits(id, sizeof id);
	uint64_t *v = *set = s->slot[hash % TY_STATEMENT_SETS];
	*tag = hash & ~(uint64_t)0xff;
	for (unsigned i = 0; i < TY_STATEMENT_WAYS; i++)
		if (v[i] && (v[i] & ~(uint64_t)0xff) == *tag) {
			uint64_t found = v[i];
			memmove(v + i, v + i + 1, (TY_STATEMENT_WAYS - 1 - i) * sizeof *v);
			v[TY_STATEMENT_WAYS - 1] = 0;
			return found;
		}
	return 0;
}

static void put(uint64_t *set, uint64_t entry)
{
	memmove(set + 1, set, (TY_STATEMENT_WAYS - 1) * sizeof *set);
	set[0] = entry;
}

void ty_statement_set(struct ty_statements *s, uint64_t connection, uint64_t key, unsigned word)
{
	uint64_t *set, tag;
	if (!s)
		return;
	take(s, connection, key, &set, &tag);
	if (word)
		put(set, tag | (word & 0xff));
}

unsigned ty_statement_word(struct ty_statements *s, uint64_t connection, uint64_t key)
{
	uint64_t *set, tag;
	uint64_t found = s ? take(s, connection, key, &set, &tag) : 0;
	if (found)
		put(set, found);
	return found & 0xff;
}
