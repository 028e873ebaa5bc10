/* SPDX-License-Identifier: MIT
 * usage: killed FILE.  Waits in many threads until it is killed, and counts each
 * wait that has returned in FILE, which survives.  Three more threads wait for
 * ever, each in another way. */
#include "e2e.h"
#include <semaphore.h>
#include <sys/mman.h>

#define COUNTING 8
struct slot { int tid; int kind; _Atomic long count; };
static struct slot *slots;
static pthread_mutex_t never = PTHREAD_MUTEX_INITIALIZER;
static sem_t none;
static int pipes[2], file;

static void *counting(void *p)
{
	struct slot *s = p;
	struct timespec t = {0, 30000};
	s->tid = raw_tid();
	for (;;) {
		if (s->kind == 0)
			nanosleep(&t, NULL);
		else if (s->kind == 1)
			fdatasync(file);
		else
			syscall(SYS_futex, &s->tid, 128 /* FUTEX_WAIT_PRIVATE */, 0, NULL, NULL, 0); /* EAGAIN at once */
		atomic_fetch_add(&s->count, 1);
		if (s->kind == 2)
			raw_yield();
	}
	return NULL;
}

static void *for_ever(void *p)
{
	struct slot *s = p;
	char c;
	s->tid = raw_tid();
	if (s->kind == 10)
		pthread_mutex_lock(&never);
	else if (s->kind == 11)
		sem_wait(&none);
	else
		CHECK(read(pipes[0], &c, 1) == 1);
	return NULL;
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && ftruncate(fd, 4096) == 0 && pipe(pipes) == 0 && sem_init(&none, 0, 0) == 0);
	slots = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(slots != MAP_FAILED);
	file = scratch_file();
	pthread_mutex_lock(&never);
	pthread_t t;
	for (int i = 0; i < 3; i++) {
		slots[COUNTING + i].kind = 10 + i;
		CHECK(pthread_create(&t, NULL, for_ever, &slots[COUNTING + i]) == 0);
		while (slots[COUNTING + i].tid == 0 || !is_blocked(0, slots[COUNTING + i].tid))
			raw_yield();
	}
	for (int i = 0; i < COUNTING; i++) {
		slots[i].kind = i % 3;
		CHECK(pthread_create(&t, NULL, counting, &slots[i]) == 0);
	}
	for (;;)
		raw(SYS_sched_yield, 0, 0, 0), raw(SYS_nanosleep, (long)&(struct timespec){1, 0}, 0, 0);
}
