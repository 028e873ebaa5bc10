/* SPDX-License-Identifier: MIT
 *
 * The rules of this folder and of policies/.  Everything there runs inside somebody
 * else's process; each rule comes from a real bug in a real interposer.
 *
 *  1. libc only.  No second unwinder, no C++ runtime, no helper library.
 *  2. No malloc, stdio, dlsym, locks, signals, threads, children, descriptors
 *     or mask changes once the constructor is done; nothing is ever printed.
 *     (With an order in force policies/ block signals while they change a queue
 *     or flush for others; queue.h and sync.h say why that may be.)
 *  3. errno is what the real call left.  Cancellation points stay what they are.
 *  4. A lock, condition, semaphore or futex word, a buffer, vector or header of a
 *     message is not read after the call that may have let another thread free
 *     it; and what a call reads is the kernel's to refuse, so it is not touched
 *     before, either, but copied by the kernel, which may say no.
 *  5. Every store goes to memory that exists: the thread's own TLS and stack,
 *     this library's data, or arena pages that the recorder backed before.
 *  6. On any doubt: pass the call through, count, go on.  Never stop the host.
 *  7. A hook may be entered at any time: before the constructor, inside another
 *     hook (signal handler, another preload), in a forked or vfork child, in a
 *     dying thread, on a foreign stack, under seccomp.
 *
 * This header comes first in every file; it includes what these folders may use
 * and poisons the rest, so that a slip does not compile.
 */
#ifndef TY_RULES_H
#define TY_RULES_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <threads.h>
#include <time.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC poison malloc calloc realloc free strdup printf fprintf vfprintf dprintf puts perror abort exit
#pragma GCC poison pthread_atfork atexit sigaction sigprocmask pthread_sigmask setitimer system popen fopen
#pragma GCC poison getenv setenv putenv

#define TY_EXPORT __attribute__((visibility("default")))
#define TY_LIKELY(x) __builtin_expect(!!(x), 1)
#define TY_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TY_NOINLINE __attribute__((noinline))
/* On the way of every wait: laid out side by side, in few pages. */
#define TY_HOT __attribute__((hot))

#endif
