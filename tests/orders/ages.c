/* SPDX-License-Identifier: MIT
 * Under eldest: ages learned from connections.  Threads receive requests in one
 * order, come to a mutex in another, and get it in the first; then once more with
 * the next requests; then with requests that are handed over to workers. */
#include "gate.h"

#include <sys/socket.h>
#include <sys/un.h>

enum { GUESTS = 6 };
static const int ranks[2][GUESTS] = { { 3, 5, 0, 4, 1, 2 }, { 2, 0, 5, 1, 3, 4 } };
static struct guest guest[GUESTS];
static int client[GUESTS], server[GUESTS];
static _Atomic bool may_lock[GUESTS];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int log_[GUESTS], logged;

/* copied: its descriptor is a copy of the one that was accepted. */
static void connections(int copied)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "tarry-ages-%d", getpid());
	int l = socket(AF_UNIX, SOCK_STREAM, 0);
	IS(bind(l, (struct sockaddr *)&a, sizeof a), 0);
	IS(listen(l, GUESTS), 0);
	for (int i = 0; i < GUESTS; i++) {
		client[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		IS(connect(client[i], (struct sockaddr *)&a, sizeof a), 0);
		server[i] = accept(l, NULL, NULL);
		CHECK(server[i] >= 0);
	}
	close(l);
	int copy = dup(server[copied]);
	close(server[copied]);
	server[copied] = copy;
}

/* No two requests are of one age. */
static void later(void)
{
	struct timespec was, now;
	clock_gettime(CLOCK_MONOTONIC, &was);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_nsec / 1000 == was.tv_nsec / 1000);
}

static void receive(int i)
{
	char b[8];
	if (i % 2)
		IS(read(server[i], b, 2), 2);
	else
		IS(recv(server[i], b, 2, 0), 2);
}

static void answer(int i)
{
	char b[8];
	IS(i % 3 ? write(server[i], "ok", 2) : send(server[i], "ok", 2, 0), 2);
	IS(recv(client[i], b, 8, 0), 2);
}

static void has_its_turn(struct guest *g)
{
	atomic_store(&g->has, false);
	atomic_store(&g->asks, true);
	IS(pthread_mutex_lock(&m), 0);
	log_[logged++] = g->number;
	IS(pthread_mutex_unlock(&m), 0);
}

static void serves(struct guest *g)
{
	atomic_store(&g->has, true);
	here(g);
	until(&g->may_go);
	receive(g->number);
	later();
	receive(g->number); /* the request goes on */
	atomic_store(&g->may_go, false);
	until(&may_lock[g->number]);
	has_its_turn(g);
	answer(g->number);
}

/* The first is at the lock itself, then those whose requests came first. */
static void check_order(const int *rank)
{
	IS(logged, GUESTS);
	IS(log_[0], 0);
	for (int i = 2; i < GUESTS; i++)
		CHECK(rank[log_[i - 1]] < rank[log_[i]]);
}

static void come_and_go(void)
{
	logged = 0;
	IS(pthread_mutex_lock(&m), 0);
	for (int i = 0; i < GUESTS; i++) {
		atomic_store(&may_lock[i], true);
		until(&guest[i].asks);
		until_waiting(&guest[i]);
	}
	IS(pthread_mutex_unlock(&m), 0);
	for (int i = 0; i < GUESTS; i++)
		farewell(&guest[i]);
}

static int with_rank(const int *rank, int r)
{
	for (int i = 0;; i++)
		if (rank[i] == r)
			return i;
}

static void round_of(const int *rank)
{
	for (int i = 0; i < GUESTS; i++) {
		atomic_store(&may_lock[i], false);
		invite(&guest[i], serves, NULL, i);
	}
	for (int r = 0; r < GUESTS; r++) {
		int i = with_rank(rank, r);
		IS(write(client[i], "1234", 4), 4);
		atomic_store(&guest[i].may_go, true);
		while (atomic_load(&guest[i].may_go))
			sched_yield();
		later();
	}
	come_and_go();
	check_order(rank);
}

/* ---- one thread receives, others work ---- */

static pthread_mutex_t jobs = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job[GUESTS];
static bool there[GUESTS];

static void works(struct guest *g)
{
	IS(pthread_mutex_lock(&jobs), 0);
	here(g);
	while (!there[g->number])
		IS(pthread_cond_wait(&job[g->number], &jobs), 0);
	there[g->number] = false;
	IS(pthread_mutex_unlock(&jobs), 0);
	until(&may_lock[g->number]);
	has_its_turn(g);
	answer(g->number);
}

static void handed_over(const int *rank)
{
	for (int i = 0; i < GUESTS; i++) {
		IS(pthread_cond_init(&job[i], NULL), 0);
		atomic_store(&may_lock[i], false);
		invite(&guest[i], works, NULL, i);
	}
	for (int r = 0; r < GUESTS; r++) {
		int i = with_rank(rank, r);
		IS(write(client[i], "12", 2), 2);
		receive(i);
		IS(pthread_mutex_lock(&jobs), 0);
		there[i] = true;
		IS(pthread_cond_signal(&job[i]), 0);
		IS(pthread_mutex_unlock(&jobs), 0);
		later();
	}
	come_and_go();
	check_order(rank);
}

/* ages [--paused]: a copy made while nothing is recorded is not known to be of a
 * connection until a call of sockets receives on it. */
int main(int argc, char **argv)
{
	connections(argc > 1 ? 2 : 1);
	round_of(ranks[0]);
	round_of(ranks[1]);
	handed_over(ranks[0]);
	puts("ok");
	return 0;
}
