/* SPDX-License-Identifier: MIT
 *
 * Rows of requests (see ledger.h).  Runs in readers.  Must stay true: memory is
 * 24 bytes a request plus at most `limit` of packed times, whatever the number
 * of waits. */
#include "analyze/ledger.h"

#include <endian.h>

#include "analyze/vec.h"

#define LIMIT ((size_t)192 << 20)
#define IN_SIZE ((size_t)1 << 20)

/* One site and its time: a byte that holds the lengths of both and the site's
 * low bits, then the site's other bits, then the time, low byte first.  All is
 * found without a loop or a jump, because requests are read back a dozen times
 * and their times have any length. */
#define ITEM_MAX 13u
#define SITE_LOW 3u /* bits */

static const uint8_t *get(const uint8_t *p, uint32_t *site, uint64_t *ns)
{
	static const uint32_t site_mask[4] = { 0xff, 0xffff, 0xffffff, UINT32_MAX };
	unsigned head = *p++, more = head & 3, bytes = head >> 2 & 7;
	uint32_t s;
	uint64_t x;
	memcpy(&s, p, sizeof s);
	p += more + 1;
	memcpy(&x, p, sizeof x);
	*site = (le32toh(s) & site_mask[more]) << SITE_LOW | head >> 5;
	*ns = le64toh(x) & UINT64_MAX >> (56 - 8 * bytes);
	return p + bytes + 1;
}

/* Writes up to ITEM_MAX bytes, of which those before the returned end count. */
static uint8_t *put(uint8_t *p, uint32_t site, uint64_t ns)
{
	uint32_t high = site >> SITE_LOW, s = htole32(high);
	uint64_t x = htole64(ns);
	unsigned more = (31u - (unsigned)__builtin_clz(high | 1)) / 8, bytes = (63u - (unsigned)__builtin_clzll(ns | 1)) / 8;
	*p++ = (uint8_t)(more | bytes << 2 | (site & ((1u << SITE_LOW) - 1)) << 5);
	memcpy(p, &s, sizeof s);
	p += more + 1;
	memcpy(p, &x, sizeof x);
	return p + bytes + 1;
}

/* Room for `more` packed bytes; unlike TY_RESERVE's it is not zeroed. */
static int room(struct ty_ledger *r, size_t more)
{
	size_t n = r->buf_cap ? r->buf_cap : 65536;
	if (r->len + more <= r->buf_cap)
		return 0;
	while (n < r->len + more)
		n *= 2;
	uint8_t *p = realloc(r->buf, n);
	if (!p)
		return -ENOMEM;
	r->buf = ty_vec_huge(p, n);
	r->buf_cap = n;
	return 0;
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
	size_t most = (size_t)row->n * ITEM_MAX + ITEM_MAX; /* an item is read with what lies behind it */
	if (!e && r->len && r->len + most > (r->limit ? r->limit : LIMIT))
		e = spill(r);
	if (!e)
		e = room(r, most);
	if (e)
		return e;
	uint8_t *p = r->buf + r->len;
	for (uint32_t i = 0; i < row->n; i++)
		p = put(p, site[i], ns[i]);
	r->len = (size_t)(p - r->buf);
	r->v[r->n++] = *row;
	return 0;
}

static void from_memory(struct ty_ledger *r)
{
	r->at_file = false;
	r->p = r->buf;
	r->end = r->buf + r->len;
}

int ty_ledger_rewind(struct ty_ledger *r)
{
	r->at = 0;
	from_memory(r);
	if (!r->spill)
		return 0;
	if (!r->in && !(r->in = malloc(IN_SIZE + ITEM_MAX)))
		return -ENOMEM;
	r->at_file = true;
	r->p = r->end = r->in;
	return fflush(r->spill) || fseeko(r->spill, 0, SEEK_SET) ? -errno : 0;
}

/* Fewer bytes than an item may have are left: the file's next ones behind them, after the file what is in memory. */
static int refill(struct ty_ledger *r)
{
	size_t left = (size_t)(r->end - r->p);
	if (r->at_file) {
		memmove(r->in, r->p, left);
		left += fread(r->in + left, 1, IN_SIZE - left, r->spill);
		r->p = r->in;
		r->end = r->in + left;
		if (!left)
			from_memory(r);
	}
	return r->p < r->end ? 0 : -EIO;
}

static int get_row(struct ty_ledger *r, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (r->end - r->p < ITEM_MAX && refill(r))
			return -EIO;
		r->p = get(r->p, &r->site[i], &r->ns[i]);
	}
	return r->p <= r->end ? 0 : -EIO;
}

int ty_ledger_next(struct ty_ledger *r, const struct ty_row **row, const uint32_t **site, const uint64_t **ns)
{
	if (r->at == r->n)
		return 0;
	const struct ty_row *w = &r->v[r->at];
	int e = TY_RESERVE(r->site, r->site_cap, (size_t)w->n + 1, (size_t)64);
	if (!e)
		e = TY_RESERVE(r->ns, r->ns_cap, (size_t)w->n + 1, (size_t)64);
	if (!e)
		e = get_row(r, w->n);
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
	*r = (struct ty_ledger){ .limit = r->limit };
}
