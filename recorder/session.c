/* SPDX-License-Identifier: MIT
 *
 * A recording's main loop: waits, drains, samples, publishes, stores; and the
 * start and the end around it.  Runs in the recorder's main thread.  The loop
 * is quick while anything happens and slow when nothing does.
 */
#include "recorder/session.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/err.h"
#include "recorder/finish.h"
#include "recorder/meta.h"
#include "recorder/orders.h"
#include "recorder/recorder.h"

#define IDLE_NS 20000000ull      /* drain interval when nothing happens */
#define QUICK_NS 1000000000ull   /* after the last event, and after a start */
#define COUNTERS_NS 1000000000ull
#define COUNTERS_A_THREAD_NS 2000000ull /* the interval grows with the number of threads */
#define TAG_ANSWER (1ull << 32)
#define TAG_OWNER (2ull << 32)

static int watch(struct ty_recorder *r, int fd, uint64_t tag)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = tag };
	return epoll_ctl(r->poll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

int ty_session_watch_fd(struct ty_recorder *r, int fd)
{
	return watch(r, fd, TAG_OWNER);
}

void ty_session_watch_pid(struct ty_recorder *r, int pid)
{
	ty_watch_add(r, pid);
}

void ty_session_first_pid(struct ty_recorder *r, int pid)
{
	r->arena.a->conf.first_pid = pid;
}

const char *ty_session_locator(const struct ty_recorder *r)
{
	return r->arena.locator;
}

/* A pidfd for each process, an ELF file for each module. */
static void raise_limit(void)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

void ty_session_free(struct ty_recorder *r)
{
	if (r->worker)
		ty_worker_free(r->worker);
	ty_orders_free(r);
	if (r->writer)
		ty_writer_close(r->writer);
	ty_modules_free(r);
	ty_registry_free(r);
	ty_paths_free(r);
	ty_events_free(r);
	ty_objects_free(r);
	ty_descriptors_free(r);
	ty_classify_free(r);
	ty_checks_free(r);
	if (r->arena.a)
		ty_arena_destroy(&r->arena);
	if (r->answer_fd >= 0)
		close(r->answer_fd);
	if (r->poll >= 0)
		close(r->poll);
	free(r);
}

/* The library knows accepted connections by these calls, and must not take a file for one. */
static bool can_capture(const struct ty_settings *set)
{
	uint64_t need = 1ull << TY_CLASS_ACCEPT | 1ull << TY_CLASS_CLOSE | 1ull << TY_CLASS_DUP;
	return !set->capture_bytes || (set->class_mask & need) == need;
}

int ty_session_start(struct ty_recorder **ret, struct ty_settings *set, const char *store, char *const *command,
		     char *err)
{
	if (!can_capture(set))
		return ty_err(err, -EINVAL, "capture_bytes needs the operations accept, close and dup");
	struct ty_recorder *r = calloc(1, sizeof *r);
	if (!r)
		return ty_err(err, -ENOMEM, "out of memory");
	raise_limit();
	r->set = set;
	r->began = r->now = r->busy_at = ty_now();
	r->began_real = ty_realtime();
	r->poll = epoll_create1(EPOLL_CLOEXEC);
	r->answer_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = r->poll < 0 || r->answer_fd < 0 || watch(r, r->answer_fd, TAG_ANSWER) < 0 ||
				 ty_descriptors_new(r) < 0 || ty_classify_new(r) < 0 ?
			 ty_err(err, -ENOMEM, "cannot start the recorder: %s", strerror(errno)) :
			 0;
	if (rc == 0)
		rc = ty_arena_create(&r->arena, set, err);
	if (rc == 0 && ty_worker_start(&r->worker, r->answer_fd) < 0)
		rc = ty_err(err, -EAGAIN, "cannot start the recorder's worker thread");
	if (rc == 0 && ty_orders_new(r) < 0)
		rc = ty_err(err, -ENOMEM, "out of memory");
	if (rc == 0) /* last: nothing after it may fail, and leave a store */
		rc = ty_writer_start(&r->writer, store, set, err);
	if (rc < 0) {
		ty_session_free(r);
		return rc;
	}
	ty_meta_start(r, command);
	ty_writer_commit(r->writer);
	*ret = r;
	return 0;
}

/* ---- the loop ---- */

static int timeout_ms(const struct ty_recorder *r)
{
	uint64_t ns = r->set->drain_ns;
	if (r->now - r->busy_at > QUICK_NS && ns < IDLE_NS)
		ns = IDLE_NS;
	return ns < 1000000 ? 1 : ns > 1000000000 ? 1000 : (int)(ns / 1000000);
}

void ty_session_wait(struct ty_recorder *r, int ms)
{
	struct epoll_event e[64];
	int n = epoll_wait(r->poll, e, 64, ms);
	for (int i = 0; i < n; i++) {
		uint64_t tag = e[i].data.u64, counted;
		if (tag < TAG_ANSWER)
			ty_watch_died(r, (pid_t)tag);
		else if (tag == TAG_ANSWER && read(r->answer_fd, &counted, sizeof counted) < 0)
			continue;
	}
}

/* Counters of threads that did something, for those who read along. */
static void store_counters(struct ty_recorder *r)
{
	for (uint32_t i = 0; i < r->reg.actives; i++) {
		uint16_t slot = r->reg.active[i];
		struct ty_slot *s = &r->reg.slot[slot];
		if (s->registered && s->dirty)
			ty_thread_store(r, slot, 0);
	}
	ty_meta_running(r);
	r->counters_at = r->now;
	ty_writer_commit(r->writer);
}

void ty_session_turn(struct ty_recorder *r)
{
	ty_session_wait(r, timeout_ms(r));
	ty_modules_built(r, false);
	uint64_t attached = atomic_load_explicit(&r->arena.a->attached, memory_order_relaxed);
	size_t n = ty_drain(r);
	ty_checks_pass_end(r);
	ty_orders_pass_end(r);
	ty_descriptors_pass_end(r);
	ty_watch_ask(r);
	ty_sample(r);
	ty_paths_purge(r);
	if (n || r->modules.pending || attached != r->attached)
		r->busy_at = r->now;
	r->attached = attached;
	if (r->now - r->counters_at >= COUNTERS_NS + r->reg.actives * COUNTERS_A_THREAD_NS)
		store_counters(r);
}

/* ---- who is still there ---- */

/* Has it mapped our arena?  It may not have claimed a slot yet (a forked child
 * does at its first wait). */
static bool maps_arena(const struct ty_recorder *r, const char *pid)
{
	char path[64], *line = NULL;
	size_t size = 0;
	struct stat st;
	bool found = false;
	snprintf(path, sizeof path, "/proc/%.20s/maps", pid);
	FILE *f = fstat(r->arena.fd, &st) == 0 ? fopen(path, "re") : NULL;
	while (f && !found && getline(&line, &size, f) > 0) {
		unsigned long long inode;
		char may[5];
		/* who only looks (tarry top) is not recorded */
		found = strstr(line, "/memfd:tarry") && sscanf(line, "%*s %4s %*s %*s %llu", may, &inode) == 2 &&
			may[1] == 'w' && inode == st.st_ino;
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

static void find_mappers(struct ty_recorder *r)
{
	DIR *d = opendir("/proc");
	for (struct dirent *e; d && (e = readdir(d));)
		if (isdigit((unsigned char)e->d_name[0]) && atoi(e->d_name) != getpid() && maps_arena(r, e->d_name))
			ty_watch_add(r, atoi(e->d_name));
	if (d)
		closedir(d);
}

static bool any_watch(const struct ty_recorder *r)
{
	for (size_t i = 0; i < r->reg.watches; i++)
		if (!r->reg.watch[i]->dead || r->reg.watch[i]->slots)
			return true;
	return false;
}

bool ty_session_alive(struct ty_recorder *r)
{
	if (any_watch(r) || r->death) {
		r->nobody = false;
		return true;
	}
	/* Nobody had the arena mapped, and a look at all slots since then found
	 * none that a short-lived process left behind. */
	if (r->nobody && r->full_scan)
		return false;
	find_mappers(r);
	r->nobody = !any_watch(r);
	r->want_full = true;
	return true;
}

void ty_session_figures(struct ty_recorder *r, struct ty_summary *out)
{
	struct ty_written w;
	ty_writer_status(r->writer, &w);
	*out = (struct ty_summary){
		.events = r->drained,
		.trimmed = w.trimmed,
		.processes = r->reg.alive,
		.threads = r->reg.actives,
		.lost = ty_lost_total(r, &w),
		.attached = atomic_load_explicit(&r->arena.a->attached, memory_order_relaxed),
		.refused = atomic_load_explicit(&r->arena.a->refused, memory_order_relaxed),
	};
	memcpy(out->trouble, w.err, sizeof out->trouble);
}
