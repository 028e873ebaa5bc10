/* SPDX-License-Identifier: MIT
 * The calls that ages by descriptor are learned from, between the wrappers and
 * what was there before.  Runs in the traced process.
 *
 * A plain read or write is one of a connection only where the descriptor was
 * accepted; the calls of sockets say themselves that it is one.  close needs no
 * look: a number that is taken again is accepted, connected or copied again,
 * and no read of a file counts.  Not followed: io_uring, splice, fcntl(F_DUPFD)
 * (its copy begins a request of its own). */
#include "policies/age.h"
#include "preload/accepted.h"
#include "preload/grant.h"

static struct ty_real below; /* what ty_grant held; constant after the constructor */

#define RECEIVES(ret, name, params, args)                                                         \
	static ret age_##name params                                                              \
	{                                                                                         \
		ret r = below.name args;                                                          \
		if (r > 0 && !(f & MSG_ERRQUEUE))                                                 \
			ty_age_received(fd, ty_accepted(fd));                                     \
		return r;                                                                         \
	}
RECEIVES(ssize_t, recv, (int fd, void *b, size_t n, int f), (fd, b, n, f))
RECEIVES(ssize_t, __recv_chk, (int fd, void *b, size_t n, size_t l, int f), (fd, b, n, l, f))
RECEIVES(ssize_t, recvfrom, (int fd, void *b, size_t n, int f, __SOCKADDR_ARG a, socklen_t *l), (fd, b, n, f, a, l))
RECEIVES(ssize_t, __recvfrom_chk, (int fd, void *b, size_t n, size_t z, int f, __SOCKADDR_ARG a, socklen_t *l),
	 (fd, b, n, z, f, a, l))
RECEIVES(ssize_t, recvmsg, (int fd, struct msghdr *m, int f), (fd, m, f))
RECEIVES(int, recvmmsg, (int fd, struct mmsghdr *m, unsigned n, int f, struct timespec *t), (fd, m, n, f, t))

#define READS(name, params, args)                                                                 \
	static ssize_t age_##name params                                                          \
	{                                                                                         \
		ssize_t r = below.name args;                                                      \
		if (r > 0 && ty_accepted(fd))                                                     \
			ty_age_received(fd, true);                                                \
		return r;                                                                         \
	}
READS(read, (int fd, void *b, size_t n), (fd, b, n))
READS(__read, (int fd, void *b, size_t n), (fd, b, n))
READS(__read_chk, (int fd, void *b, size_t n, size_t l), (fd, b, n, l))
READS(readv, (int fd, const struct iovec *v, int n), (fd, v, n))

#define SENDS(ret, name, params, args)                                                            \
	static ret age_##name params                                                              \
	{                                                                                         \
		ret r = below.name args;                                                          \
		if (r > 0)                                                                        \
			ty_age_sent(fd);                                                          \
		return r;                                                                         \
	}
SENDS(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n))
SENDS(ssize_t, __write, (int fd, const void *b, size_t n), (fd, b, n))
SENDS(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
SENDS(ssize_t, send, (int fd, const void *b, size_t n, int f), (fd, b, n, f))
SENDS(ssize_t, __send, (int fd, const void *b, size_t n, int f), (fd, b, n, f))
SENDS(ssize_t, sendto, (int fd, const void *b, size_t n, int f, __CONST_SOCKADDR_ARG a, socklen_t l),
      (fd, b, n, f, a, l))
SENDS(ssize_t, sendmsg, (int fd, const struct msghdr *m, int f), (fd, m, f))
SENDS(int, sendmmsg, (int fd, struct mmsghdr *m, unsigned n, int f), (fd, m, n, f))
SENDS(ssize_t, sendfile, (int fd, int in, __off_t *o, size_t n), (fd, in, o, n))
SENDS(ssize_t, sendfile64, (int fd, int in, __off64_t *o, size_t n), (fd, in, o, n))

/* Also known as accepted while nothing is recorded. */
#define ACCEPTS(name, params, args)                                                               \
	static int age_##name params                                                              \
	{                                                                                         \
		int r = below.name args;                                                          \
		if (r >= 0) {                                                                     \
			ty_accepted_opened(TY_CLASS_ACCEPT, (uint64_t)fd, (uint64_t)r);           \
			ty_age_opened(r, -1);                                                     \
		}                                                                                 \
		return r;                                                                         \
	}
ACCEPTS(accept, (int fd, __SOCKADDR_ARG a, socklen_t *l), (fd, a, l))
ACCEPTS(accept4, (int fd, __SOCKADDR_ARG a, socklen_t *l, int f), (fd, a, l, f))

/* Before the call: it may block, and fail for later (EINPROGRESS). */
#define CONNECTS(name)                                                                            \
	static int age_##name(int fd, __CONST_SOCKADDR_ARG a, socklen_t l)                        \
	{                                                                                         \
		ty_age_opened(fd, -1);                                                            \
		return below.name(fd, a, l);                                                      \
	}
CONNECTS(connect)
CONNECTS(__connect)

#define DUPS(name, params, args)                                                                  \
	static int age_##name params                                                              \
	{                                                                                         \
		int r = below.name args;                                                          \
		if (r >= 0)                                                                       \
			ty_age_opened(r, fd);                                                     \
		return r;                                                                         \
	}
DUPS(dup, (int fd), (fd))
DUPS(dup2, (int fd, int to), (fd, to))
DUPS(__dup2, (int fd, int to), (fd, to))
DUPS(dup3, (int fd, int to, int f), (fd, to, f))

#define PUT(name) TY_PUT(ty_grant, name, age_##name)

void ty_age_calls_start(void)
{
	below = ty_grant;
	PUT(recv), PUT(__recv_chk), PUT(recvfrom), PUT(__recvfrom_chk), PUT(recvmsg), PUT(recvmmsg);
	PUT(read), PUT(__read), PUT(__read_chk), PUT(readv);
	PUT(write), PUT(__write), PUT(writev), PUT(send), PUT(__send), PUT(sendto), PUT(sendmsg), PUT(sendmmsg);
	PUT(sendfile), PUT(sendfile64);
	PUT(accept), PUT(accept4), PUT(connect), PUT(__connect);
	PUT(dup), PUT(dup2), PUT(__dup2), PUT(dup3);
}
