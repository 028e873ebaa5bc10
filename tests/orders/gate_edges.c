/* SPDX-License-Identifier: MIT
 * What may become of a thread while it queues for a lock, and of the others then:
 * a handler jumps out of its wait, it is cancelled, it forks.  And locks that
 * have no gate. */
#include "gate.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { GUESTS = 5 };
static struct guest guest[GUESTS];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int inside; /* with m */

static void locks(struct guest *g)
{
	here(g);
	IS(pthread_mutex_lock(&m), 0);
	inside++;
	IS(pthread_mutex_unlock(&m), 0);
}

static void all_but(int gone)
{
	for (int i = 0; i < GUESTS; i++)
		if (i != gone)
			farewell(&guest[i]);
	IS(pthread_mutex_lock(&m), 0); /* free, and nobody is in the way */
	IS(inside, gone < 0 ? GUESTS : GUESTS - 1);
	inside = 0;
	IS(pthread_mutex_unlock(&m), 0);
}

/* ---- a handler jumps out of the wait ---- */

static __thread sigjmp_buf out;

static void jump(int sig)
{
	siglongjmp(out, 1);
}

/* Never comes back to a lock before the others are through. */
static void leaves_by_jump(struct guest *g)
{
	if (sigsetjmp(out, 1) == 0) {
		here(g);
		pthread_mutex_lock(&m);
		exit(1);
	}
	atomic_store(&g->asks, true);
	until(&g->may_go);
	IS(pthread_mutex_lock(&m), 0);
	IS(pthread_mutex_unlock(&m), 0);
}

/* number 0 is the head, the others only queue */
static void jumps(int who)
{
	IS(pthread_mutex_lock(&m), 0);
	for (int i = 0; i < GUESTS; i++)
		invite(&guest[i], i == who ? leaves_by_jump : locks, NULL, i);
	IS(pthread_kill(guest[who].thread, SIGUSR1), 0);
	until(&guest[who].asks);
	IS(pthread_mutex_unlock(&m), 0);
	all_but(who);
	atomic_store(&guest[who].may_go, true);
	farewell(&guest[who]);
}

/* A handler that waits itself, on top of the wait, and returns. */
static pthread_mutex_t in_handler = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool handled;

static void wait_inside(int sig)
{
	int saved = errno;
	IS(pthread_mutex_lock(&in_handler), 0);
	IS(pthread_mutex_unlock(&in_handler), 0);
	atomic_store(&handled, true);
	errno = saved;
}

static void handler_waits(int who)
{
	atomic_store(&handled, false);
	IS(pthread_mutex_lock(&m), 0);
	IS(pthread_mutex_lock(&in_handler), 0);
	for (int i = 0; i < GUESTS; i++)
		invite(&guest[i], locks, NULL, i);
	IS(pthread_kill(guest[who].thread, SIGUSR2), 0);
	IS(pthread_mutex_unlock(&in_handler), 0);
	until(&handled);
	IS(pthread_mutex_unlock(&m), 0);
	all_but(-1);
}

/* ---- cancellation ---- */

static void deferred(struct guest *g)
{
	here(g);
	IS(pthread_mutex_lock(&m), 0); /* no cancellation point */
	inside++;
	IS(pthread_mutex_unlock(&m), 0);
	pthread_testcancel();
	exit(1);
}

static void asynchronous(struct guest *g)
{
	IS(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
	here(g);
	pthread_mutex_lock(&m);
	exit(1);
}

static void cancelled(int who, void (*run)(struct guest *), bool gets_it)
{
	void *result;
	IS(pthread_mutex_lock(&m), 0);
	for (int i = 0; i < GUESTS; i++)
		invite(&guest[i], i == who ? run : locks, NULL, i);
	IS(pthread_cancel(guest[who].thread), 0);
	if (!gets_it)
		IS(pthread_join(guest[who].thread, &result), 0);
	IS(pthread_mutex_unlock(&m), 0);
	if (gets_it)
		IS(pthread_join(guest[who].thread, &result), 0);
	CHECK(result == PTHREAD_CANCELED);
	for (int i = 0; i < GUESTS; i++)
		if (i != who)
			farewell(&guest[i]);
	IS(pthread_mutex_trylock(&m), 0); /* it took nothing with it */
	IS(inside, gets_it ? GUESTS : GUESTS - 1);
	inside = 0;
	IS(pthread_mutex_unlock(&m), 0);
}

/* ---- fork ---- */

static void ends_well(pid_t kid)
{
	int status = -1;
	IS(waitpid(kid, &status, 0), kid);
	IS(status, 0);
}

/* In the child nobody queues any more, and threads of its own do. */
static void forks_while_others_queue(void)
{
	IS(pthread_mutex_lock(&m), 0);
	for (int i = 0; i < GUESTS; i++)
		invite(&guest[i], locks, NULL, i);
	pid_t kid = fork();
	CHECK(kid >= 0);
	if (kid == 0) {
		IS(pthread_mutex_unlock(&m), 0);
		IS(pthread_mutex_lock(&m), 0);
		for (int i = 0; i < GUESTS; i++)
			invite(&guest[i], locks, NULL, i);
		IS(pthread_mutex_unlock(&m), 0);
		all_but(-1);
		_exit(0);
	}
	ends_well(kid);
	IS(pthread_mutex_unlock(&m), 0);
	all_but(-1);
}

static volatile pid_t kid_of_handler;
static _Atomic bool forked;

/* In the child the wait goes on, for a mutex that is free. */
static void fork_inside(int sig)
{
	int saved = errno;
	pid_t kid = fork();
	if (kid == 0) {
		pthread_mutex_unlock(&m); /* of the thread that is not here */
	} else {
		kid_of_handler = kid;
		atomic_store(&forked, true);
	}
	errno = saved;
}

static void forks_in_handler(struct guest *g)
{
	pid_t self = getpid();
	here(g);
	IS(pthread_mutex_lock(&m), 0);
	if (getpid() != self) {
		IS(pthread_mutex_unlock(&m), 0);
		IS(pthread_mutex_lock(&m), 0);
		_exit(0);
	}
	inside++;
	IS(pthread_mutex_unlock(&m), 0);
}

static void handler_forks(int who)
{
	atomic_store(&forked, false);
	IS(pthread_mutex_lock(&m), 0);
	for (int i = 0; i < GUESTS; i++)
		invite(&guest[i], i == who ? forks_in_handler : locks, NULL, i);
	IS(pthread_kill(guest[who].thread, SIGHUP), 0);
	until(&forked);
	ends_well(kid_of_handler);
	IS(pthread_mutex_unlock(&m), 0);
	all_but(-1);
}

/* ---- in shared memory: no gate ---- */

static void shared(void)
{
	pthread_mutex_t *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t a;
	pid_t kid[3];
	CHECK(s != MAP_FAILED);
	IS(pthread_mutexattr_init(&a), 0);
	IS(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED), 0);
	IS(pthread_mutex_init(s, &a), 0);
	IS(pthread_mutex_lock(s), 0);
	for (int i = 0; i < 3; i++) {
		kid[i] = fork();
		if (kid[i] == 0) {
			IS(pthread_mutex_lock(s), 0);
			IS(pthread_mutex_unlock(s), 0);
			_exit(0);
		}
		while (state_of(kid[i]) != 'S')
			sched_yield();
	}
	IS(pthread_mutex_unlock(s), 0);
	for (int i = 0; i < 3; i++)
		ends_well(kid[i]);
}

/* gate_edges [shared] */
int main(int argc, char **argv)
{
	if (argc > 1) {
		shared();
		puts("ok");
		return 0;
	}
	struct sigaction a = { .sa_handler = jump };
	IS(sigaction(SIGUSR1, &a, NULL), 0);
	a.sa_handler = wait_inside;
	IS(sigaction(SIGUSR2, &a, NULL), 0);
	a.sa_handler = fork_inside;
	IS(sigaction(SIGHUP, &a, NULL), 0);
	for (int who = 0; who < GUESTS; who += 2) {
		jumps(who);
		handler_waits(who);
		cancelled(who, deferred, true);
		cancelled(who, asynchronous, false);
		handler_forks(who);
	}
	forks_while_others_queue();
	puts("ok");
	return 0;
}
