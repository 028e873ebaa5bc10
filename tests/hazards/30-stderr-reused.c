/* SPDX-License-Identifier: MIT */
/* Descriptors 0, 1 and 2 may be the host's own data files.  No diagnostic of
   the tool may ever be printed to a number it merely assumes to be a terminal. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
    for (int i = 0; i < 30; i++) {
        pthread_mutex_lock(&m);
        usleep(300);
        pthread_mutex_unlock(&m);
        pthread_mutex_t odd;                     /* nonsense use that a checker might report */
        memset(&odd, 0, sizeof odd);
        pthread_mutex_unlock(&odd);
        fsync(1);
        if (write(-1, "", 1) != -1) _exit(3);
    }
    return arg;
}
static int quiet(const char *dir)
{
    char name[3][96], text[16], buf[64];
    pthread_t t[2];
    for (int i = 0; i < 3; i++) {
        snprintf(name[i], sizeof name[i], "%s/%d", dir, i);
        close(i);
        if (open(name[i], O_RDWR | O_CREAT | O_TRUNC, 0600) != i) return 4;
        int n = snprintf(text, sizeof text, "file %d\n", i);
        if (write(i, text, n) != n) return 5;
    }
    for (int i = 0; i < 2; i++) if (pthread_create(&t[i], NULL, work, NULL)) return 6;
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    pid_t p = fork();
    if (p == 0) { work(NULL); execl("/bin/true", "true", (char *)NULL); _exit(7); }
    waitpid(p, NULL, 0);
    for (int i = 0; i < 3; i++) {
        int n = snprintf(text, sizeof text, "file %d\n", i);
        if (pread(i, buf, sizeof buf, 0) != n || memcmp(buf, text, n)) return 10 + i;
    }
    return 0;
}

int main(void)
{
    char dir[] = "/tmp/hz30.XXXXXX", name[64];
    int st;
    if (!mkdtemp(dir)) return 2;
    pid_t p = fork();
    if (p == 0) _exit(quiet(dir));
    waitpid(p, &st, 0);
    for (int i = 0; i < 3; i++) { snprintf(name, sizeof name, "%s/%d", dir, i); unlink(name); }
    rmdir(dir);
    if (st) { fprintf(stderr, "status %#x\n", st); return 1; }
    puts("ok");
    return 0;
}
