/* SPDX-License-Identifier: MIT */
/* Children that never pass through fork(): raw clone(2) (Chromium's zygote),
   vfork sharing the parent's memory, posix_spawn, system, popen.  No atfork
   handler runs, and a vfork child must not disturb the parent's state. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s\n", __LINE__, #c); exit(1); } } while (0)

extern char **environ;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int fd;

static int touch(void)
{
    pthread_mutex_lock(&m);
    int bad = write(fd, "x", 1) != 1;
    pthread_mutex_unlock(&m);
    fsync(fd);
    return bad;
}
static void *thread(void *arg) { for (int i = 0; i < 50; i++) touch(); return arg; }
static int status_of(pid_t p)
{
    int st;
    CHECK(p > 0 && waitpid(p, &st, 0) == p && WIFEXITED(st));
    return WEXITSTATUS(st);
}

int main(void)
{
    pthread_t t;
    char buf[32] = "";
    fd = open("/dev/null", O_WRONLY);
    pthread_create(&t, NULL, thread, NULL);
    for (int i = 0; i < 10; i++) {
        touch();
        pid_t p = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (p == 0) {                            /* private copy, stale cached ids */
            alarm(5);
            for (int k = 0; k < 10; k++) if (write(fd, "c", 1) != 1 || fsync(fd) == 0) _exit(1);
            _exit(21);
        }
        CHECK(status_of(p) == 21);

        volatile int marker = 5;
        p = vfork();
        if (p == 0) {                            /* same memory, parent stopped */
            if (write(fd, "v", 1) != 1) _exit(1);
            marker++;
            execl("/bin/true", "true", (char *)NULL);
            _exit(2);
        }
        CHECK(status_of(p) == 0 && marker == 6);
        touch();
    }
    char *argv[] = { "sh", "-c", "exit 4", NULL };
    pid_t p;
    CHECK(posix_spawn(&p, "/bin/sh", NULL, NULL, argv, environ) == 0 && status_of(p) == 4);
    CHECK(WEXITSTATUS(system("exit 3")) == 3);
    FILE *f = popen("echo through a pipe", "r");
    CHECK(f && fgets(buf, sizeof buf, f) && strcmp(buf, "through a pipe\n") == 0 && pclose(f) == 0);
    pthread_join(t, NULL);
    puts("ok");
    return 0;
}
