/* SPDX-License-Identifier: MIT
 * What a call received or sent ends where memory does, lies in pieces, or is
 * not in the buffer at all although the call says so many bytes: whoever looks
 * at the bytes must not look further. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s\n", __LINE__, #c); exit(1); } } while (0)

static char *end; /* the page behind it is not there */

static void tcp(int s[2])
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof a;
    int l = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(l >= 0 && bind(l, (void *)&a, sizeof a) == 0 && listen(l, 1) == 0 && getsockname(l, (void *)&a, &n) == 0);
    s[1] = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(s[1], (void *)&a, sizeof a) == 0);
    s[0] = accept(l, NULL, NULL);
    CHECK(s[0] >= 0 && close(l) == 0);
}

int main(void)
{
    int s[2], u[2];
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED && munmap(page + 4096, 4096) == 0);
    end = page + 4096;
    tcp(s);
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, u) == 0);
    for (int n = 1; n <= 64; n++) { /* just as much as there is */
        memset(end - n, 'G', (size_t)n);
        CHECK(send(s[1], end - n, (size_t)n, 0) == n);
        CHECK(recv(s[0], end - n, (size_t)n, MSG_WAITALL) == n);
        CHECK(write(s[0], end - n, (size_t)n) == n);
        CHECK(recvfrom(s[1], end - n, (size_t)n, MSG_WAITALL, NULL, NULL) == n);
        /* one byte of room, a datagram that is longer; the whole length is returned */
        CHECK(send(u[1], end - n, (size_t)n, 0) == n && recv(u[0], end - 1, 1, MSG_TRUNC) == n);
        CHECK(send(u[1], end - n, (size_t)n, 0) == n && recv(u[0], end - 1, 1, 0) == 1);
        /* in pieces, some of them empty and nowhere */
        struct iovec v[4] = { { NULL, 0 }, { end - n / 2, (size_t)n / 2 }, { (void *)8, 0 }, { page, (size_t)(n - n / 2) } };
        struct msghdr m = { .msg_iov = v, .msg_iovlen = 4 };
        CHECK(writev(s[1], v, 4) == n && readv(s[0], v, 4) == n);
        CHECK(sendmsg(s[0], &m, 0) == n && recvmsg(s[1], &m, 0) == n);
        CHECK(send(u[1], page, 100, 0) == 100 && recvmsg(u[0], &m, MSG_TRUNC) == 100);
        /* looked at and left there; thrown away, with no buffer at all */
        CHECK(send(s[1], end - n, (size_t)n, 0) == n && recv(s[0], end - 1, 1, MSG_PEEK) == 1);
        CHECK(recv(s[0], NULL, (size_t)n, MSG_TRUNC | MSG_WAITALL) == n);
    }
    CHECK(send(s[1], page, 0, 0) == 0 && sendto(u[1], NULL, 0, 0, NULL, 0) == 0 && recv(u[0], NULL, 0, 0) == 0);
    puts("ok");
    return 0;
}
