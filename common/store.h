/* SPDX-License-Identifier: MIT
 *
 * The store: one LMDB file (MDB_NOSUBDIR; LMDB adds NAME-lock beside it) that
 * holds one recording of any number of processes.  common/store*.c are the
 * only files that include lmdb.h.  The recorder writes; analyze/ reads, also
 * while the recording still runs.  A store describes itself: ops and classes
 * are stored by name, so ids of another build do not matter.
 *
 * Named databases and what a value is:
 *   meta         text key -> JSON        format version, host, kernel, cpu, clocksource, command line,
 *                                        configuration text, tool version, start, end, arena locator, state
 *   ops          u32 -> JSON             {name, class}
 *   losses       u32 -> JSON             {name, what}
 *   processes threads modules descriptors   u32 -> JSON, the structs below
 *   labels       u32 -> text
 *   paths        u32 -> packed frames
 *   symbols      u32 module, u64 offset -> JSON    list of {function, file, line, inlined}, innermost first
 *   objects      u32 process, u64 address -> text  name of a static variable; not in older stores
 *   counters     u32 thread -> JSON      calls not recorded as events, losses, CPU and run-queue time
 *   blocks       u64 sequence -> packed, compressed events (common/block.c)
 * All but meta and blocks have a checksum behind the value (common/store_sum.c).
 *
 * Times are CLOCK_MONOTONIC ns.  Errors: functions return 0 or a negative
 * errno and put one line for people, without newline, into `err` (TY_ERR_MAX
 * bytes; may be NULL).  Strings in returned structs belong to the store and
 * live until ty_store_close or ty_store_refresh.
 */
#ifndef TY_STORE_H
#define TY_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TY_STORE_FORMAT 2 /* readers refuse a larger one and say so; 1 had no checksums of rows */
#define TY_ERR_MAX 512

enum ty_ev_kind {
	TY_EV_WAIT, /* finished wait or IO call */
	TY_EV_OPEN, /* still in progress when the process or the recording ended; end = last seen */
	TY_EV_WAKE, /* unlock, signal, post, wake while somebody was waiting; end == begin */
	TY_EV_MARK, /* application marker: op = enum ty_mark, object = request id, aux = label */
};

/* One event as analyses see it. 56 bytes. flags: TY_F_* of event.h that describe
 * the call (CONTENDED, SHARED, BROADCAST, CLOCK); what is known about the path
 * (NO_PATH, LEAF, CUT, MISS) is in the path's own flags. */
struct ty_ev {
	uint64_t begin, end;
	uint64_t object; /* as in event.h; process-shared objects: id canonical over processes, flag SHARED */
	uint64_t aux;    /* as in event.h */
	uint32_t thread; /* index into threads */
	uint32_t path;   /* index into paths; always valid (a path may have one frame) */
	uint32_t rec;    /* running number inside its block, for dump */
	uint16_t op;     /* index into ops; MARK: enum ty_mark */
	uint16_t err;    /* errno, 0 success */
	uint16_t flags;
	uint8_t kind;    /* enum ty_ev_kind */
	uint8_t cls;     /* enum ty_class of this build, TY_CLASS_COUNT if the store's class is unknown here */
};

struct ty_op_info { const char *name, *class_name; uint8_t cls; };

struct ty_process {
	uint32_t pid, ppid;
	int32_t parent;      /* index of the recorded parent, -1 none */
	bool forked;         /* fork without exec: shares its parent's image */
	bool ended;          /* seen to end */
	bool ended_waiting;  /* with a recorded wait in progress: killed, or it exited from another thread or a handler */
	uint64_t image;
	uint64_t start, end; /* end 0: still running */
	const char *exe, *cmdline;
	uint32_t fds_at_start; /* reserved */
};

struct ty_thread_info {
	uint32_t process, tid;
	const char *name;
	uint64_t start, end;      /* end 0: still running */
	/* /proc/PID/task/TID/schedstat between first and last sample; all 0 if it could not be read */
	uint64_t sampled_ns;      /* wall time between the two samples */
	uint64_t cpu_ns, runq_ns; /* on CPU, waiting for a CPU */
	uint64_t waits_ns;        /* recorded waits in the same window */
	const uint64_t *fast;     /* [ops] calls not recorded as events (uncontended, counted) */
	const uint64_t *recorded; /* [ops] events */
	const uint64_t *loss;     /* [losses] */
	/* the wait it was in when this was written, while it lived; open_begin 0: none */
	uint64_t open_begin;
	uint32_t open_path;
};

struct ty_module_info {
	const char *path, *build_id; /* build_id: hex, or "" */
	const char *rows;            /* "ready", "none: why" */
	uint32_t row_count, rows_skipped;
};

struct ty_frame {
	int32_t module;   /* -1: unknown code, offset is the raw address */
	bool exact;       /* interrupted by a signal: an address, not a return address */
	uint64_t offset;  /* ELF virtual address */
};
struct ty_path {
	uint16_t flags;   /* TY_F_NO_PATH, LEAF, CUT, MISS; 0: complete */
	uint16_t count;
	const struct ty_frame *frames; /* leaf first */
};

/* What a descriptor number meant from `from` on, until the next entry for the same number. */
struct ty_descriptor {
	uint32_t process;
	int32_t fd;
	uint64_t from;
	const char *kind; /* "file", "socket", "pipe", "eventfd", "epoll", "other" */
	const char *name; /* file path, "tcp 127.0.0.1:3306 <- 127.0.0.1:40000", ... */
};

struct ty_symbol { /* innermost first; inlined: this function was inlined into the next one */
	const char *function; /* demangled; NULL: none covers the address */
	const char *file;     /* NULL unknown */
	uint32_t line;
	bool inlined;
};

/* ---- writing (recorder) ---- */
struct ty_store;

int ty_store_create(struct ty_store **ret, const char *path, char *err); /* -EEXIST when the file exists: nothing is touched */
void ty_store_remove(const char *path); /* one that we have just created, and its lock file */
int ty_store_put_meta(struct ty_store *s, const char *key, const char *value, char *err);
int ty_store_put_ops(struct ty_store *s, char *err); /* this build's ops, classes and losses */
int ty_store_put_process(struct ty_store *s, uint32_t id, const struct ty_process *p, char *err);
int ty_store_put_thread(struct ty_store *s, uint32_t id, const struct ty_thread_info *t, char *err); /* counters too */
int ty_store_put_module(struct ty_store *s, uint32_t id, const struct ty_module_info *m, char *err);
int ty_store_put_path(struct ty_store *s, uint32_t id, const struct ty_path *p, char *err);
int ty_store_put_descriptor(struct ty_store *s, const struct ty_descriptor *d, char *err);
int ty_store_put_label(struct ty_store *s, uint32_t id, const char *text, char *err);
/* Name of a static variable that was waited for. */
int ty_store_put_object(struct ty_store *s, uint32_t process, uint64_t object, const char *name, char *err);
int ty_store_put_symbols(struct ty_store *s, uint32_t module, uint64_t offset, const struct ty_symbol *y, size_t n, char *err);
/* Events of one drain, grouped by thread, each thread's in order of end.
 * complete_to: all events with end <= this are in this or earlier blocks (but
 * for stragglers, threads preempted between clock and commit).  Drains between
 * two commits share a block: commit some ten times a second, not at each drain. */
int ty_store_put_block(struct ty_store *s, const struct ty_ev *ev, size_t n, uint64_t complete_to, char *err);
/* All puts since the last commit become visible together.  Grows the map when
 * it is full and tries again.  -ENOSPC or another negative errno: the events are
 * lost, table rows are tried again with the next commit; the store stays usable. */
int ty_store_commit(struct ty_store *s, bool sync, char *err);
/* Drops the oldest blocks until the file needs no more than `bytes` and until the
 * oldest block left ends after `before` (0: no such bound); returns events
 * dropped, adds them up in the meta key "trimmed".  *err stays "" unless it failed. */
uint64_t ty_store_trim(struct ty_store *s, uint64_t bytes, uint64_t before, char *err);
uint64_t ty_store_size(struct ty_store *s); /* bytes of pages in use */

/* ---- reading ---- */
int ty_store_open(struct ty_store **ret, const char *path, char *err);
int ty_store_refresh(struct ty_store *s, char *err); /* a running recording: read the tables again */
void ty_store_close(struct ty_store *s);
bool ty_store_recording(struct ty_store *s); /* a living recorder has the store open */
const char *ty_store_meta(struct ty_store *s, const char *key); /* NULL: none */
/* Walks all meta keys; stops when cb returns non-zero and returns that. */
int ty_store_meta_each(struct ty_store *s, int (*cb)(void *arg, const char *key, const char *value), void *arg);
const struct ty_op_info *ty_store_ops(struct ty_store *s, size_t *n);
const char *const *ty_store_losses(struct ty_store *s, size_t *n); /* names, as in arena.h */
const char *ty_store_loss_what(struct ty_store *s, size_t i); /* in words */
const struct ty_process *ty_store_processes(struct ty_store *s, size_t *n);
const struct ty_thread_info *ty_store_threads(struct ty_store *s, size_t *n);
const struct ty_module_info *ty_store_modules(struct ty_store *s, size_t *n);
const struct ty_path *ty_store_paths(struct ty_store *s, size_t *n);
const struct ty_descriptor *ty_store_descriptors(struct ty_store *s, size_t *n); /* by process, fd, from */
const char *ty_store_label(struct ty_store *s, uint32_t id); /* "" if unknown */
/* Name of the static variable at an address of a process; NULL: it is none, or not known (yet). */
const char *ty_store_object(struct ty_store *s, uint32_t process, uint64_t object);
/* Symbols of one address; n 0 when none is stored.  Cached. */
const struct ty_symbol *ty_store_symbols(struct ty_store *s, int32_t module, uint64_t offset, size_t *n);

/* Events in order of end over all threads (stragglers, counted, may come late
 * but never out of order within their thread), with from <= end and begin <= to
 * (0, UINT64_MAX: all).  One scan holds one LMDB read transaction per block;
 * it must end before ty_store_refresh.  A store and its scans belong to one thread at a time. */
struct ty_scan;
int ty_scan_open(struct ty_scan **ret, struct ty_store *s, uint64_t from, uint64_t to, char *err);
/* 1: *ev, *n hold the next events, valid until the next call; 0: end; < 0: errno. */
int ty_scan_next(struct ty_scan *c, const struct ty_ev **ev, size_t *n, char *err);
uint64_t ty_scan_stragglers(const struct ty_scan *c);
/* For progress: share of blocks done, 0..1. */
double ty_scan_done(const struct ty_scan *c);
/* What the blocks say without being unpacked.  first, last: smallest begin, largest end. */
struct ty_extent { uint64_t blocks, events, first, last; };
int ty_store_extent(struct ty_store *s, struct ty_extent *x, char *err);
void ty_scan_close(struct ty_scan *c);

#endif
