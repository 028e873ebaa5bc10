/* SPDX-License-Identifier: MIT */
/* Waits entered through frames nobody can unwind: run-time generated code
   without unwind data and with a meaningless frame pointer (null, odd,
   non-canonical, into PROT_NONE, at a page's last bytes, cyclic). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s\n", __LINE__, #c); exit(1); } } while (0)

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int fd, done;

static void *hold(void *arg)
{
    pthread_mutex_lock(&m);
    usleep(3000);
    pthread_mutex_unlock(&m);
    return arg;
}
static void target(void)
{
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    CHECK(write(fd, "x", 1) == 1);
    fsync(fd);
    done++;
}

int main(void)
{
#ifdef __x86_64__
    fd = open("/dev/null", O_WRONLY);
    unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *none = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(code != MAP_FAILED && none != MAP_FAILED);
    CHECK(mprotect(none, 4096, PROT_READ | PROT_WRITE) == 0);
    uintptr_t loop[4];
    loop[0] = (uintptr_t)&loop[2]; loop[1] = (uintptr_t)target;
    loop[2] = (uintptr_t)&loop[0]; loop[3] = (uintptr_t)target;
    uintptr_t rbp[] = { 0, 1, 7, 0xdeadbeefdeadbeefUL, 0x800000000000UL, (uintptr_t)none + 4096,
                        (uintptr_t)none + 4092, (uintptr_t)none + 4088, (uintptr_t)loop,
                        UINTPTR_MAX, (uintptr_t)code };
    enum { N = sizeof rbp / sizeof *rbp };
    for (int i = 0; i < N; i++) {                /* push rbp; mov $imm,rbp; call *rdi; pop rbp; ret */
        unsigned char *f = code + i * 32;
        static const unsigned char tail[] = { 0xff, 0xd7, 0x5d, 0xc3 };
        f[0] = 0x55; f[1] = 0x48; f[2] = 0xbd;
        memcpy(f + 3, &rbp[i], 8);
        memcpy(f + 11, tail, sizeof tail);
    }
    CHECK(mprotect(code, 4096, PROT_READ | PROT_EXEC) == 0);
    for (int i = 0; i < N; i++) {
        pthread_t t;
        CHECK(pthread_create(&t, NULL, hold, NULL) == 0);
        usleep(1000);
        void (*f)(void (*)(void)) = (void (*)(void (*)(void)))(uintptr_t)(code + i * 32);
        f(target);
        pthread_join(t, NULL);
    }
    CHECK(done == N);
    CHECK(munmap(code, 4096) == 0);              /* the generated code goes away again */
    target();
#endif
    puts("ok");
    return 0;
}
