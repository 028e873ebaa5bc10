/* SPDX-License-Identifier: MIT
   A program that starts under a seccomp filter (a container, a systemd unit)
   dies on calls that it never makes itself: what is received and sent must be
   looked at without process_vm_readv, getsockopt and, at a close, getpid. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s errno %d\n", __LINE__, #c, errno); exit(1); } } while (0)
#define NOT(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##n, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static void filter(struct sock_filter *f, size_t n)
{
	struct sock_fprog prog = { (unsigned short)n, f };
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
}

static void before_exec(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		NOT(process_vm_readv), NOT(getsockopt), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	filter(f, sizeof f / sizeof *f);
}

static void once_started(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		NOT(getpid), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	filter(f, sizeof f / sizeof *f);
}

int main(int argc, char **argv)
{
	char buf[64], text[] = "GET / HTTP/1.1\r\n\r\n";
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct iovec v = { buf, sizeof buf };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	socklen_t n = sizeof a;
	if (argc == 1) {
		before_exec();
		execl("/proc/self/exe", argv[0], "started", (char *)NULL);
		CHECK(0);
	}
	once_started();
	int l = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(l >= 0 && bind(l, (void *)&a, sizeof a) == 0 && listen(l, 1) == 0 && getsockname(l, (void *)&a, &n) == 0);
	CHECK(connect(client, (void *)&a, sizeof a) == 0);
	int fd = accept(l, NULL, NULL);
	CHECK(fd >= 0);
	for (int i = 0; i < 3; i++) {
		CHECK(send(client, text, 18, 0) == 18);
		CHECK((i == 0 ? recv(fd, buf, 64, 0) : i == 1 ? read(fd, buf, 64) : recvmsg(fd, &m, 0)) == 18);
		v.iov_len = 18;
		CHECK((i == 0 ? send(fd, buf, 18, 0) : i == 1 ? writev(fd, &v, 1) : sendmsg(fd, &m, 0)) == 18);
		v.iov_len = sizeof buf;
		CHECK(read(client, buf, 64) == 18);
	}
	CHECK(close(fd) == 0 && close(client) == 0 && close(l) == 0);
	puts("ok");
	return 0;
}
