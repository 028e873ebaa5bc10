/* SPDX-License-Identifier: MIT
 *
 * The lives of threads, objects and processes under stress.
 */
#include "stress.h"
#include <signal.h>
#include <sys/wait.h>

/* A waiter that is cancelled leaves its place, and the wake-up that it may just
 * have got, to another. */
static void cancel(struct worker *w)
{
	pthread_t t;
	void *result;
	IS_OK(pthread_create(&t, NULL, cancelled_permit, NULL));
	dawdle(w);
	dawdle(w);
	IS_OK(pthread_cancel(t));
	IS_OK(pthread_join(t, &result));
	CHECK(result == NULL || result == PTHREAD_CANCELED);
}

/* ---- a condition variable that is destroyed as soon as its waiters are woken ---- */
#define WAITERS 2

struct shortlived {
	pthread_mutex_t lock;
	pthread_cond_t go;
	unsigned waiting;
	bool gone;
};

static void *wait_for_go(void *arg)
{
	struct shortlived *s = arg;
	IS_OK(pthread_mutex_lock(&s->lock));
	s->waiting++;
	while (!s->gone)
		IS_OK(pthread_cond_wait(&s->go, &s->lock));
	IS_OK(pthread_mutex_unlock(&s->lock));
	return NULL;
}

static void destroy(struct worker *w)
{
	struct shortlived *s = malloc(sizeof *s);
	pthread_t t[WAITERS];
	CHECK(s);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->go, NULL);
	s->waiting = 0;
	s->gone = false;
	for (unsigned i = 0; i < WAITERS; i++)
		IS_OK(pthread_create(&t[i], NULL, wait_for_go, s));
	IS_OK(pthread_mutex_lock(&s->lock));
	while (s->waiting < WAITERS) { /* whoever counted and let the lock go is in the wait */
		IS_OK(pthread_mutex_unlock(&s->lock));
		dawdle(w);
		IS_OK(pthread_mutex_lock(&s->lock));
	}
	s->gone = true;
	if (one_in(w, 2))
		IS_OK(pthread_cond_broadcast(&s->go));
	else
		for (unsigned i = 0; i < WAITERS; i++)
			IS_OK(pthread_cond_signal(&s->go));
	IS_OK(pthread_mutex_unlock(&s->lock));
	IS_OK(pthread_cond_destroy(&s->go));
	memset(&s->go, 0xa5, sizeof s->go);
	for (unsigned i = 0; i < WAITERS; i++)
		IS_OK(pthread_join(t[i], NULL));
	for (unsigned i = 0; i < sizeof s->go; i++)
		CHECK(((unsigned char *)&s->go)[i] == 0xa5); /* nobody wrote into it any more */
	IS_OK(pthread_mutex_destroy(&s->lock));
	free(s);
}

/* ---- a child begins with nobody waiting ---- */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t turn;
	unsigned at;
} ball = {.lock = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER};

static void *play(void *me)
{
	for (unsigned i = 0; i < 20; i++) {
		IS_OK(pthread_mutex_lock(&ball.lock));
		while (ball.at % 3 != (uintptr_t)me)
			IS_OK(pthread_cond_wait(&ball.turn, &ball.lock));
		ball.at++;
		IS_OK(pthread_cond_broadcast(&ball.turn));
		IS_OK(pthread_mutex_unlock(&ball.lock));
	}
	return NULL;
}

/* Three threads of the child throw a ball; the parent's threads never touch it. */
static void child(void)
{
	pthread_t t[2];
	signal(SIGALRM, SIG_DFL);
	alarm(60);
	for (uintptr_t i = 0; i < 2; i++)
		IS_OK(pthread_create(&t[i], NULL, play, (void *)i));
	play((void *)(uintptr_t)2);
	for (unsigned i = 0; i < 2; i++)
		IS_OK(pthread_join(t[i], NULL));
	_exit(ball.at == 60 ? 0 : 1);
}

static void forks(struct worker *w)
{
	static _Atomic bool busy; /* one at a time, by exchange; a child copies the whole program */
	int status;
	(void)w;
	if (atomic_exchange(&busy, true))
		return;
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		child();
	while (waitpid(pid, &status, 0) != pid)
		CHECK(errno == EINTR);
	CHECK(status == 0);
	atomic_store(&busy, false);
}

/* ---- a handler that interrupts whatever the thread is in ---- */
static void on_signal(int sig) { (void)sig; }

void life_open(void)
{
	struct sigaction a = {.sa_handler = on_signal}; /* without SA_RESTART: calls are interrupted */
	CHECK(sigaction(SIGUSR1, &a, NULL) == 0);
}

static void interrupt(struct worker *w)
{
	IS_OK(pthread_kill(workers[random_next(&w->random) % WORKERS].thread, SIGUSR1));
}

const struct operation life_operations[] = {
	{"cancel", cancel, 2},
	{"destroy", destroy, 2},
	{"fork", forks, 1},
	{"interrupt", interrupt, 4},
	{NULL, NULL, 0}};
