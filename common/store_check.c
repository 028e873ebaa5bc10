/* SPDX-License-Identifier: MIT
 *
 * Is this file safe to hand to LMDB?  LMDB trusts its file: a truncated or
 * damaged one ends in SIGBUS or an assertion.  So a reader first looks at every
 * page header and node of the snapshot it is about to use.  Pages of events
 * are not read (only their headers); blocks have a checksum of their own.
 * Layout as in LMDB 0.9 (mdb.c: MDB_page, MDB_meta, MDB_db, MDB_node), little
 * or big endian as the machine is, which LMDB requires anyway. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/store_priv.h"

enum { P_BRANCH = 1, P_LEAF = 2, P_OVERFLOW = 4, P_META = 8 };
enum { F_BIGDATA = 1, F_SUBDATA = 2 };
#define DEPTH_MAX 32 /* LMDB's cursors have as many levels */

struct page_head { uint64_t pgno; uint16_t pad, flags, lower, upper; }; /* lower, upper: number of pages if OVERFLOW */
struct db { uint32_t pad; uint16_t flags, depth; uint64_t branch, leaf, overflow, entries, root; };
struct meta {
	uint32_t magic, version;
	uint64_t address, map_size;
	struct db db[2]; /* free pages (never read by us), main */
	uint64_t last_page, txnid;
};
struct node { uint16_t lo, hi, flags, ksize; };
_Static_assert(sizeof(struct page_head) == 16 && sizeof(struct db) == 48 && sizeof(struct meta) == 136 &&
	       sizeof(struct node) == 8, "as LMDB lays them out on 64-bit machines");

struct check {
	uint64_t entries; /* of the tree being checked, so far */
	int fd;
	const char *path;
	char *err;
	uint64_t size, pages; /* bytes of the file, pages of the snapshot */
	uint32_t psize;
	uint8_t *seen;        /* bit per page: a page has one place in one tree */
};

static const struct { const char *bytes; size_t len; const char *what; } known[] = {
	{ "\x7f" "ELF", 4, "an ELF program or library" }, { "PERFILE2", 8, "a perf recording" },
	{ "SQLite format 3", 15, "an SQLite database" },  { "\x1f\x8b", 2, "a gzip file" },
	{ "\x28\xb5\x2f\xfd", 4, "a zstd file" },         { "\xfd" "7zXZ", 5, "an xz file" },
	{ "PK\3\4", 4, "a zip file" },                    { "#!", 2, "a script" },
	{ "{", 1, "JSON text" },                          { "\xc1\x1f\xfc\xc1", 4, "a CTF trace" },
};

static int not_a_store(const char *path, const uint8_t *b, size_t n, char *err)
{
	const char *what = "unknown data";
	size_t text = 0;
	while (text < n && (b[text] >= 0x20 || b[text] == '\n' || b[text] == '\t' || b[text] == '\r'))
		text++;
	if (text == n)
		what = "a text file";
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (n >= known[i].len && memcmp(b, known[i].bytes, known[i].len) == 0) {
			what = known[i].what;
			break;
		}
	return ty_err(err, -EBADMSG, "%s is not a tarry store but %s", path, what);
}

static int read_meta(int fd, uint64_t offset, struct page_head *h, struct meta *m)
{
	uint8_t b[sizeof *h + sizeof *m];
	if (pread(fd, b, sizeof b, (off_t)offset) != (ssize_t)sizeof b)
		return -1;
	memcpy(h, b, sizeof *h);
	memcpy(m, b + sizeof *h, sizeof *m);
	return 0;
}

static bool meta_ok(const struct page_head *h, const struct meta *m, uint64_t pgno, uint32_t psize)
{
	return h->pgno == pgno && (h->flags & P_META) && m->magic == 0xbeefc0de && m->version == 1 &&
	       m->db[0].pad == psize && psize >= 512 && psize <= 32768 && (psize & (psize - 1)) == 0 &&
	       m->last_page >= 1 && m->last_page < UINT64_MAX / 65536;
}

int ty_check_head(int fd, const char *path, char *err)
{
	struct stat st;
	struct page_head h;
	struct meta m;
	uint8_t b[64];
	if (fstat(fd, &st) < 0)
		return ty_err(err, -errno, "cannot read %s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return ty_err(err, -EISDIR, "%s is a directory, not a tarry store", path);
	if (!S_ISREG(st.st_mode))
		return ty_err(err, -EBADMSG, "%s is not a regular file, so not a tarry store", path);
	ssize_t n = pread(fd, b, sizeof b, 0);
	if (n < 0)
		return ty_err(err, -errno, "cannot read %s: %s", path, strerror(errno));
	if (n == 0)
		return ty_err(err, -EBADMSG, "%s is empty, not a tarry store", path);
	if (n < 24 || memcmp(b + 16, &(uint32_t){ 0xbeefc0de }, 4) != 0)
		return not_a_store(path, b, (size_t)n, err);
	if (read_meta(fd, 0, &h, &m) < 0)
		return ty_err(err, -EBADMSG, "%s is truncated: %lld bytes", path, (long long)st.st_size);
	uint32_t psize = m.db[0].pad;
	if (!meta_ok(&h, &m, 0, psize))
		return ty_err(err, -EBADMSG, "%s is damaged: its first page is not valid", path);
	if ((uint64_t)st.st_size < 2 * (uint64_t)psize || read_meta(fd, psize, &h, &m) < 0)
		return ty_err(err, -EBADMSG, "%s is truncated: %lld bytes", path, (long long)st.st_size);
	if (!meta_ok(&h, &m, 1, psize))
		return ty_err(err, -EBADMSG, "%s is damaged: its second page is not valid", path);
	return 0;
}

static int damaged(const struct check *c, uint64_t pgno)
{
	return ty_err(c->err, -EBADMSG, "%s is damaged at page %llu", c->path, (unsigned long long)pgno);
}

/* Claims pages pgno..pgno+n-1 and reads the first `bytes` of them. */
static int get_page(struct check *c, uint64_t pgno, uint64_t n, void *to, size_t bytes)
{
	if (pgno < 2 || pgno >= c->pages || n > c->pages - pgno)
		return damaged(c, pgno);
	if ((pgno + n) * c->psize > c->size)
		return ty_err(c->err, -EBADMSG, "%s is truncated: it has %llu bytes and needs %llu", c->path,
			      (unsigned long long)c->size, (unsigned long long)((pgno + n) * c->psize));
	for (uint64_t i = pgno; i < pgno + n; i++) {
		if (c->seen[i / 8] & 1u << i % 8)
			return damaged(c, i);
		c->seen[i / 8] |= (uint8_t)(1u << i % 8);
	}
	if (pread(c->fd, to, bytes, (off_t)(pgno * c->psize)) != (ssize_t)bytes)
		return ty_err(c->err, -EIO, "cannot read %s", c->path);
	return 0;
}

static int check_overflow(struct check *c, uint64_t pgno, uint64_t bytes)
{
	struct page_head h;
	uint64_t n = (sizeof h + bytes + c->psize - 1) / c->psize;
	int r = get_page(c, pgno, n, &h, sizeof h);
	if (r < 0)
		return r;
	uint64_t has = h.lower | (uint64_t)h.upper << 16;
	return h.pgno == pgno && h.flags == P_OVERFLOW && has >= n && has <= c->pages - pgno ? 0 : damaged(c, pgno);
}

static int check_tree(struct check *c, const struct db *d, bool main);

/* A leaf's node at b, with room for `room` bytes. */
static int check_leaf(struct check *c, uint64_t pgno, const uint8_t *b, size_t room, bool main)
{
	struct node n;
	memcpy(&n, b, sizeof n);
	c->entries++;
	uint64_t bytes = n.lo | (uint64_t)n.hi << 16;
	uint64_t held = n.flags & F_BIGDATA ? sizeof(uint64_t) : bytes;
	if (n.ksize == 0 || n.ksize > 511 || sizeof n + n.ksize + held > room)
		return damaged(c, pgno);
	const uint8_t *value = b + sizeof n + n.ksize;
	if (n.flags == F_BIGDATA) {
		uint64_t at;
		memcpy(&at, value, sizeof at);
		return check_overflow(c, at, bytes);
	}
	if (n.flags == F_SUBDATA && main && bytes == sizeof(struct db)) {
		struct db sub;
		memcpy(&sub, value, sizeof sub);
		return check_tree(c, &sub, false);
	}
	return n.flags == 0 ? 0 : damaged(c, pgno);
}

/* Checks a page's layout; calls itself for the children of a branch. */
static int check_page(struct check *c, uint64_t pgno, unsigned depth, bool main)
{
	uint8_t *b = calloc(1, c->psize);
	struct page_head h;
	if (!b)
		return ty_err(c->err, -ENOMEM, "no memory");
	int r = get_page(c, pgno, 1, b, c->psize);
	memcpy(&h, b, sizeof h);
	size_t count = r == 0 && h.lower >= sizeof h ? (h.lower - sizeof h) / 2 : 0;
	bool branch = h.flags == P_BRANCH;
	if (r == 0 && (h.pgno != pgno || h.flags != (depth > 1 ? P_BRANCH : P_LEAF) || h.lower % 2 ||
		       h.lower > h.upper || h.upper > c->psize || count < (branch ? 2u : 1u)))
		r = damaged(c, pgno);
	for (size_t i = 0; r == 0 && i < count; i++) {
		uint16_t at;
		struct node n;
		memcpy(&at, b + sizeof h + 2 * i, sizeof at);
		if (at < h.upper || at % 2 || at + sizeof n > c->psize) {
			r = damaged(c, pgno);
		} else if (branch) {
			memcpy(&n, b + at, sizeof n);
			r = n.ksize > 511 || at + sizeof n + n.ksize > c->psize ? damaged(c, pgno) :
			    check_page(c, n.lo | (uint64_t)n.hi << 16 | (uint64_t)n.flags << 32, depth - 1, main);
		} else {
			r = check_leaf(c, pgno, b + at, c->psize - at, main);
		}
	}
	free(b);
	return r;
}

static int check_tree(struct check *c, const struct db *d, bool main)
{
	if (d->flags != 0 || d->depth > DEPTH_MAX - 2)
		return damaged(c, d->root);
	if (d->root == UINT64_MAX)
		return d->depth == 0 && d->entries == 0 ? 0 : damaged(c, d->root);
	if (d->depth == 0)
		return damaged(c, d->root);
	uint64_t outer = c->entries; /* readers size their tables by the number that the tree claims */
	c->entries = 0;
	int r = check_page(c, d->root, d->depth, main);
	if (r == 0 && c->entries != d->entries)
		r = damaged(c, d->root);
	c->entries = outer;
	return r;
}

int ty_check_pages(int fd, const char *path, uint64_t txnid, char *err)
{
	struct check c = { .fd = fd, .path = path, .err = err };
	struct page_head h;
	struct meta m;
	struct stat st;
	int r = ty_check_head(fd, path, err);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0 || read_meta(fd, 0, &h, &m) < 0)
		return ty_err(err, -EIO, "cannot read %s", path);
	c.psize = m.db[0].pad;
	if (read_meta(fd, (txnid & 1) * c.psize, &h, &m) < 0)
		return ty_err(err, -EIO, "cannot read %s", path);
	if (m.txnid != txnid)
		return ty_err(err, -EAGAIN, "%s changes too fast to be read", path);
	c.size = (uint64_t)st.st_size;
	c.pages = m.last_page + 1;
	/* pages at the end may never have been written; more than that is checked one by one */
	uint64_t written = c.size / c.psize + 1;
	c.seen = calloc((c.pages < written ? c.pages : written) / 8 + 1, 1);
	if (!c.seen)
		return ty_err(err, -ENOMEM, "no memory");
	r = check_tree(&c, &m.db[1], true);
	free(c.seen);
	return r;
}
