/* SPDX-License-Identifier: MIT
 *
 * Memory that is freed all at once, for the tables of a store in a reader. */
#include <stdlib.h>
#include <string.h>

#include "common/store_priv.h"

#define CHUNK 65536

struct ty_mem_chunk {
	struct ty_mem_chunk *next;
	size_t used, size;
	_Alignas(16) char data[];
};

void *ty_mem_get(struct ty_mem *m, size_t bytes)
{
	bytes = (bytes + 15) & ~(size_t)15;
	struct ty_mem_chunk *c = m->head;
	if (!c || bytes > c->size - c->used) {
		size_t size = bytes > CHUNK ? bytes : CHUNK;
		c = calloc(1, sizeof *c + size);
		if (!c)
			return NULL;
		c->size = size;
		c->next = m->head;
		m->head = c;
	}
	void *p = c->data + c->used;
	c->used += bytes;
	return p;
}

char *ty_mem_text(struct ty_mem *m, const void *text, size_t len)
{
	char *p = ty_mem_get(m, len + 1);
	if (p)
		memcpy(p, text, len);
	return p;
}

void ty_mem_free(struct ty_mem *m)
{
	while (m->head) {
		struct ty_mem_chunk *c = m->head;
		m->head = c->next;
		free(c);
	}
}
