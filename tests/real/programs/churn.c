// SPDX-License-Identifier: MIT
// Threads that allocate blocks of all sizes and free each other's; the slots of
// exchange are few and locked, and every thread's end frees caches.  Then the
// same in a forked child.  Prints how much was seen.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 6, ROUNDS = 20000, SLOTS = 8 };
static struct { pthread_mutex_t lock; unsigned char *block; size_t size; } slot[SLOTS];
static sem_t start;

static void *churn(void *arg)
{
	unsigned seed = (unsigned)(long)arg + 1;
	long checked = 0;
	while (sem_wait(&start))
		;
	for (int i = 0; i < ROUNDS; i++) {
		size_t size = (size_t)rand_r(&seed) % (i % 64 ? 600 : 200000) + 1;
		unsigned char *block = i % 3 ? malloc(size) : calloc(1, size);
		if (i % 5 == 0)
			block = realloc(block, size *= 2);
		if (!block)
			exit(1);
		block[0] = block[size - 1] = (unsigned char)size;
		int k = rand_r(&seed) % SLOTS;
		pthread_mutex_lock(&slot[k].lock);
		unsigned char *other = slot[k].block;
		size_t length = slot[k].size;
		slot[k].block = block;
		slot[k].size = size;
		if (i % 2000 == 0)
			usleep(200);
		pthread_mutex_unlock(&slot[k].lock);
		if (other && (other[0] != (unsigned char)length || other[length - 1] != (unsigned char)length))
			exit(2);
		free(other);
		checked++;
	}
	return (void *)checked;
}

static long run(void)
{
	pthread_t t[THREADS];
	long sum = 0;
	void *n;
	sem_init(&start, 0, 0);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, churn, (void *)i))
			exit(1);
	for (int i = 0; i < THREADS; i++)
		sem_post(&start);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &n);
		sum += (long)n;
	}
	return sum;
}

int main(void)
{
	int status;
	for (int i = 0; i < SLOTS; i++)
		pthread_mutex_init(&slot[i].lock, NULL);
	printf("%ld blocks\n", run());
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		printf("%ld blocks in the child\n", run());
		return 0;
	}
	if (waitpid(child, &status, 0) != child || status)
		return 3;
	printf("%ld blocks once more\n", run());
	return 0;
}
