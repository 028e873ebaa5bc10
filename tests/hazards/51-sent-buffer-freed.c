/* SPDX-License-Identifier: MIT
   Whoever has received the message frees what was sent, its vector and its
   header, while the sender may still be inside its call: nothing may be read
   there afterwards.  They lie on a page that is unmapped at once.  And a bad
   address is refused with EFAULT, not touched. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s errno %d\n", __LINE__, #c, errno); exit(1); } } while (0)

#define ROUNDS 400
#define BYTES 100
struct page { struct msghdr m; struct iovec v[4]; char text[BYTES]; };
static struct page *page;
static pthread_barrier_t ready;
static int server, client;

static void connection(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof a;
	int l = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(l >= 0 && bind(l, (void *)&a, sizeof a) == 0 && listen(l, 1) == 0 && getsockname(l, (void *)&a, &n) == 0);
	client = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(connect(client, (void *)&a, sizeof a) == 0);
	server = accept(l, NULL, NULL);
	CHECK(server >= 0 && close(l) == 0);
}

static void *receiver(void *arg)
{
	char buf[BYTES];
	for (int i = 0; i < ROUNDS * 4; i++) {
		pthread_barrier_wait(&ready);
		struct page *p = page;
		long n = 0, k;
		for (; n < BYTES; n += k) { /* nothing of a hook between the answer and munmap */
			k = syscall(SYS_recvfrom, client, buf, sizeof buf, 0, NULL, NULL);
			CHECK(k > 0);
		}
		munmap(p, 4096);
		pthread_barrier_wait(&ready);
	}
	return arg;
}

static ssize_t sent(struct page *p, int how)
{
	switch (how) {
	case 0: return send(server, p->text, BYTES, 0);
	case 1: return write(server, p->text, BYTES);
	case 2: return writev(server, p->v, 4);
	default: return sendmsg(server, &p->m, 0);
	}
}

static void refused(void)
{
	char *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec v = { nowhere, 10 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	CHECK(nowhere != MAP_FAILED);
	errno = 0;
	CHECK(send(server, nowhere, 10, 0) == -1 && errno == EFAULT);
	CHECK(write(server, nowhere, 10) == -1 && errno == EFAULT);
	CHECK(writev(server, &v, 1) == -1 && errno == EFAULT);
	CHECK(writev(server, (struct iovec *)nowhere, 1) == -1 && errno == EFAULT);
	CHECK(sendmsg(server, &m, 0) == -1 && errno == EFAULT);
	CHECK(sendmsg(server, (struct msghdr *)nowhere, 0) == -1 && errno == EFAULT);
	m.msg_iov = (struct iovec *)nowhere;
	CHECK(sendmsg(server, &m, 0) == -1 && errno == EFAULT);
	CHECK(writev(server, &v, -1) == -1 && errno == EINVAL);
	CHECK(send(client, "x", 1, 0) == 1);
	CHECK(recv(server, nowhere, 10, 0) == -1 && errno == EFAULT);
	CHECK(recvmsg(server, (struct msghdr *)nowhere, 0) == -1 && errno == EFAULT);
	errno = 77;
	CHECK(send(server, "", 0, 0) == 0 && errno == 77);
	munmap(nowhere, 4096);
}

int main(void)
{
	pthread_t t;
	connection();
	pthread_barrier_init(&ready, NULL, 2);
	CHECK(pthread_create(&t, NULL, receiver, NULL) == 0);
	for (int i = 0; i < ROUNDS * 4; i++) {
		struct page *p = page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(p != MAP_FAILED);
		memset(p->text, 'x', BYTES);
		for (int k = 0; k < 4; k++)
			p->v[k] = (struct iovec){ p->text + k * (BYTES / 4), BYTES / 4 };
		p->m = (struct msghdr){ .msg_iov = p->v, .msg_iovlen = 4 };
		pthread_barrier_wait(&ready);
		CHECK(sent(p, i % 4) == BYTES);
		pthread_barrier_wait(&ready);
	}
	CHECK(pthread_join(t, NULL) == 0);
	refused();
	puts("ok");
	return 0;
}
