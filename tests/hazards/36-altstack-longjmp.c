/* SPDX-License-Identifier: MIT
   A signal handler on a tiny alternate stack waits itself, and leaves the
   interrupted wait by siglongjmp, hundreds of times. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s errno %d\n", __LINE__, #c, errno); exit(1); } } while (0)
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf out;
static sem_t never;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t armed, jumps, handled;

static void handler(int sig)
{
	handled++;
	pthread_mutex_trylock(&m);
	pthread_mutex_unlock(&m);
	usleep(1);
	if (armed) {
		armed = 0;
		siglongjmp(out, 1);
	}
}

int main(void)
{
	stack_t alt = {.ss_sp = malloc(8192), .ss_size = 8192};
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	CHECK(sigaltstack(&alt, NULL) == 0 && sem_init(&never, 0, 0) == 0);
	CHECK(sigaction(SIGALRM, &act, NULL) == 0);
	for (int i = 0; i < 300; i++) {
		struct itimerval soon = {{0, 0}, {0, 300}};
		if (sigsetjmp(out, 1)) {
			jumps++;
			continue;
		}
		armed = 1;
		setitimer(ITIMER_REAL, &soon, NULL);
		if (i % 2)
			sem_wait(&never);
		else
			usleep(1000000);
		i--; /* the signal came before the wait did: once more */
		armed = 0;
	}
	CHECK(jumps >= 290 && handled >= jumps);
	puts("ok");
	return 0;
}
