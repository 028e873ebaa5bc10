/* SPDX-License-Identifier: MIT
 * The first bytes of what a server receives and sends, where the configuration
 * asks for them (capture_bytes).  With capture_bytes 0 none of this runs. */
#ifndef TY_CAPTURE_H
#define TY_CAPTURE_H

#include "preload/accepted.h"

struct ty_wait;

/* Where a call's bytes are, as its caller says: nothing of it is known to be there. */
struct ty_pieces {
	enum { TY_BUFFER, TY_VECTOR, TY_MESSAGE } kind;
	size_t n; /* bytes of the buffer, parts of the vector */
	const void *at;
};
static inline struct ty_pieces ty_pieces_buffer(const void *b, size_t n)
{
	return (struct ty_pieces){ TY_BUFFER, n, b };
}
static inline struct ty_pieces ty_pieces_vector(const struct iovec *v, int n)
{
	return (struct ty_pieces){ TY_VECTOR, n > 0 ? (size_t)n : 0, v };
}
static inline struct ty_pieces ty_pieces_message(const struct msghdr *m, int flags)
{
	(void)flags;
	return (struct ty_pieces){ TY_MESSAGE, 1, m };
}
/* Used as TY_DATA args: the second argument says what it is, the third how long a buffer or vector. */
#define TY_DATA(fd, p, n, ...)                                                                    \
	_Generic((p), const struct iovec *: ty_pieces_vector, struct msghdr *: ty_pieces_message, \
		 const struct msghdr *: ty_pieces_message, default: ty_pieces_buffer)(p, n)

/* Both ends of what is about to be sent; in the wrapper's frame. */
struct ty_sent {
	uint64_t total;            /* bytes, UINT64_MAX: not known */
	uint8_t data[TY_BYTES_MAX]; /* as in struct ty_rec_bytes */
	uint8_t head, tail;        /* bytes of them; head 0: nothing was taken */
};

/* Receives that leave the bytes where they are, throw them away or bring others. */
#define TY_NOT_TAKEN (MSG_PEEK | MSG_TRUNC | MSG_ERRQUEUE | MSG_OOB)

#pragma GCC visibility push(hidden)
/* Like ty_io_end, after a call that received or sent something: its bytes follow in the ring. */
void ty_io_end_received(struct ty_wait *w, int64_t result, struct ty_pieces pieces);
void ty_io_end_sent(struct ty_wait *w, int64_t result, const struct ty_sent *sent);

/* Before the real call: once it is over, whoever has the answer may free what was sent.
 * Not yet inside a guard; keeps errno. */
void ty_capture_before(struct ty_sent *sent, struct ty_pieces pieces);
/* Is it an accepted connection, and still a socket?  Keeps errno. */
int ty_capture_connection(int fd);
/* Push the record; inside the guard of w, after its WAIT.  errno is not kept. */
void ty_capture_received(const struct ty_wait *w, uint64_t end, uint64_t length, const struct ty_pieces *pieces);
void ty_capture_sent(const struct ty_wait *w, uint64_t end, uint64_t length, const struct ty_sent *sent);
#pragma GCC visibility pop

#endif
