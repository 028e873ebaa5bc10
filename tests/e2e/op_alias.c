/* SPDX-License-Identifier: MIT
 * libc exports many functions under a second name, used by old binaries and by
 * programs that avoid the first one. */
#include "e2e.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/socket.h>

ssize_t __read(int, void *, size_t);
ssize_t __write(int, const void *, size_t);
ssize_t __pread64(int, void *, size_t, off64_t);
ssize_t __pwrite64(int, const void *, size_t, off64_t);
ssize_t __send(int, const void *, size_t, int);
int __connect(int, const struct sockaddr *, socklen_t);
int __close(int);
int __dup2(int, int);
int __fcntl(int, int, ...);
int __poll(struct pollfd *, nfds_t, int);
int __select(int, fd_set *, fd_set *, fd_set *, struct timeval *);
int __nanosleep(const struct timespec *, struct timespec *);
int __sched_yield(void);
int __sigsuspend(const sigset_t *);

static void files(void)
{
	char buf[16];
	int fd = scratch_file();
	for (int i = 0; i < 7; i++)
		CHECK(__write(fd, "abc", 3) == 3);
	raw(SYS_lseek, fd, 0, SEEK_SET);
	for (int i = 0; i < 5; i++)
		CHECK(__read(fd, buf, 3) == 3);
	for (int i = 0; i < 3; i++)
		CHECK(__pwrite64(fd, "abc", 3, 1) == 3 && __pread64(fd, buf, 3, 1) == 3);
	for (int i = 0; i < 11; i++)
		CHECK(__dup2(fd, 100) == 100 && __close(100) == 0);
	struct flock l = {.l_type = F_WRLCK, .l_len = 1};
	CHECK(__fcntl(fd, F_SETLKW, &l) == 0 && __fcntl(fd, F_GETFD) >= 0);
	expect("__write", "waits", 7);
	expect("__read", "waits", 5);
	expect("__pwrite64", "waits", 3);
	expect("__pread64", "waits", 3);
	expect("__dup2", "waits", 11);
	expect("__close", "waits", 11);
	expect("__fcntl", "waits", 1);
}

static void on_alarm(int sig) {}
static void signals(void)
{
	sigset_t all, rest;
	sigemptyset(&all);
	sigaddset(&all, SIGUSR1);
	signal(SIGUSR1, on_alarm);
	sigprocmask(SIG_BLOCK, &all, &rest);
	for (int i = 0; i < 3; i++) { /* pending already: comes at once */
		raise(SIGUSR1);
		CHECK(__sigsuspend(&rest) == -1 && errno == EINTR);
	}
	expect("__sigsuspend", "waits", 3);
}

static void sockets(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t len = sizeof a;
	struct timespec t = {0, 1000000};
	int l = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(bind(l, (struct sockaddr *)&a, len) == 0 && listen(l, 5) == 0 && getsockname(l, (struct sockaddr *)&a, &len) == 0);
	CHECK(__connect(fd, (struct sockaddr *)&a, len) == 0);
	for (int i = 0; i < 7; i++)
		CHECK(__send(fd, "abc", 3, 0) == 3);
	struct pollfd p = {fd, POLLIN, 0};
	for (int i = 0; i < 5; i++)
		CHECK(__poll(&p, 1, 1) == 0);
	for (int i = 0; i < 3; i++) {
		struct timeval v = {0, 1000};
		CHECK(__select(0, NULL, NULL, NULL, &v) == 0);
	}
	for (int i = 0; i < 2; i++)
		CHECK(__nanosleep(&t, NULL) == 0);
	for (int i = 0; i < 13; i++)
		CHECK(__sched_yield() == 0);
	expect("__connect", "waits", 1);
	expect("__send", "waits", 7);
	expect("__poll", "waits", 5);
	expect("__select", "waits", 3);
	expect("__nanosleep", "waits", 2);
	expect("__sched_yield", "fast", 13);
}

#ifdef __x86_64__ /* names that only binaries linked before glibc 2.34 have */
#define OLD(name) __asm__(".symver old" #name "," #name "@GLIBC_2.2.5")
int old__pthread_mutex_lock(pthread_mutex_t *);
int old__pthread_mutex_trylock(pthread_mutex_t *);
int old__pthread_mutex_unlock(pthread_mutex_t *);
int old__pthread_rwlock_rdlock(pthread_rwlock_t *);
int old__pthread_rwlock_wrlock(pthread_rwlock_t *);
int old__pthread_rwlock_tryrdlock(pthread_rwlock_t *);
int old__pthread_rwlock_trywrlock(pthread_rwlock_t *);
int old__pthread_rwlock_unlock(pthread_rwlock_t *);
int old__pthread_once(pthread_once_t *, void (*)(void));
OLD(__pthread_mutex_lock);
OLD(__pthread_mutex_trylock);
OLD(__pthread_mutex_unlock);
OLD(__pthread_rwlock_rdlock);
OLD(__pthread_rwlock_wrlock);
OLD(__pthread_rwlock_tryrdlock);
OLD(__pthread_rwlock_trywrlock);
OLD(__pthread_rwlock_unlock);
OLD(__pthread_once);

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void hold(void *p) { CHECK(old__pthread_mutex_trylock(&m) == 0); }
static void release(void *p) { CHECK(old__pthread_mutex_unlock(&m) == 0); }
static void lock(void *p) { CHECK(old__pthread_mutex_lock(&m) == 0); release(p); }
static void hold_r(void *p) { CHECK(old__pthread_rwlock_tryrdlock(&rw) == 0); }
static void hold_w(void *p) { CHECK(old__pthread_rwlock_trywrlock(&rw) == 0); }
static void release_rw(void *p) { CHECK(old__pthread_rwlock_unlock(&rw) == 0); }
static void rd(void *p) { CHECK(old__pthread_rwlock_rdlock(&rw) == 0); release_rw(p); }
static void wr(void *p) { CHECK(old__pthread_rwlock_wrlock(&rw) == 0); release_rw(p); }
static void nothing(void) {}

static void locks(void)
{
	blocked(7, hold, lock, release, NULL);
	blocked(5, hold_w, rd, release_rw, NULL);
	blocked(3, hold_r, wr, release_rw, NULL);
	for (int i = 0; i < 12; i++)
		CHECK(old__pthread_once(&once, nothing) == 0);
	expect("__pthread_mutex_lock", "waits", 7);
	expect("__pthread_mutex_trylock", "fast", 7);
	expect("__pthread_mutex_unlock", "wakes-from", 7);
	expect("__pthread_rwlock_rdlock", "waits", 5);
	expect("__pthread_rwlock_wrlock", "waits", 3);
	expect("__pthread_rwlock_tryrdlock", "fast", 3);
	expect("__pthread_rwlock_trywrlock", "fast", 5);
	expect("__pthread_rwlock_unlock", "wakes-from", 8);
	expect("__pthread_once", "fast-from", 11);
}
#else
static void locks(void) {}
#endif

int main(void)
{
	files();
	sockets();
	signals();
	locks();
	return 0;
}
