/* SPDX-License-Identifier: MIT */
/* After start-up a sandboxed host (sshd, Chromium, systemd units) allows only
   a few system calls and dies on any other.  A warmed-up hook must need none
   beyond the wrapped call: no gettid, mmap, madvise, mincore, pipe or
   rt_sigprocmask.  An order needs that last one, and ends with the filter. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t s, ask;
static int fd;

static void *helper(void *arg)                   /* stays outside the sandbox */
{
    for (;;) {
        while (sem_wait(&ask)) ;
        pthread_mutex_lock(&m);
        usleep(2000);
        pthread_cond_signal(&c);
        pthread_mutex_unlock(&m);
        sem_post(&s);
    }
    return arg;
}
static __attribute__((noinline)) int use(void)
{
    int bad = 0;
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&m);
        sem_post(&ask);
        pthread_cond_wait(&c, &m);
        pthread_mutex_unlock(&m);
        while (sem_wait(&s)) ;
        pthread_rwlock_rdlock(&rw);
        pthread_rwlock_unlock(&rw);
        bad |= write(fd, "x", 1) != 1;
        bad |= fsync(fd) != -1;
    }
    return bad;
}
static int sandboxed(void)
{
#define OK(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##n, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        OK(futex), OK(write), OK(fsync), OK(exit_group), OK(clock_gettime),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog prog = { sizeof f / sizeof *f, f };
    pthread_t t;
    alarm(8);
    if (pthread_create(&t, NULL, helper, NULL) || use()) return 5;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) return 0;
    _exit(use() ? 6 : 0);
}

int main(void)
{
    int st;
    fd = open("/dev/null", O_WRONLY);
    sem_init(&s, 0, 0);
    sem_init(&ask, 0, 0);
    pid_t p = fork();
    if (p == 0) _exit(sandboxed());
    if (waitpid(p, &st, 0) != p || st) { fprintf(stderr, "status %#x%s\n", st, WIFSIGNALED(st) && WTERMSIG(st) == SIGSYS ? " (SIGSYS)" : ""); return 1; }
    puts("ok");
    return 0;
}
