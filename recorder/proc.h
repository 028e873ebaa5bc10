/* SPDX-License-Identifier: MIT
 * Small readers of /proc.  All are comfort: a failure means "not known". */
#ifndef TY_PROC_H
#define TY_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

static inline uint64_t ty_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A whole file, at most size - 1 bytes, NUL added; bytes read or -errno. */
ssize_t ty_proc_read(const char *path, char *buf, size_t size);
/* Model of the first processor; "" if unknown. */
void ty_proc_cpu(char *buf, size_t size);
/* Start time of a process, clock ticks since boot; 0: no such process. */
uint64_t ty_proc_start(pid_t pid);
/* Thread's name without newline; "" if unknown. */
void ty_proc_comm(pid_t pid, uint32_t tid, char *buf, size_t size);
/* Arguments joined by spaces; "" if unknown. */
void ty_proc_cmdline(pid_t pid, char *buf, size_t size);
/* CPU and run-queue time of a thread, ns; 0, or -ENOENT: the thread is gone. */
int ty_proc_schedstat(pid_t pid, uint32_t tid, uint64_t *cpu, uint64_t *runq);
bool ty_proc_alive(pid_t pid);
/* "/proc/PID/root" when the process sees other files than we do, else "". */
void ty_proc_root(pid_t pid, char *buf, size_t size);

#endif
