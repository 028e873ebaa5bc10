/* SPDX-License-Identifier: MIT */
/* syscall() takes up to seven words; the sixth kernel argument travels on the
   stack.  A wrapper that forwards fewer loses the futex bitset (Rust's Condvar
   and Mutex use it) and the mmap offset. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s errno %d\n", __LINE__, #c, errno); exit(1); } } while (0)

static int word;

static void *waker(void *arg)
{
    (void)arg;
    usleep(50000);
    /* a bitset that does not match must wake nobody */
    CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 2) == 0);
    usleep(20000);
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 1) == 1);
    return NULL;
}

int main(void)
{
    pthread_t t;
    int rounds = 0;
    CHECK(pthread_create(&t, NULL, waker, NULL) == 0);
    while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 0) {
        long r = syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 1);
        CHECK(r == 0 || errno == EAGAIN || errno == EINTR);
        CHECK(++rounds <= 4);              /* it must sleep, not spin */
    }
    pthread_join(t, NULL);

    long page = sysconf(_SC_PAGESIZE);
    int fd = memfd_create("x", MFD_CLOEXEC);
    CHECK(fd >= 0 && ftruncate(fd, 3 * page) == 0);
    CHECK(pwrite(fd, "third", 5, 2 * page) == 5);
    char *p = (char *)syscall(SYS_mmap, NULL, page, PROT_READ, MAP_PRIVATE, fd, 2 * page);
    CHECK(p != MAP_FAILED && memcmp(p, "third", 5) == 0);

    errno = 0;
    CHECK(syscall(SYS_close, -1) == -1 && errno == EBADF);
    errno = 0;
    CHECK(syscall(100000) == -1 && errno == ENOSYS);
    CHECK(syscall(SYS_gettid) == gettid());
    puts("ok");
    return 0;
}
