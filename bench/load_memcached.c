/* SPDX-License-Identifier: MIT
 * A client of memcached: 8 connections that set 10 000 keys to 100 bytes, each
 * request after the last one's answer.
 *   load_memcached PORT COUNTER */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "bench/load.h"

#define KEYS 10000
#define VALUE 100

static struct sockaddr_in server = { .sin_family = AF_INET };

static void set(int fd, unsigned key)
{
	static const char stored[] = "STORED\r\n";
	char text[VALUE + 64], answer[sizeof stored] = "";
	size_t n = (size_t)snprintf(text, sizeof text, "set key%u 0 0 %d\r\n%0*u\r\n", key, VALUE, VALUE, key), got = 0;
	load_check(send(fd, text, n, 0) == (ssize_t)n, "send");
	while (got < sizeof stored - 1) {
		ssize_t r = recv(fd, answer + got, sizeof stored - 1 - got, 0);
		load_check(r > 0, "memcached closed the connection");
		got += (size_t)r;
	}
	load_check(strcmp(answer, stored) == 0, answer);
}

static void *work(void *arg)
{
	uint64_t state = (uintptr_t)arg * 0x9e3779b97f4a7c15u;
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	load_check(fd >= 0 && connect(fd, (struct sockaddr *)&server, sizeof server) == 0, "connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	while (!load_over) {
		set(fd, (unsigned)(load_random(&state) % KEYS));
		load_done();
	}
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	server.sin_port = htons((uint16_t)atoi(argv[1]));
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	load_run(argv[2], work);
	return 0;
}
