/* SPDX-License-Identifier: MIT
 * Finds the real functions.  Runs in the traced process, in the constructor
 * or, when some hook is called before it, then.  dlsym allocates when a name
 * is missing.  The caller may be a host's allocator that holds its own lock, so
 * before the constructor no name is looked up that may be missing; and an
 * allocator may lock a mutex: the required rows come first, so that they are
 * there when it does. */
#include "preload/real.h"

struct ty_real ty_real;

enum need { REQ, OPT };
struct row {
	const char *name, *version;
	enum need need;
	void **slot;
};
static const struct row rows[] = {
#define TY_W(ret, name, ver, need, cls, body, params, args, obj, try) \
	{ #name, ver, need, (void **)(void *)&ty_real.name },
#include "tarry/wrap.def"
};
_Static_assert(sizeof rows / sizeof *rows == TY_OP_FUNCTIONS, "one row per function");

static _Atomic int resolving; /* set by whoever resolves; only tells re-entry, orders nothing */

/* What stands in for a function that this libc does not have.  Nobody could
 * have linked against it, but some programs probe with dlsym first. */
static long missing(void)
{
	errno = ENOSYS;
	return -1;
}

static int io_getevents_syscall(unsigned long x, long a, long b, void *e, struct timespec *t)
{
	int saved = errno; /* libaio returns -errno and leaves errno alone */
	long r = ty_real.syscall(SYS_io_getevents, x, a, b, e, t, 0L);
	if (r < 0) {
		r = -errno;
		errno = saved;
	}
	return (int)r;
}

static void *lookup(const struct row *r)
{
	void *p = r->version ? dlvsym(RTLD_NEXT, r->name, r->version) : dlsym(RTLD_NEXT, r->name);
	return p ? p : r->version ? dlsym(RTLD_NEXT, r->name) : NULL;
}

static void fill(const struct row *r, void *p)
{
	__atomic_store_n(r->slot, p, __ATOMIC_RELAXED);
}

static void resolve_need(enum need need)
{
	for (size_t i = 0; i < TY_OP_FUNCTIONS; i++) {
		if (rows[i].need != need || *rows[i].slot)
			continue;
		void *p = lookup(&rows[i]);
		if (!p)
			p = i == TY_OP_io_getevents ? (void *)io_getevents_syscall : (void *)missing;
		fill(&rows[i], p);
	}
}

void ty_real_resolve(void)
{
	atomic_store_explicit(&resolving, 1, memory_order_relaxed);
	resolve_need(REQ);
	resolve_need(OPT);
	atomic_store_explicit(&resolving, 0, memory_order_relaxed);
}

TY_NOINLINE void ty_real_early(enum ty_op op)
{
	int saved = errno;
	if (!atomic_load_explicit(&resolving, memory_order_relaxed)) {
		atomic_store_explicit(&resolving, 1, memory_order_relaxed);
		resolve_need(REQ);
		atomic_store_explicit(&resolving, 0, memory_order_relaxed);
	}
	if (!*rows[op].slot) {
		void *p = lookup(&rows[op]);
		fill(&rows[op], p ? p : (void *)missing);
	}
	errno = saved;
}

void *ty_real_symbol(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}
