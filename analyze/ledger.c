/* SPDX-License-Identifier: MIT
 *
 * Rows of requests (see ledger.h).  Runs in readers.  Must stay true: memory is
 * 24 bytes a request plus at most `limit` of packed times, whatever the number
 * of waits. */
#include "analyze/ledger.h"

#include "analyze/vec.h"

#define LIMIT ((size_t)192 << 20)
#define IN_SIZE ((size_t)1 << 20)
#define VARINT_MAX 10

static uint8_t *put(uint8_t *p, uint64_t x)
{
	while (x >= 0x80) {
		*p++ = (uint8_t)(x | 0x80);
		x >>= 7;
	}
	*p++ = (uint8_t)x;
	return p;
}

static int spill(struct ty_ledger *r)
{
	if (!r->spill && !(r->spill = tmpfile()))
		return -errno;
	if (fwrite(r->buf, 1, r->len, r->spill) != r->len)
		return errno ? -errno : -EIO;
	r->len = 0;
	return 0;
}

int ty_ledger_add(struct ty_ledger *r, const struct ty_row *row, const uint32_t *site, const uint64_t *ns)
{
	int e = TY_RESERVE(r->v, r->cap, r->n + 1, (size_t)4096);
	size_t most = (size_t)row->n * 2 * VARINT_MAX;
	if (!e && r->len && r->len + most > (r->limit ? r->limit : LIMIT))
		e = spill(r);
	if (!e)
		e = TY_RESERVE(r->buf, r->buf_cap, r->len + most, (size_t)65536);
	if (e)
		return e;
	uint8_t *p = r->buf + r->len;
	for (uint32_t i = 0; i < row->n; i++)
		p = put(put(p, site[i]), ns[i]);
	r->len = (size_t)(p - r->buf);
	r->v[r->n++] = *row;
	return 0;
}

int ty_ledger_rewind(struct ty_ledger *r)
{
	r->at = r->pos = r->in_len = r->in_pos = 0;
	if (!r->spill)
		return 0;
	if (!r->in && !(r->in = malloc(IN_SIZE)))
		return -ENOMEM;
	return fflush(r->spill) || fseeko(r->spill, 0, SEEK_SET) ? -errno : 0;
}

/* The next packed byte: the file's first, then those still in memory; -1: none. */
static int get_byte(struct ty_ledger *r)
{
	if (r->in_pos < r->in_len)
		return r->in[r->in_pos++];
	if (r->spill && r->pos == 0) {
		r->in_len = fread(r->in, 1, IN_SIZE, r->spill);
		r->in_pos = 0;
		if (r->in_len)
			return r->in[r->in_pos++];
	}
	return r->pos < r->len ? r->buf[r->pos++] : -1;
}

static int get(struct ty_ledger *r, uint64_t *x)
{
	*x = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		int b = get_byte(r);
		if (b < 0)
			return -EIO;
		*x |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return 0;
	}
	return -EIO;
}

int ty_ledger_next(struct ty_ledger *r, const struct ty_row **row, const uint32_t **site, const uint64_t **ns)
{
	if (r->at == r->n)
		return 0;
	const struct ty_row *w = &r->v[r->at];
	int e = TY_RESERVE(r->site, r->site_cap, (size_t)w->n + 1, (size_t)64);
	if (!e)
		e = TY_RESERVE(r->ns, r->ns_cap, (size_t)w->n + 1, (size_t)64);
	for (uint32_t i = 0; !e && i < w->n; i++) {
		uint64_t s;
		e = get(r, &s);
		if (!e)
			e = get(r, &r->ns[i]);
		r->site[i] = (uint32_t)s;
	}
	if (e)
		return e;
	r->at++;
	*row = w;
	*site = r->site;
	*ns = r->ns;
	return 1;
}

void ty_ledger_free(struct ty_ledger *r)
{
	if (r->spill)
		fclose(r->spill);
	free(r->v);
	free(r->buf);
	free(r->in);
	free(r->site);
	free(r->ns);
	memset(r, 0, sizeof *r);
}
