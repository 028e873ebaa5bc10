/* SPDX-License-Identifier: MIT
 * Description: a program whose holders are known.  Each waiter is seen to wait
 * before its holder goes on, so there is no race about who waits for whom.
 *   lock_waiter   waits for the mutex that lock_holder has, which sleeps meanwhile
 *   cond_waiter   waits for cond_signaller, then for the mutex that cond_signaller still has
 *   sem_waiter    waits for sem_poster, of another process
 *   futex_waiter  waits for futex_waker
 *   kill_waiter   polls until kill_sender, of another process, sends it a signal
 *   held_waiter   waits for a mutex whose holder releases it by a condition's wait */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
enum { ROUNDS = 7, SEM_ROUNDS = 100 }; /* the recorder has to see the child alive to know its memory */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, cond_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, held_cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sigset_t none;
static int waiting, ready, word, go;

static void must(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static NOINLINE void a_while(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
}

static int contended(pthread_mutex_t *m) { return __atomic_load_n(&m->__data.__lock, __ATOMIC_ACQUIRE) == 2; }

NOINLINE void lock_holder(void)
{
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&barrier);
	while (!contended(&mutex))
		a_while();
	a_while();
	pthread_mutex_unlock(&mutex);
	__asm__ volatile("");
}

NOINLINE void lock_waiter(void)
{
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	__asm__ volatile("");
}

NOINLINE void cond_signaller(void)
{
	for (int there = 0; !there;) {
		pthread_mutex_lock(&cond_mutex);
		there = waiting;
		if (!there)
			pthread_mutex_unlock(&cond_mutex);
	}
	waiting = 0;
	ready = 1;
	pthread_cond_signal(&cond);
	while (!contended(&cond_mutex))
		a_while();
	pthread_mutex_unlock(&cond_mutex);
	__asm__ volatile("");
}

NOINLINE void cond_waiter(void)
{
	pthread_mutex_lock(&cond_mutex);
	waiting = 1;
	while (!ready)
		pthread_cond_wait(&cond, &cond_mutex);
	ready = 0;
	pthread_mutex_unlock(&cond_mutex);
	__asm__ volatile("");
}

NOINLINE void futex_waker(void)
{
	while (syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0)
		a_while();
	__asm__ volatile("");
}

NOINLINE void futex_waiter(void)
{
	while (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) && errno == EINTR)
		;
	__asm__ volatile("");
}

/* The holder lets go of the mutex inside pthread_cond_wait. */
NOINLINE void held_holder(void)
{
	pthread_mutex_lock(&held);
	pthread_barrier_wait(&barrier);
	while (!contended(&held))
		a_while();
	while (!go)
		pthread_cond_wait(&held_cond, &held);
	go = 0;
	pthread_mutex_unlock(&held);
	__asm__ volatile("");
}

NOINLINE void held_waiter(void)
{
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&held);
	go = 1;
	pthread_cond_signal(&held_cond);
	pthread_mutex_unlock(&held);
	__asm__ volatile("");
}

static void *holders(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		lock_holder();
		cond_signaller();
		futex_waker();
		held_holder();
	}
	return arg;
}

static void *waiters(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		lock_waiter();
		cond_waiter();
		futex_waiter();
		held_waiter();
	}
	return arg;
}

/* s[0] is waited for by the child, s[1] says that it has been. */
NOINLINE void sem_poster(sem_t *s)
{
	/* glibc: the number of waiters is the upper half of the first word */
	while (__atomic_load_n((const unsigned long *)(const void *)s, __ATOMIC_ACQUIRE) >> 32 == 0)
		a_while();
	sem_post(s);
	while (sem_trywait(s + 1))
		a_while();
}

NOINLINE void sem_waiter(sem_t *s)
{
	while (sem_wait(s) && errno == EINTR)
		;
	sem_post(s + 1);
	__asm__ volatile("");
}

static void caught(int s) { (void)s; }

NOINLINE void kill_waiter(volatile int *round)
{
	++*round;
	while (ppoll(NULL, 0, NULL, &none) != -1)
		;
	__asm__ volatile("");
}

static int asleep(pid_t pid)
{
	char path[64], state = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "r");
	must(f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1, path);
	fclose(f);
	return state == 'S';
}

/* The signal is blocked but inside ppoll, so none is lost. */
NOINLINE void kill_sender(pid_t child, volatile int *round, int number)
{
	while (*round < number || !asleep(child))
		a_while();
	must(kill(child, SIGUSR1) == 0, "kill");
	__asm__ volatile("");
}

int main(void)
{
	pthread_t t[2];
	sem_t *s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(s != MAP_FAILED && sem_init(s, 1, 0) == 0 && sem_init(s + 1, 1, 0) == 0, "sem_init");
	must(pthread_barrier_init(&barrier, NULL, 2) == 0, "barrier");
	must(pthread_create(&t[0], NULL, holders, NULL) == 0, "pthread_create");
	must(pthread_create(&t[1], NULL, waiters, NULL) == 0, "pthread_create");
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	volatile int *round = (int *)(s + 2);
	sigset_t usr1;
	signal(SIGUSR1, caught);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	pid_t child = fork();
	must(child >= 0, "fork");
	if (child == 0) {
		for (int i = 0; i < SEM_ROUNDS; i++)
			sem_waiter(s);
		for (int i = 0; i < ROUNDS; i++)
			kill_waiter(round);
		_exit(0);
	}
	for (int i = 0; i < SEM_ROUNDS; i++)
		sem_poster(s);
	for (int i = 1; i <= ROUNDS; i++)
		kill_sender(child, round, i);
	int status = 1;
	must(waitpid(child, &status, 0) == child && status == 0, "child");
	return 0;
}
