/* SPDX-License-Identifier: MIT
 * Switches recording on and off in a running program, slice by slice, and
 * measures each slice.
 *
 *   slices STORE COUNTER RECORDER BLOCKS MS SEED
 *
 * STORE     a store that is being recorded; its arena has the switch
 * COUNTER   a file whose first 8 bytes count requests (bench/count.c)
 * RECORDER  pid of `tarry record`; all processes below it are the server
 *
 * A block is three slices of MS ms in random order: recording on, off, and off
 * again, which is compared with the first off as off would be with on.  The
 * first GAP of each slice is not counted: waits that began before the switch.
 * Recording is off at the end, so with a recording that was started paused the
 * store holds what the slices made and nothing else.
 * Prints a line per slice, "BLOCK STATE REQUESTS CPU_NS RECORDER_CPU_NS".  CPU
 * is what the kernel's clocks of the processes say, all threads, dead ones too. */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/store.h"
#include "recorder/arena.h"

#define GAP_NS 10000000
#define MAX_PIDS 4096

static struct ty_arena *arena;
static const _Atomic uint64_t *counter; /* relaxed: the client only adds */
static uint64_t rng_state;

static void give_up(const char *what, const char *why)
{
	fprintf(stderr, "slices: %s: %s\n", what, why);
	exit(1);
}

static uint64_t rng(void) /* xorshift64 */
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	return rng_state ^= rng_state << 17;
}

static uint64_t ns_of(clockid_t id)
{
	struct timespec t;
	return clock_gettime(id, &t) == 0 ? (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec : 0;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
		;
}

static void attach(const char *store)
{
	char err[TY_ERR_MAX];
	struct ty_store *s;
	if (ty_store_open(&s, store, err) < 0)
		give_up(store, err);
	const char *text = ty_store_meta(s, "arena");
	json_t *j = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
	if (!json_is_string(j) || ty_arena_attach(&arena, json_string_value(j), err) < 0)
		give_up(store, j ? err : "no arena");
	json_decref(j);
	ty_store_close(s);
}

static void map_counter(const char *path)
{
	int fd = open(path, O_RDONLY);
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *counter, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		give_up(path, "cannot be mapped");
	counter = p;
	close(fd);
}

/* Children of pid[from], appended: those of its main thread, as servers fork them. */
static size_t add_children(pid_t *pid, size_t n, size_t from)
{
	char path[64];
	int child;
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid[from], pid[from]);
	FILE *f = fopen(path, "r");
	while (f && n < MAX_PIDS && fscanf(f, "%d", &child) == 1)
		pid[n++] = child;
	if (f)
		fclose(f);
	return n;
}

static uint64_t server_cpu(pid_t recorder)
{
	static pid_t pid[MAX_PIDS];
	uint64_t sum = 0;
	clockid_t id;
	pid[0] = recorder;
	for (size_t i = 0, n = 1; i < n; i++) {
		n = add_children(pid, n, i);
		if (i > 0 && clock_getcpuclockid(pid[i], &id) == 0)
			sum += ns_of(id);
	}
	return sum;
}

int main(int argc, char **argv)
{
	static const char *const names[3] = { "on", "off", "aa" };
	if (argc != 7)
		return 2;
	pid_t recorder = atoi(argv[3]);
	unsigned long blocks = strtoul(argv[4], NULL, 10), slice = strtoul(argv[5], NULL, 10) * 1000000;
	clockid_t recorder_clock;
	rng_state = strtoull(argv[6], NULL, 10) * 0x9e3779b97f4a7c15u | 1;
	if (blocks == 0 || slice <= GAP_NS || clock_getcpuclockid(recorder, &recorder_clock) != 0)
		give_up(argv[3], "bad arguments");
	attach(argv[1]);
	map_counter(argv[2]);
	uint64_t at = ns_of(CLOCK_MONOTONIC);
	for (unsigned long b = 0; b < blocks; b++) {
		int order[3] = { 0, 1, 2 };
		for (int i = 2; i > 0; i--) {
			int k = (int)(rng() % (unsigned)(i + 1)), t = order[i];
			order[i] = order[k];
			order[k] = t;
		}
		for (int i = 0; i < 3; i++, at += slice) {
			atomic_store_explicit(&arena->enabled, order[i] == 0, memory_order_relaxed);
			sleep_until(at + GAP_NS);
			uint64_t requests = atomic_load_explicit(counter, memory_order_relaxed);
			uint64_t cpu = server_cpu(recorder), own = ns_of(recorder_clock);
			sleep_until(at + slice);
			requests = atomic_load_explicit(counter, memory_order_relaxed) - requests;
			cpu = server_cpu(recorder) - cpu;
			printf("%lu %s %llu %llu %llu\n", b, names[order[i]], (unsigned long long)requests,
			       (unsigned long long)cpu, (unsigned long long)(ns_of(recorder_clock) - own));
		}
	}
	atomic_store_explicit(&arena->enabled, 0, memory_order_relaxed);
	ty_arena_detach(arena);
	return fflush(stdout) != 0;
}
