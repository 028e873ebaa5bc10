/* SPDX-License-Identifier: MIT
 * What condition variables mean, whatever the order of their waiters: one case an
 * argument, and all of them without.  Prints the case and what came of it; the
 * same bare and under any order, but for `order`, which says who went on after
 * whom.
 *
 * No time is slept away: a waiter waits when the kernel says that it sleeps. */
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>
#include "e2e.h"
#include "tarry/tarry.h"

#define WAITERS 5

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, *c = &cond;
static int tokens, gone[WAITERS], n_gone, cleaned;
static _Atomic int tids[WAITERS];

struct job {
	int me, birth;
	_Atomic int ready;
};
static struct job jobs[WAITERS];
static pthread_t threads[WAITERS];

static void take_token(int me)
{
	while (tokens == 0)
		CHECK(pthread_cond_wait(c, &m) == 0);
	tokens--;
	gone[n_gone++] = me;
}

static void locked_by_me(void *unused)
{
	(void)unused;
	CHECK(pthread_mutex_trylock(&m) == EBUSY);
	CHECK(m.__data.__owner == raw_tid());
	cleaned++;
	CHECK(pthread_mutex_unlock(&m) == 0);
}

static void *waiter(void *arg)
{
	int me = (int)(long)arg;
	CHECK(pthread_mutex_lock(&m) == 0);
	atomic_store(&tids[me], raw_tid());
	pthread_cleanup_push(locked_by_me, NULL);
	take_token(me);
	pthread_cleanup_pop(0);
	CHECK(pthread_mutex_unlock(&m) == 0);
	return NULL;
}

static void until_waits(int me)
{
	while (!atomic_load(&tids[me]))
		raw_yield();
	until_blocked(0, atomic_load(&tids[me]));
	CHECK(pthread_mutex_lock(&m) == 0); /* it has let it go */
	CHECK(pthread_mutex_unlock(&m) == 0);
	until_blocked(0, atomic_load(&tids[me]));
}

static void start(int n, void *(*f)(void *))
{
	n_gone = tokens = 0;
	for (int i = 0; i < n; i++) {
		atomic_store(&tids[i], 0);
		CHECK(pthread_create(&threads[i], NULL, f, (void *)(long)i) == 0);
		until_waits(i);
	}
}

static void join(int n)
{
	for (int i = 0; i < n; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

static void give(int n, int (*wake)(pthread_cond_t *))
{
	CHECK(pthread_mutex_lock(&m) == 0);
	tokens += n;
	CHECK(wake(c) == 0);
	CHECK(pthread_mutex_unlock(&m) == 0);
}

static void until_gone(int n)
{
	for (int now = 0; now < n; raw_yield()) {
		CHECK(pthread_mutex_lock(&m) == 0);
		now = n_gone;
		CHECK(pthread_mutex_unlock(&m) == 0);
	}
}

/* ---- who goes on after whom: requests are born in one order, arrive in another ---- */

static const int births[WAITERS] = { 2, 0, 4, 1, 3 }; /* of who arrives first, second, ... */

static void *aged(void *arg)
{
	struct job *j = arg;
	while (!atomic_load(&j->ready))
		raw_yield();
	tarry_request_begin((unsigned)j->me + 1, "order");
	atomic_store(&j->ready, 2);
	while (atomic_load(&j->ready) != 3)
		raw_yield();
	waiter((void *)(long)j->me);
	tarry_request_end((unsigned)j->me + 1);
	return NULL;
}

static void order(void)
{
	n_gone = tokens = 0;
	for (int i = 0; i < WAITERS; i++) {
		jobs[i] = (struct job){ .me = i, .birth = births[i] };
		atomic_store(&tids[i], 0);
		CHECK(pthread_create(&threads[i], NULL, aged, &jobs[i]) == 0);
	}
	for (int birth = 0; birth < WAITERS; birth++)
		for (int i = 0; i < WAITERS; i++)
			if (jobs[i].birth == birth) {
				atomic_store(&jobs[i].ready, 1);
				while (atomic_load(&jobs[i].ready) != 2)
					raw_yield();
			}
	for (int i = 0; i < WAITERS; i++) {
		atomic_store(&jobs[i].ready, 3);
		until_waits(i);
	}
	for (int i = 1; i <= WAITERS; i++) {
		give(1, pthread_cond_signal);
		until_gone(i);
	}
	join(WAITERS);
	for (int i = 0; i < WAITERS; i++)
		printf("%d", gone[i]);
	printf("\n");
}

/* ---- signals and broadcasts ---- */

static void broadcast(void)
{
	for (int i = 0; i < 50; i++) {
		start(WAITERS, waiter);
		give(WAITERS, pthread_cond_broadcast);
		join(WAITERS);
		CHECK(n_gone == WAITERS && tokens == 0);
	}
	CHECK(pthread_cond_broadcast(c) == 0 && pthread_cond_signal(c) == 0);
	printf("all\n");
}

/* ---- deadlines ---- */

static int64_t ns_of(struct timespec t) { return t.tv_sec * 1000000000ll + t.tv_nsec; }
static struct timespec in_ns(clockid_t k, int64_t ns)
{
	struct timespec t;
	clock_gettime(k, &t);
	ns += ns_of(t);
	return (struct timespec){ ns / 1000000000, ns % 1000000000 };
}
static void passed(clockid_t k, const struct timespec *t)
{
	struct timespec now;
	clock_gettime(k, &now);
	CHECK(ns_of(now) >= ns_of(*t));
}

static void deadlines(void)
{
	pthread_condattr_t a;
	pthread_cond_t mono;
	CHECK(pthread_condattr_init(&a) == 0 && pthread_condattr_setclock(&a, CLOCK_MONOTONIC) == 0);
	CHECK(pthread_cond_init(&mono, &a) == 0);
	CHECK(pthread_mutex_lock(&m) == 0);
	for (int i = 0; i < 6; i++) {
		int64_t ns = i == 0 ? -1000000 : i * 700000;
		struct timespec t = in_ns(CLOCK_REALTIME, ns);
		while (pthread_cond_timedwait(c, &m, &t) != ETIMEDOUT)
			;
		passed(CLOCK_REALTIME, &t);
		t = in_ns(CLOCK_MONOTONIC, ns);
		while (pthread_cond_timedwait(&mono, &m, &t) != ETIMEDOUT)
			;
		passed(CLOCK_MONOTONIC, &t);
		t = in_ns(CLOCK_MONOTONIC, ns);
		while (pthread_cond_clockwait(c, &m, CLOCK_MONOTONIC, &t) != ETIMEDOUT)
			;
		passed(CLOCK_MONOTONIC, &t);
	}
	struct timespec bad = { 0, 1000000000 };
	CHECK(pthread_cond_timedwait(c, &m, &bad) == EINVAL);
	CHECK(pthread_cond_clockwait(c, &m, CLOCK_BOOTTIME, &bad) == EINVAL);
	CHECK(pthread_mutex_unlock(&m) == 0);
	CHECK(pthread_cond_destroy(&mono) == 0);
	printf("kept\n");
}

static void *waits_long(void *arg)
{
	int me = (int)(long)arg;
	struct timespec t = in_ns(me & 1 ? CLOCK_MONOTONIC : CLOCK_REALTIME, 600000000000);
	CHECK(pthread_mutex_lock(&m) == 0);
	atomic_store(&tids[me], raw_tid());
	while (tokens == 0)
		CHECK((me & 1 ? pthread_cond_clockwait(c, &m, CLOCK_MONOTONIC, &t) : pthread_cond_timedwait(c, &m, &t)) == 0);
	tokens--;
	gone[n_gone++] = me;
	CHECK(pthread_mutex_unlock(&m) == 0);
	return NULL;
}

static void early(void)
{
	start(4, waits_long);
	for (int i = 0; i < 4; i++)
		give(1, pthread_cond_signal);
	join(4);
	printf("%d\n", n_gone);
}

/* ---- cancellation ---- */

static void cancel(void)
{
	void *r;
	start(2, waiter);
	cleaned = 0;
	CHECK(pthread_cancel(threads[0]) == 0);
	CHECK(pthread_join(threads[0], &r) == 0 && r == PTHREAD_CANCELED && cleaned == 1);
	give(1, pthread_cond_signal);
	CHECK(pthread_join(threads[1], &r) == 0 && r == NULL && gone[0] == 1);
	/* signalled and cancelled at once: whoever is cancelled has taken nothing */
	int cancelled = 0;
	for (int i = 0; i < 400; i++) {
		start(2, waiter);
		if (i & 1)
			give(1, pthread_cond_signal);
		CHECK(pthread_cancel(threads[0]) == 0);
		if (!(i & 1))
			give(1, pthread_cond_signal);
		CHECK(pthread_join(threads[0], &r) == 0);
		cancelled += r == PTHREAD_CANCELED;
		if (r != PTHREAD_CANCELED)
			give(1, pthread_cond_signal);
		CHECK(pthread_join(threads[1], &r) == 0 && r == NULL);
		CHECK(tokens == 0);
	}
	CHECK(cancelled > 0);
	printf("passed on\n");
}

/* ---- destroyed right after a broadcast ---- */

static void destroy(void)
{
	for (int i = 0; i < 100; i++) {
		c = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(c != MAP_FAILED && pthread_cond_init(c, NULL) == 0);
		start(WAITERS, waiter);
		CHECK(pthread_mutex_lock(&m) == 0);
		tokens = WAITERS;
		CHECK(pthread_cond_broadcast(c) == 0);
		CHECK(pthread_cond_destroy(c) == 0);
		CHECK(munmap(c, 4096) == 0); /* nobody may look at it any more */
		CHECK(pthread_mutex_unlock(&m) == 0);
		join(WAITERS);
	}
	c = &cond;
	printf("untouched\n");
}

/* ---- fork while others wait ---- */

static void child(void)
{
	CHECK(pthread_cond_init(c, NULL) == 0); /* its waiters are not here */
	CHECK(pthread_cond_signal(c) == 0 && pthread_cond_broadcast(c) == 0);
	start(3, waiter);
	for (int i = 0; i < 3; i++)
		give(1, pthread_cond_signal);
	join(3);
	_exit(n_gone == 3 ? 0 : 1);
}

static void forks(void)
{
	int status;
	start(3, waiter);
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();
		if (pid == 0)
			child();
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	CHECK(n_gone == 0);
	for (int i = 0; i < 3; i++)
		give(1, pthread_cond_signal);
	join(3);
	printf("%d\n", n_gone);
}

/* ---- between processes ---- */

struct shared {
	pthread_mutex_t m;
	pthread_cond_t c;
	int turn;
};

static void play(struct shared *s, int me)
{
	for (int i = 0; i < 200; i++) {
		CHECK(pthread_mutex_lock(&s->m) == 0);
		while (s->turn != me)
			CHECK(pthread_cond_wait(&s->c, &s->m) == 0);
		s->turn = !me;
		CHECK(pthread_cond_signal(&s->c) == 0);
		CHECK(pthread_mutex_unlock(&s->m) == 0);
	}
}

static void shared(void)
{
	int status;
	pthread_mutexattr_t ma;
	pthread_condattr_t ca;
	struct shared *s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(s != MAP_FAILED);
	CHECK(pthread_mutexattr_init(&ma) == 0 && pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED) == 0);
	CHECK(pthread_condattr_init(&ca) == 0 && pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED) == 0);
	CHECK(pthread_mutex_init(&s->m, &ma) == 0 && pthread_cond_init(&s->c, &ca) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		play(s, 1);
		_exit(0);
	}
	play(s, 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	printf("200 turns\n");
}

/* ---- C11 ---- */

static mtx_t cm;
static cnd_t cc;
static int c_tokens;

static void *c_waits(void *arg)
{
	int me = (int)(long)arg;
	CHECK(mtx_lock(&cm) == thrd_success);
	atomic_store(&tids[me], raw_tid());
	while (c_tokens == 0) {
		struct timespec t = in_ns(CLOCK_REALTIME, 600000000000);
		CHECK((me & 1 ? cnd_timedwait(&cc, &cm, &t) : cnd_wait(&cc, &cm)) == thrd_success);
	}
	c_tokens--;
	CHECK(mtx_unlock(&cm) == thrd_success);
	return NULL;
}

static void c_give(int n, int (*wake)(cnd_t *))
{
	CHECK(mtx_lock(&cm) == thrd_success);
	c_tokens += n;
	CHECK(wake(&cc) == thrd_success);
	CHECK(mtx_unlock(&cm) == thrd_success);
}

static void c11(void)
{
	CHECK(mtx_init(&cm, mtx_plain) == thrd_success && cnd_init(&cc) == thrd_success);
	start(4, c_waits);
	c_give(1, cnd_signal);
	c_give(1, cnd_signal);
	c_give(2, cnd_broadcast);
	join(4);
	struct timespec t = in_ns(CLOCK_REALTIME, 2000000);
	int r;
	CHECK(mtx_lock(&cm) == thrd_success);
	while ((r = cnd_timedwait(&cc, &cm, &t)) == thrd_success)
		;
	CHECK(r == thrd_timedout && mtx_unlock(&cm) == thrd_success);
	cnd_destroy(&cc);
	printf("%d left\n", c_tokens);
}

/* ---- handlers ---- */

static _Atomic int handled;
static void on_signal(int sig) { handled++; }

/* A signal does not end a wait, and one that arrives at any instant does no harm. */
static void signals(void)
{
	struct sigaction a = { .sa_handler = on_signal };
	CHECK(sigaction(SIGUSR1, &a, NULL) == 0);
	start(2, waiter);
	for (int i = 1; i <= 200; i++) {
		CHECK(pthread_kill(threads[i & 1], SIGUSR1) == 0);
		while (atomic_load(&handled) < i)
			raw_yield();
	}
	until_waits(0), until_waits(1);
	CHECK(n_gone == 0);
	give(1, pthread_cond_signal);
	give(1, pthread_cond_signal);
	join(2);
	printf("%d handled\n", atomic_load(&handled));
}

/* ---- past the library ---- */

static void bypass(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	int (*wake)(pthread_cond_t *) = (int (*)(pthread_cond_t *))dlsym(libc, "pthread_cond_signal");
	CHECK(wake);
	for (int i = 0; i < 4; i++) {
		start(1, waiter);
		give(1, wake);
		join(1);
	}
	printf("%d\n", n_gone);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = { { "order", order },       { "broadcast", broadcast }, { "deadlines", deadlines }, { "early", early },
	      { "cancel", cancel },     { "destroy", destroy },     { "fork", forks },          { "shared", shared },
	      { "c11", c11 },           { "signals", signals },     { "bypass", bypass } };

int main(int argc, char **argv)
{
	alarm(100);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int wanted = argc == 1;
		for (int k = 1; k < argc; k++)
			wanted |= strcmp(argv[k], cases[i].name) == 0;
		if (!wanted)
			continue;
		printf("%s: ", cases[i].name);
		fflush(stdout);
		cases[i].run();
		fflush(stdout);
	}
	return 0;
}
