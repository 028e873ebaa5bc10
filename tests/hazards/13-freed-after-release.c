/* SPDX-License-Identifier: MIT
   The one who gets the lock, the post or the signal frees the object while the
   one who gave it may still be inside its call: nothing may be read there
   afterwards.  The object lies alone on a page that is unmapped at once. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s errno %d\n", __LINE__, #c, errno); exit(1); } } while (0)
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

union object {
	struct { pthread_mutex_t m; int refs; } counted;
	sem_t s;
	struct { pthread_mutex_t m; pthread_cond_t c; int done; } box;
};
static union object *page;
static pthread_barrier_t ready;

static union object *fresh(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	return p;
}
static void drop(union object *o)
{
	pthread_mutex_lock(&o->counted.m);
	int last = --o->counted.refs == 0;
	pthread_mutex_unlock(&o->counted.m);
	if (last)
		munmap(o, 4096);
}
static void *other(void *mode)
{
	for (int i = 0; i < 400; i++) {
		pthread_barrier_wait(&ready);
		union object *o = page;
		if ((long)mode == 0) {
			drop(o);
		} else if ((long)mode == 1) {
			sem_post(&o->s);
		} else {
			pthread_mutex_lock(&o->box.m);
			o->box.done = 1;
			pthread_cond_signal(&o->box.c);
			pthread_mutex_unlock(&o->box.m);
		}
		pthread_barrier_wait(&ready);
	}
	return NULL;
}

int main(void)
{
	pthread_barrier_init(&ready, NULL, 2);
	for (long mode = 0; mode < 3; mode++) {
		pthread_t t;
		CHECK(pthread_create(&t, NULL, other, (void *)mode) == 0);
		for (int i = 0; i < 400; i++) {
			union object *o = page = fresh();
			if (mode == 0) {
				pthread_mutex_init(&o->counted.m, NULL);
				o->counted.refs = 2;
				pthread_barrier_wait(&ready);
				drop(o);
			} else if (mode == 1) {
				sem_init(&o->s, 0, 0);
				pthread_barrier_wait(&ready);
				while (sem_wait(&o->s) != 0)
					;
				munmap(o, 4096);
			} else {
				pthread_mutex_init(&o->box.m, NULL);
				pthread_cond_init(&o->box.c, NULL);
				pthread_barrier_wait(&ready);
				pthread_mutex_lock(&o->box.m);
				while (!o->box.done)
					pthread_cond_wait(&o->box.c, &o->box.m);
				pthread_mutex_unlock(&o->box.m);
				pthread_cond_destroy(&o->box.c);
				munmap(o, 4096);
			}
			pthread_barrier_wait(&ready);
		}
		pthread_join(t, NULL);
	}
	puts("ok");
	return 0;
}
