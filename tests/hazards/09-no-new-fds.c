/* SPDX-License-Identifier: MIT */
/* POSIX programs count on open() returning the lowest free number, and some
   check for leaked descriptors.  Tracing must not add, remove or shift any. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static sem_t s;

static int count_fds(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    if (!d) return 0;
    for (struct dirent *e; (e = readdir(d)); ) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}
static int lowest(void)
{
    int fd = open("/dev/null", O_RDWR);
    close(fd);
    return fd;
}
static void *worker(void *arg)
{
    for (int i = 0; i < 30; i++) {
        pthread_mutex_lock(&m);
        usleep(200);
        pthread_mutex_unlock(&m);
        sem_post(&s);
        sem_wait(&s);
        fsync(-1);
    }
    return arg;
}

int main(void)
{
    int fds = count_fds(), low = lowest(), fresh[2] = { open("/dev/null", O_RDONLY), -1 };
    pthread_t t[3];
    sem_init(&s, 0, 0);
    close(fresh[0]);
    if (getenv("HAZARD_CLEAN_FDS") && low != 3) {
        fprintf(stderr, "only 0,1,2 were inherited, yet the first free descriptor is %d\n", low);
        return 1;
    }
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    if (count_fds() != fds || lowest() != low) {
        fprintf(stderr, "descriptors before %d after %d, lowest before %d after %d\n",
                fds, count_fds(), low, lowest());
        return 1;
    }
    puts("ok");
    return 0;
}
