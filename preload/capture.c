/* SPDX-License-Identifier: MIT
 * Capturing the first bytes of what a server receives and sends.  Runs in the
 * traced process.  What must stay true: no memory of the program is touched
 * directly.  What is sent is taken before the call, when a bad address is still
 * the kernel's to refuse; what was received may be on its way to another thread
 * that frees it.  So the kernel copies both, and says so if nothing is there.
 * In a process that started under seccomp only what recv() has just filled is
 * taken, because that needs no system call. */
#include "preload/capture.h"
#include "preload/wait.h"

#define HALF (TY_BYTES_MAX / 2)
#define PARTS 64u /* of a vector that are looked at */
#define BLOCK 8u  /* of them at a time */

/* Memory of this process through the kernel: bytes copied, or -1.  A vfork child
 * names its parent: they have the same memory. */
static long read_own(void *to, size_t want, const struct iovec *from, size_t n)
{
	struct iovec here = { to, want };
	return ty_real.syscall(SYS_process_vm_readv, (long)ty_proc.pid, &here, 1L, from, n, 0L);
}

static int fetch(void *to, size_t size, const void *at)
{
	struct iovec there = { (void *)(uintptr_t)at, size };
	return read_own(to, size, &there, 1) == (long)size;
}

/* Where the first `want` bytes are, and the last HALF. */
struct ends {
	struct iovec v[2 * HALF]; /* head from 0, tail from HALF */
	size_t heads, tails, in_head, in_tail, want;
	uint64_t total;
};

static void add_head(struct ends *e, char *base, size_t len)
{
	size_t k = len < e->want - e->in_head ? len : e->want - e->in_head;
	if (!k || e->heads == HALF)
		return;
	e->v[e->heads++] = (struct iovec){ base, k };
	e->in_head += k;
}

/* As few of the last pieces as hold HALF bytes: at most so many, for none is empty. */
static void add_tail(struct ends *e, char *base, size_t len)
{
	struct iovec *t = e->v + HALF;
	if (len > HALF) {
		base += len - HALF;
		len = HALF;
	}
	while (e->tails && e->in_tail - t->iov_len + len >= HALF) {
		e->in_tail -= t->iov_len;
		memmove(t, t + 1, --e->tails * sizeof *t);
	}
	t[e->tails++] = (struct iovec){ base, len };
	e->in_tail += len;
	if (e->in_tail > HALF) {
		size_t cut = e->in_tail - HALF;
		t->iov_base = (char *)t->iov_base + cut;
		t->iov_len -= cut;
		e->in_tail = HALF;
	}
}

static void add(struct ends *e, const struct iovec *v)
{
	if (!v->iov_len)
		return;
	add_head(e, v->iov_base, v->iov_len);
	add_tail(e, v->iov_base, v->iov_len);
	e->total = v->iov_len < UINT64_MAX - e->total ? e->total + v->iov_len : UINT64_MAX;
}

/* False: something that says where they are cannot be read. */
static int find(struct ends *e, struct ty_pieces p)
{
	struct { struct iovec *v; size_t n; } m;
	if (p.kind == TY_BUFFER) {
		add(e, &(struct iovec){ (void *)(uintptr_t)p.at, p.n });
		return 1;
	}
	if (p.kind == TY_MESSAGE) {
		if (!fetch(&m, sizeof m, (const char *)p.at + offsetof(struct msghdr, msg_iov)))
			return 0;
		p = (struct ty_pieces){ TY_VECTOR, m.n, m.v };
	}
	struct iovec block[BLOCK];
	for (size_t i = 0; i < p.n; i += BLOCK) {
		size_t k = p.n - i < BLOCK ? p.n - i : BLOCK;
		if (i == PARTS) {
			e->total = UINT64_MAX;
			return 1;
		}
		if (!fetch(block, k * sizeof *block, (const struct iovec *)p.at + i))
			return 0;
		for (size_t j = 0; j < k; j++)
			add(e, &block[j]);
	}
	return 1;
}
_Static_assert(offsetof(struct msghdr, msg_iovlen) == offsetof(struct msghdr, msg_iov) + sizeof(void *),
	       "read as one");

void ty_capture_before(struct ty_sent *s, struct ty_pieces pieces)
{
	int saved = errno;
	struct ends e = { .want = HALF };
	s->head = s->tail = 0;
	if (ty_may_call && find(&e, pieces) && e.in_head == (e.total < HALF ? e.total : HALF) && e.in_head) {
		size_t tail = e.total > HALF && e.total != UINT64_MAX ? e.in_tail : 0;
		if (tail) /* the two lists as one */
			memmove(e.v + e.heads, e.v + HALF, e.tails * sizeof *e.v);
		long n = read_own(s->data, e.in_head + tail, e.v, e.heads + (tail ? e.tails : 0));
		s->total = e.total;
		s->head = n >= (long)e.in_head ? (uint8_t)e.in_head : 0;
		s->tail = n == (long)(e.in_head + tail) ? (uint8_t)tail : 0;
	}
	errno = saved;
}

int ty_capture_connection(int fd)
{
	if (!ty_may_call || !ty_accepted(fd))
		return 0;
	/* an unseen close, as by fclose(), may have given the number to a file */
	int saved = errno, type;
	socklen_t len = sizeof type;
	long r = ty_real.syscall(SYS_getsockopt, (long)fd, (long)SOL_SOCKET, (long)SO_TYPE, &type, &len);
	errno = saved;
	return r == 0;
}

static void push(const struct ty_wait *w, uint64_t end, uint64_t length, unsigned flags,
		 const uint8_t data[TY_BYTES_MAX])
{
	struct ty_rec_bytes *r = ty_ring_reserve(ty_proc.arena, w->t, &ty_tls.cursor, sizeof *r);
	if (!r) /* the recorder finds a call without its bytes */
		return;
	r->w0 = TY_WORD0(TY_REC_BYTES, sizeof *r / 8, w->op, flags, 0);
	r->begin = w->begin;
	r->end = end;
	r->object = w->object;
	r->length = length;
	memcpy(r->data, data, TY_BYTES_MAX);
	ty_ring_commit(ty_proc.arena, &ty_tls.cursor, r, sizeof *r);
}

void ty_capture_received(const struct ty_wait *w, uint64_t end, uint64_t length, const struct ty_pieces *pieces)
{
	uint8_t data[TY_BYTES_MAX] = { 0 };
	size_t n = length < ty_proc.capture_bytes ? (size_t)length : ty_proc.capture_bytes;
	if (ty_may_call) {
		struct ends e = { .want = n };
		if (!find(&e, *pieces) || e.in_head != n || read_own(data, n, e.v, e.heads) != (long)n)
			return;
	} else if (pieces->kind == TY_BUFFER && n <= pieces->n) {
		memcpy(data, pieces->at, n);
	} else {
		return;
	}
	push(w, end, length, 0, data);
}

void ty_capture_sent(const struct ty_wait *w, uint64_t end, uint64_t length, const struct ty_sent *s)
{
	uint8_t data[TY_BYTES_MAX] = { 0 };
	size_t n = length < HALF ? (size_t)length : HALF;
	unsigned flags = TY_BYTES_SENT;
	if (s->head < n)
		return;
	memcpy(data, s->data, n);
	if (length <= HALF)
		memcpy(data + HALF, s->data, n);
	else if (length == s->total && s->tail)
		memcpy(data + HALF, s->data + HALF, HALF);
	else /* less was sent than was asked for: what the last bytes were is not known */
		flags |= TY_BYTES_NO_TAIL;
	push(w, end, length, flags, data);
}
