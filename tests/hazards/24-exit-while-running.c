/* SPDX-License-Identifier: MIT */
/* main returns, or calls exit/_exit/pthread_exit, while detached threads are
   inside hooks and atexit handlers still use them.  A buffered stream flushed
   by exit() even runs after every library destructor, the interposer's too:
   nothing may be torn down, and the exit status must survive. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int fd;

static void use(void)
{
    struct timespec past = { 1, 0 };
    pthread_mutex_lock(&m);
    pthread_cond_timedwait(&c, &m, &past);
    pthread_cond_broadcast(&c);
    pthread_mutex_unlock(&m);
    if (write(fd, "x", 1) != 1) _exit(99);
    fsync(fd);
}
static void *spin(void *arg) { while (fd) use(); return arg; }
static void *blocked(void *arg)
{
    pthread_mutex_lock(&m);
    for (;;) pthread_cond_wait(&c, &m);
    return arg;
}
static void at_exit(void) { for (int i = 0; i < 50; i++) use(); }
__attribute__((destructor)) static void at_fini(void) { for (int i = 0; fd && i < 50; i++) use(); }
static ssize_t at_flush(void *k, const char *b, size_t n)      /* after all destructors */
{
    (void)k; (void)b;
    for (int i = 0; i < 50; i++) use();
    return (ssize_t)n;
}
static void *ends_process(void *arg) { usleep(2000); exit((int)(long)arg); }

static int child(int how)
{
    pthread_t t;
    alarm(8);
    fd = open("/dev/null", O_WRONLY);
    atexit(at_exit);
    cookie_io_functions_t io = { .write = at_flush };
    FILE *late = fopencookie(NULL, "w", io);
    if (!late || fputs("pending", late) < 0) return 96;
    for (int i = 0; i < 2; i++) { if (pthread_create(&t, NULL, spin, NULL)) return 98; pthread_detach(t); }
    if (pthread_create(&t, NULL, blocked, NULL)) return 98;
    usleep(2000);
    switch (how) {
    case 0: return 40;
    case 1: exit(41);
    case 2: _exit(42);
    case 3: quick_exit(43);
    case 4: pthread_create(&t, NULL, ends_process, (void *)44L); for (;;) pause();
    default: pthread_create(&t, NULL, ends_process, (void *)45L); pthread_exit(NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) return child(atoi(argv[1]));
    for (int round = 0; round < 3; round++)
        for (int how = 0; how < 6; how++) {
            char arg[8];
            int st;
            snprintf(arg, sizeof arg, "%d", how);
            pid_t p = fork();
            if (p == 0) { execl("/proc/self/exe", argv[0], arg, (char *)NULL); _exit(97); }
            if (waitpid(p, &st, 0) != p || !WIFEXITED(st) || WEXITSTATUS(st) != 40 + how) {
                fprintf(stderr, "way %d ended with status %#x\n", how, st);
                return 1;
            }
        }
    puts("ok");
    return 0;
}
