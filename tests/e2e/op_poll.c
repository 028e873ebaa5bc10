/* SPDX-License-Identifier: MIT
 * Waiting for readiness: until somebody writes, and until the time is over. */
#include "e2e.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

static int pipes[2], ep;

static void fill(void *p) { CHECK(raw(SYS_write, pipes[1], (long)"x", 1) == 1); }
static void empty(void)
{
	char c;
	CHECK(raw(SYS_read, pipes[0], (long)&c, 1) == 1);
}
static NOINLINE void poll_here(void *p)
{
	struct pollfd f = {pipes[0], POLLIN, 0};
	CHECK(poll(&f, 1, -1) == 1);
	empty();
}
static void ppoll_one(void *p)
{
	struct pollfd f = {pipes[0], POLLIN, 0};
	CHECK(ppoll(&f, 1, NULL, NULL) == 1);
	empty();
}
static void select_one(void *p)
{
	fd_set r;
	FD_ZERO(&r);
	FD_SET(pipes[0], &r);
	CHECK(select(pipes[0] + 1, &r, NULL, NULL, NULL) == 1);
	empty();
}
static void pselect_one(void *p)
{
	fd_set r;
	FD_ZERO(&r);
	FD_SET(pipes[0], &r);
	CHECK(pselect(pipes[0] + 1, &r, NULL, NULL, NULL, NULL) == 1);
	empty();
}
static void epoll_one(void *p)
{
	struct epoll_event e;
	CHECK(epoll_wait(ep, &e, 1, -1) == 1);
	empty();
}
static void epoll_p(void *p)
{
	struct epoll_event e;
	CHECK(epoll_pwait(ep, &e, 1, -1, NULL) == 1);
	empty();
}

int main(void)
{
	struct epoll_event e = {.events = EPOLLIN};
	struct timespec soon = {0, 2000000};
	CHECK(pipe(pipes) == 0 && (ep = epoll_create1(0)) >= 0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, pipes[0], &e) == 0);
	blocked(11, NULL, poll_here, fill, NULL);
	blocked(7, NULL, ppoll_one, fill, NULL);
	blocked(5, NULL, select_one, fill, NULL);
	blocked(3, NULL, pselect_one, fill, NULL);
	blocked(13, NULL, epoll_one, fill, NULL);
	blocked(2, NULL, epoll_p, fill, NULL);
	for (int i = 0; i < 3; i++)
		CHECK(epoll_pwait2(ep, &e, 1, &soon, NULL) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(poll(NULL, 0, 2) == 0);
	expect("poll", "waits", 13);
	expect("poll", "path poll_here", 11);
	expect("ppoll", "waits", 7);
	expect("select", "waits", 5);
	expect("pselect", "waits", 3);
	expect("epoll_wait", "waits", 13);
	expect("epoll_wait", "objects", 1);
	expect("epoll_pwait", "waits", 2);
	expect("epoll_pwait2", "waits", 3);
	expect("epoll_pwait2", "atleast 2000000", 3);
	return 0;
}
