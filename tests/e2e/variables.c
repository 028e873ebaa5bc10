/* SPDX-License-Identifier: MIT
 * Locks that are static variables of the program, of a library loaded later and
 * of a forked child, and one on the heap.  tests/e2e/variables.sh */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

pthread_mutex_t named_lock = PTHREAD_MUTEX_INITIALIZER;
static struct { long before; pthread_mutex_t lock; } shared_table = { 0, PTHREAD_MUTEX_INITIALIZER };

static int (*take)(pthread_mutex_t *m) = pthread_mutex_lock; /* or the library's function that calls it */

static void *waits(void *m)
{
	if (take(m) || pthread_mutex_unlock(m))
		abort();
	return NULL;
}

/* Somebody waits for it: seen asleep, not timed. */
static void contend(pthread_mutex_t *m)
{
	char path[64], state = 0;
	pthread_t t;
	pid_t self = getpid(), tid = 0;
	if (pthread_mutex_lock(m) || pthread_create(&t, NULL, waits, m))
		abort();
	while (state != 'S') {
		for (tid = self + 1; tid < self + 10000; tid++) {
			snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
			FILE *f = fopen(path, "re");
			if (!f)
				continue;
			if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
				state = 0;
			fclose(f);
			break;
		}
	}
	if (pthread_mutex_unlock(m) || pthread_join(t, NULL))
		abort();
}

int main(int argc, char **argv)
{
	pthread_mutex_t *heap = malloc(sizeof *heap);
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	pthread_mutex_t *other = lib ? dlsym(lib, "plugin_lock") : NULL;
	if (!heap || !other || pthread_mutex_init(heap, NULL))
		return 1;
	contend(&named_lock);
	contend(&shared_table.lock);
	take = dlsym(lib, "plugin_take");
	contend(other);
	take = pthread_mutex_lock;
	contend(heap);
	pid_t child = fork();
	if (child == 0) {
		contend(&named_lock);
		exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		return 1;
	puts("done");
	return 0;
}
