/* SPDX-License-Identifier: MIT
   Every cancellation point acts on a cancel that is already pending, also where
   the call would not have to wait; what is none does not act. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s errno %d\n", __LINE__, #c, errno); exit(1); } } while (0)
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

static sem_t full;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static int file, sv[2], cleaned;

static void clean(void *p) { cleaned++; pthread_mutex_unlock(&m); }

static void *body(void *arg)
{
	long what = (long)arg;
	char b[4];
	struct timespec t = {0, 1000};
	struct pollfd p = {sv[0], POLLOUT, 0};
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cancel(pthread_self());
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	switch (what) {
	case 0: sem_wait(&full); break;
	case 1: sem_timedwait(&full, &t); break;
	case 3:
		pthread_mutex_lock(&m);
		pthread_cleanup_push(clean, NULL);
		pthread_cond_timedwait(&c, &m, &t);
		pthread_cleanup_pop(1);
		break;
	case 4: fsync(file); break;
	case 5: if (write(file, "x", 1) < 0) return NULL; break;
	case 6: if (pread(file, b, 1, 0) < 0) return NULL; break;
	case 7: poll(&p, 1, 0); break;
	case 8: nanosleep(&t, NULL); break;
	case 9: send(sv[0], "x", 1, 0); break;
	case 10: recv(sv[1], b, 1, MSG_DONTWAIT); break;
	case 11: accept(sv[0], NULL, NULL); break;
	case 12: close(dup(file)); break;
	case 13: usleep(1); break;
	/* none of these may act on it */
	case 20: pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return (void *)1;
	case 21: pthread_rwlock_wrlock(&rw); pthread_rwlock_unlock(&rw); return (void *)1;
	case 22: sem_trywait(&full); sem_post(&full); return (void *)1;
	case 23: dup2(file, 50); return (void *)1;
	case 24: pthread_cond_broadcast(&c); return (void *)1;
	}
	return NULL;
}

int main(void)
{
	char path[] = "/tmp/hz40.XXXXXX";
	sem_init(&full, 0, 100);
	file = mkstemp(path);
	unlink(path);
	CHECK(file >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	for (long i = 0; i <= 24; i++) {
		pthread_t t;
		void *r;
		if (i == 2 || (i > 13 && i < 20)) /* sem_clockwait: glibc 2.36 looks for a cancel only when it sleeps */
			continue;
		CHECK(pthread_create(&t, NULL, body, (void *)i) == 0 && pthread_join(t, &r) == 0);
		if (r != (i < 20 ? PTHREAD_CANCELED : (void *)1)) {
			fprintf(stderr, "case %ld: %s\n", i, i < 20 ? "the cancel was swallowed" : "became a cancellation point");
			return 1;
		}
	}
	CHECK(cleaned == 1);
	int left;
	CHECK(sem_getvalue(&full, &left) == 0 && left == 100); /* nobody took one */
	puts("ok");
	return 0;
}
