// SPDX-License-Identifier: MIT
// OpenMP by libgomp: barriers, critical sections, tasks and locks of uneven
// work, on more threads than processors.  libgomp waits by futex, without libc.
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	long sum = 0, critical = 0, tasks = 0, locked = 0;
	omp_lock_t lock;
	omp_init_lock(&lock);
	omp_set_num_threads(6);
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : sum)
	for (int i = 0; i < 200; i++) {
		usleep(i % 7 * 20);
		sum += i;
	}
#pragma omp parallel
	for (int i = 0; i < 100; i++) {
#pragma omp critical
		{
			critical++;
			if (i % 10 == 0)
				usleep(100);
		}
#pragma omp barrier
		omp_set_lock(&lock);
		locked += i;
		omp_unset_lock(&lock);
	}
#pragma omp parallel
#pragma omp single
	for (int i = 0; i < 200; i++)
#pragma omp task firstprivate(i) shared(tasks)
	{
		usleep(50);
#pragma omp atomic
		tasks += i;
	}
	omp_destroy_lock(&lock);
	printf("sum %ld, critical %ld, locked %ld, tasks %ld\n", sum, critical, locked, tasks);
	return 0;
}
