/* SPDX-License-Identifier: MIT
 *
 * The rules of this folder.  Everything here runs inside somebody else's
 * process; each rule comes from a real bug in a real interposer.
 *
 *  1. libc only.  No second unwinder, no C++ runtime, no helper library.
 *  2. No malloc, stdio, dlsym, locks, signals, threads, children, descriptors
 *     or mask changes once the constructor is done; nothing is ever printed.
 *  3. errno is what the real call left.  Cancellation points stay what they are.
 *  4. A lock, condition, semaphore or futex word is not read after the call that
 *     may have let another thread free it.
 *  5. Every store goes to memory that exists: the thread's own TLS and stack,
 *     this library's data, or arena pages that the recorder backed before.
 *  6. On any doubt: pass the call through, count, go on.  Never stop the host.
 *  7. A hook may be entered at any time: before the constructor, inside another
 *     hook (signal handler, another preload), in a forked or vfork child, in a
 *     dying thread, on a foreign stack, under seccomp.
 *
 * This header comes first in every file; it includes what the folder may use
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
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#pragma GCC poison malloc calloc realloc free strdup printf fprintf vfprintf dprintf puts perror abort exit
#pragma GCC poison pthread_atfork atexit sigaction sigprocmask pthread_sigmask setitimer system popen fopen
#pragma GCC poison getenv setenv putenv

#define TY_EXPORT __attribute__((visibility("default")))
#define TY_LIKELY(x) __builtin_expect(!!(x), 1)
#define TY_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TY_NOINLINE __attribute__((noinline))

#endif
