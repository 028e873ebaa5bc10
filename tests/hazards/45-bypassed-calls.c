/* SPDX-License-Identifier: MIT
   Half of the calls on an object go past the wrappers (a plug-in loaded with
   RTLD_DEEPBIND, dlsym on libc's own handle, old names): a lock taken on one
   way is given back on the other, a waiter of one is woken by the other. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s errno %d\n", __LINE__, #c, errno); exit(1); } } while (0)
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

static int (*lock)(pthread_mutex_t *), (*unlock)(pthread_mutex_t *), (*post)(sem_t *), (*take)(sem_t *);
static int (*cwait)(pthread_cond_t *, pthread_mutex_t *), (*csignal)(pthread_cond_t *);
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t s;
static int turn;

static void *other(void *p)
{
	for (int i = 0; i < 2000; i++) {
		if (i & 1)
			lock(&m);
		else
			pthread_mutex_lock(&m);
		while (turn != 1)
			(i & 2 ? cwait : pthread_cond_wait)(&c, &m);
		turn = 0;
		(i & 4 ? csignal : pthread_cond_signal)(&c);
		(i & 8 ? unlock : pthread_mutex_unlock)(&m);
		(i & 16 ? post : sem_post)(&s);
	}
	return p;
}

int main(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	CHECK(libc);
	lock = (int (*)(pthread_mutex_t *))dlsym(libc, "pthread_mutex_lock");
	unlock = (int (*)(pthread_mutex_t *))dlsym(libc, "pthread_mutex_unlock");
	post = (int (*)(sem_t *))dlsym(libc, "sem_post");
	take = (int (*)(sem_t *))dlsym(libc, "sem_wait");
	cwait = (int (*)(pthread_cond_t *, pthread_mutex_t *))dlsym(libc, "pthread_cond_wait");
	csignal = (int (*)(pthread_cond_t *))dlsym(libc, "pthread_cond_signal");
	CHECK(lock && unlock && post && take && cwait && csignal && sem_init(&s, 0, 0) == 0);
	pthread_t t;
	CHECK(pthread_create(&t, NULL, other, NULL) == 0);
	for (int i = 0; i < 2000; i++) {
		(i & 1 ? pthread_mutex_lock : lock)(&m);
		while (turn != 0)
			(i & 2 ? pthread_cond_wait : cwait)(&c, &m);
		turn = 1;
		(i & 4 ? pthread_cond_signal : csignal)(&c);
		(i & 8 ? pthread_mutex_unlock : unlock)(&m);
		while ((i & 16 ? sem_wait : take)(&s) != 0)
			;
	}
	pthread_join(t, NULL);
	puts("ok");
	return 0;
}
