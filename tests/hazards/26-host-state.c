/* SPDX-License-Identifier: MIT */
/* What a host can see of itself must be unchanged by the preload: one thread
   (unshare(CLONE_NEWUSER), setns and fork-only programs need that), no child
   to wait for, no handlers, no timers, no alternate stack, thread keys free. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int bad;
static void want(int cond, const char *what, const char *when)
{
    if (!cond) { fprintf(stderr, "%s: %s\n", when, what); bad = 1; }
}
static int threads(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d && (e = readdir(d)); ) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}
static void look(const char *when)
{
    struct itimerval it;
    struct sigaction sa;
    stack_t ss;
    int st;
    want(threads() == 1, "more than one thread", when);
    errno = 0;
    want(waitpid(-1, &st, WNOHANG) == -1 && errno == ECHILD, "an unknown child process", when);
    for (int s = 1; s < 32; s++) {
        if (s == SIGKILL || s == SIGSTOP || sigaction(s, NULL, &sa)) continue;
        want(sa.sa_handler == SIG_DFL || sa.sa_handler == SIG_IGN, "a signal handler", when);
    }
    for (int k = 0; k < 3; k++) {
        getitimer(k, &it);
        want(!it.it_value.tv_sec && !it.it_value.tv_usec, "an interval timer", when);
    }
    want(sigaltstack(NULL, &ss) == 0 && (ss.ss_flags & SS_DISABLE), "an alternate signal stack", when);
    want(prctl(PR_GET_DUMPABLE) == 1 || geteuid() != getuid(), "dumpable flag", when);
    want(prctl(PR_GET_SECCOMP) <= 0 || prctl(PR_GET_SECCOMP) == 2, "strict seccomp", when);
}

int main(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    struct timespec past = { 1, 0 };
    sigset_t before, after;
    sem_t s;
    sigprocmask(SIG_BLOCK, NULL, &before);
    look("at start");
    sem_init(&s, 0, 1);
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&m);
        pthread_cond_timedwait(&c, &m, &past);
        pthread_mutex_unlock(&m);
        sem_wait(&s);
        sem_post(&s);
        fsync(-1);
        if (write(-1, "", 1) != -1) bad = 1;
    }
    look("after use");
    sigprocmask(SIG_BLOCK, NULL, &after);
    for (int n = 1; n < 65; n++) want(sigismember(&before, n) == sigismember(&after, n), "signal mask changed", "after use");
    pthread_key_t k;
    int keys = 0;
    while (keys < 1024 && pthread_key_create(&k, NULL) == 0) keys++;
    want(keys >= 1016, "thread-specific keys used up", "after use");
    if (bad) return 1;
    puts("ok");
    return 0;
}
