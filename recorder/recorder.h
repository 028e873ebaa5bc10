/* SPDX-License-Identifier: MIT
 *
 * The recorder's state.  One struct for the whole process; each part is owned
 * by the file it is named after.  Everything here belongs to the drain's
 * thread; the worker (row tables, self-check) and the writer (store) have
 * queues of their own.
 *
 *   drain.c      rings -> records, checked
 *   decode.c     records -> registry, modules, paths, events
 *   registry.c   processes, and who has ended; slots.c their threads
 *   modules.c    what is mapped where, by image
 *   paths.c      path ids -> store paths
 *   objects.c    static variables that were waited for, and their names
 *   events.c     events held until their path is known, then blocks
 *   classify.c   captured bytes -> classes of requests; dialog.c one connection,
 *                connections.c those of a process
 *   descriptors.c  what a descriptor number means; sockets.c their peers
 *   shared.c     objects in shared memory: one id for all processes
 *   sample.c     CPU and run-queue time, names
 *   orders.c     orders of waiters: what the traced side is told, and its counters
 */
#ifndef TY_RECORDER_H
#define TY_RECORDER_H

#include <stdbool.h>
#include <sys/types.h>
#include "common/conf.h"
#include "common/reserve.h"
#include "common/store.h"
#include "recorder/arena.h"
#include "recorder/coverage.h"
#include "recorder/map.h"
#include "recorder/proc.h"
#include "recorder/worker.h"
#include "recorder/writer.h"

#define TY_NONE UINT32_MAX

/* ---- modules ---- */
/* What is mapped where.  One exec and its forks share a first map, and each
 * module loaded later makes a new one (struct ty_rec_module).  Never freed
 * before the end, so the pointers stay good; an unused one is emptied. */
struct ty_image {
	uint64_t id;
	struct ty_image *root;  /* first map of its processes; NULL: this is one */
	struct ty_image *from;  /* the map before */
	struct ty_range *range; /* by start; root: what was mapped at start; else what came later: all of it if
				 * whole, only the new one if merely said */
	size_t count, cap;
	bool first;             /* some process began with it: no record makes it another */
	bool said, whole, emptied;
	uint8_t idle;           /* purges since some living process had it */
};
struct ty_rmodule {
	struct ty_module_id id;
	char *path, *rows;
	uint32_t row_count, skipped;
	struct ty_elf *elf; /* worker's until it has stopped */
	struct ty_imports imports;
	struct ty_variable *variable; /* that rules of orders name */
	size_t variables;
	bool built, seen;   /* seen: some path goes through it */
};
struct ty_modules {
	struct ty_rmodule *module;
	size_t count, cap;
	struct ty_map by_id;   /* identity -> index + 1 */
	struct ty_map images;  /* image id -> struct ty_image * */
	uint32_t pending;      /* builds not answered yet */
	uint64_t no_room;      /* tables the arena had no room for */
	struct ty_built *late; /* tables that the system had no memory for yet; next by ->next */
	uint64_t late_at;      /* when they are tried again */
};

/* ---- processes, threads, slots ---- */
struct ty_maps { /* shared mappings of one process */
	struct ty_shared_range { uint64_t start, end, offset, dev, inode; } *range;
	size_t count, cap;
	uint64_t read_at;
};
struct ty_rproc {
	struct ty_process info; /* as stored; exe and cmdline owned */
	uint32_t id;
	struct ty_image *image;
	uint64_t gen;
	uint32_t slots;         /* in use */
	struct ty_map fds;      /* see descriptors.c */
	struct ty_map dialogs;  /* descriptor -> struct ty_dialog *, see connections.h */
	struct ty_maps maps;
	uint32_t older;         /* id + 1 of the process that had the pid before */
	bool seen_start, replaced; /* replaced: by exec */
};
struct ty_watch { /* one pid that owns slots */
	pid_t pid;
	int fd;         /* pidfd, -1: kernel or limits say no, then asked by kill(pid, 0) */
	uint32_t slots;
	bool dead;
	uint64_t died, asked;
};
struct ty_slot {
	uint64_t owner;      /* as claimed; 0: free */
	bool bad, lost, gone, registered; /* bad: records not believed; lost: nor where they go on */
	uint32_t chunk, pos; /* chunk + 1 being read, bytes read of it */
	uint32_t process, thread;
	struct ty_watch *watch;
	uint64_t last_end, last_begin;
	/* counters and samples */
	uint64_t start, waits_ns;
	uint64_t next_sample, first_at, last_at, first_waits;
	uint64_t cpu0, runq0, cpu, runq;
	uint64_t last_waits;
	uint32_t samples;
	bool dirty;
	char name[32];
	uint64_t *recorded;  /* [TY_OP_COUNT] */
	/* self-check: the stack being put together */
	struct ty_stack *stack;
};
struct ty_registry {
	struct ty_rproc **process;
	size_t count, cap;
	struct ty_map by_key;  /* mix(pid, image) -> id + 1 */
	struct ty_map by_pid;  /* pid -> id + 1 of the latest */
	struct ty_watch **watch;
	size_t watches, watch_cap;
	struct ty_slot slot[TY_THREADS];
	uint16_t active[TY_THREADS];
	uint32_t actives, threads; /* threads: ever seen */
	uint32_t rotor, sample_rotor, hint;
	uint32_t alive;        /* processes not ended */
	uint64_t ring_lost;    /* records dropped by threads that have ended */
};

/* ---- paths ---- */
struct ty_raw_path {
	uint64_t path, image;
	uint64_t *frame;   /* raw addresses; freed once resolved unless the self-check wants them */
	uint16_t count, flags;
	uint32_t id;       /* store's, TY_NONE: not resolved yet */
};
struct ty_address { uint32_t module; bool exact; uint64_t offset; };
struct ty_paths {
	struct ty_raw_path *raw;
	size_t count, cap;
	struct ty_map by_hash;   /* path id -> index + 1 in raw */
	struct ty_map callers;   /* mix(image, gen, address, flags) -> store path + 1 */
	struct ty_map stored;    /* hash of flags and frames -> store path + 1 */
	uint32_t next;           /* store's next path id */
	struct ty_address *seen; /* for the symbols */
	size_t seen_count, seen_cap;
	struct ty_map seen_at;
	uint32_t missing;        /* store path + 1 of "frames were lost" */
};

/* ---- events ---- */
struct ty_held {
	struct ty_ev ev;
	uint64_t path;     /* id (bit 63) or address */
	uint32_t process;
	uint16_t slot, flags;
};
struct ty_held_list {
	struct ty_held *held;
	size_t count, cap;
	uint64_t begin;    /* of the pass that drained the latest of them */
};
struct ty_events {
	struct ty_held_list now, before;
	struct ty_ev *ev;
	uint16_t *slot;
	size_t count;
	uint64_t since, complete_to;
	struct ty_map labels; /* hash of text -> id + 1 */
	uint32_t next_label;
};

/* ---- objects ---- */
#define TY_OBJECTS_RECENT 4096u
struct ty_static { uint32_t process, module; uint64_t object, vaddr; }; /* vaddr: in the module's file */
struct ty_objects {
	struct ty_static *v;
	size_t count, cap;
	struct ty_map known;                /* mix(process, object) -> index + 1 */
	uint64_t recent[TY_OBJECTS_RECENT]; /* the same keys, of objects that need no second look */
};

/* ---- all of it ---- */
struct ty_lost {
	uint64_t bad_record, bad_bytes, no_memory, path_missed;
};
struct ty_recorder {
	struct ty_settings *set;
	struct ty_arena_file arena;
	struct ty_writer *writer;
	struct ty_worker *worker;
	struct ty_order_book *orders; /* NULL: no order is in force */
	int poll;               /* epoll: pidfds, the worker's answers, whatever the owner adds */
	struct ty_modules modules;
	struct ty_registry reg;
	struct ty_paths paths;
	struct ty_events events;
	struct ty_objects objects;
	struct ty_lost lost;
	uint64_t now;           /* when this pass began */
	bool full_scan;         /* this pass looks at all slots */
	bool want_full;         /* the next one shall */
	bool nobody;            /* no process had the arena mapped when last asked */
	bool death;             /* a process was seen to end since the last pass */
	uint64_t drained;       /* events so far */
	uint64_t flushed_at, counters_at, known_at, busy_at;
	uint64_t attached;      /* processes that had mapped the arena at the last pass */
	int answer_fd;          /* eventfd of the worker */
	uint64_t fd_budget;     /* descriptors that may be looked up in this pass */
	struct ty_classifier *classes;
	struct ty_sockets *sockets;
	struct ty_fd_queue *fds;
	struct ty_stack *stacks; /* sampled, waiting for their path's frames */
	uint64_t began, began_real, drain_cpu;
	bool stop_early;        /* no symbols: asked to end at once */
};

/* drain.c: one pass over all rings; returns the number of events it found. */
size_t ty_drain(struct ty_recorder *r);
/* What the ring of a registered slot holds; true when nothing is left for now. */
bool ty_ring_read(struct ty_recorder *r, uint16_t slot);

/* decode.c: one whole record, checked for length only.  False: it is bad. */
bool ty_decode(struct ty_recorder *r, uint16_t slot, const uint64_t *rec, uint32_t words);

/* registry.c */
/* The process of that image, made if it is new; NULL: no memory.  birth: of the thread that says so. */
struct ty_rproc *ty_process_get(struct ty_recorder *r, uint32_t pid, uint64_t image, uint64_t birth);
void ty_process_end(struct ty_recorder *r, struct ty_rproc *p, uint64_t when);
void ty_process_announced(struct ty_recorder *r, struct ty_rproc *p, uint16_t flags, uint32_t parent, uint64_t when,
			  const char *exe);
struct ty_watch *ty_watch_add(struct ty_recorder *r, pid_t pid);
void ty_watch_died(struct ty_recorder *r, pid_t pid);
void ty_watch_ask(struct ty_recorder *r); /* those without a pidfd */
void ty_registry_reap(struct ty_recorder *r); /* after a pass: processes without slots that are dead */
void ty_registry_free(struct ty_recorder *r);

/* slots.c */
/* A slot that a thread has claimed; false: no memory, and counted. */
bool ty_slot_claim(struct ty_recorder *r, uint16_t slot, uint64_t owner);
void ty_slot_register(struct ty_recorder *r, uint16_t slot); /* the thread has filled it in */
void ty_slot_finish(struct ty_recorder *r, uint16_t slot);   /* its ring is read to the end, and nobody writes it */
/* Name, counters and samples into the store; end 0: it lives. */
void ty_thread_store(struct ty_recorder *r, uint16_t slot, uint64_t end);
void ty_slot_open_wait(struct ty_recorder *r, uint16_t slot, uint64_t end, bool killed);

/* modules.c */
struct ty_image *ty_image_get(struct ty_recorder *r, uint64_t id);
void ty_module_mapped(struct ty_recorder *r, struct ty_rproc *p, const struct ty_rec_module *m, const char *path);
/* Module that holds the address, or TY_NONE. */
uint32_t ty_module_find(struct ty_image *im, uint64_t address, uint64_t *base);
/* All that is mapped: malloc'd array and its length. */
size_t ty_module_ranges(struct ty_image *im, struct ty_range **ret);
void ty_images_age(struct ty_recorder *r); /* empties those that nobody has used for a while */
/* Publishes what the worker has ready; last: what finds no memory now never will. */
void ty_modules_built(struct ty_recorder *r, bool last);
void ty_modules_free(struct ty_recorder *r);

/* paths.c */
void ty_path_record(struct ty_recorder *r, const struct ty_rproc *p, const struct ty_rec_path *rec, uint32_t frames);
bool ty_path_known(const struct ty_recorder *r, uint64_t path);
uint32_t ty_path_resolve(struct ty_recorder *r, const struct ty_rproc *p, uint64_t path, uint16_t flags);
/* The place of a raw frame in the modules of an image; false: not known, or not yet. */
bool ty_path_locate(const struct ty_recorder *r, uint64_t image, uint64_t frame, struct ty_address *ret);
const struct ty_raw_path *ty_path_raw(const struct ty_recorder *r, uint64_t path);
void ty_paths_purge(struct ty_recorder *r); /* the table of sent ids is nearly full: start it again */
void ty_paths_free(struct ty_recorder *r);

/* objects.c */
void ty_object_seen(struct ty_recorder *r, const struct ty_rproc *p, const struct ty_ev *ev); /* of each event */
void ty_objects_mapped(struct ty_recorder *r); /* addresses may mean something else now */
void ty_objects_free(struct ty_recorder *r);

/* events.c */
/* False: no memory, and counted. */
bool ty_event_add(struct ty_recorder *r, uint16_t slot, const struct ty_ev *ev, uint64_t path, uint16_t flags);
uint32_t ty_label(struct ty_recorder *r, const char *text);
void ty_events_pass_end(struct ty_recorder *r);
void ty_events_finish(struct ty_recorder *r); /* no further pass comes */
void ty_events_free(struct ty_recorder *r);

/* classify.c; with capture_bytes 0 none of these does anything */
#define TY_MARK_PENDING 0 /* op of a held mark that classify.c will fill in or drop; aux is its number */
int ty_classify_new(struct ty_recorder *r); /* 0 or -ENOMEM; ty_classify_free also then */
void ty_classify_wait(struct ty_recorder *r, uint16_t slot, const struct ty_ev *ev);
bool ty_classify_bytes(struct ty_recorder *r, uint16_t slot, const struct ty_rec_bytes *b);
void ty_classify_pass(struct ty_recorder *r, uint64_t until); /* what happened up to then is all known */
bool ty_classify_answer(struct ty_recorder *r, struct ty_ev *ev);
void ty_classify_free(struct ty_recorder *r);

/* descriptors.c, shared.c, sample.c */
void ty_descriptors_event(struct ty_recorder *r, struct ty_rproc *p, const struct ty_ev *ev);
void ty_descriptors_pass_end(struct ty_recorder *r);
void ty_descriptors_finish(struct ty_recorder *r); /* everything has been read */
int ty_descriptors_new(struct ty_recorder *r); /* 0 or -ENOMEM; ty_descriptors_free also then */
void ty_descriptors_free(struct ty_recorder *r);
uint64_t ty_shared_object(struct ty_recorder *r, struct ty_rproc *p, uint64_t address);
void ty_shared_inherit(struct ty_rproc *child, const struct ty_rproc *parent);
void ty_sample(struct ty_recorder *r);
void ty_sample_slot(struct ty_recorder *r, uint16_t slot);

/* checks.c: sampled stacks on their way to the worker */
void ty_checks_add(struct ty_recorder *r, struct ty_stack *s);
void ty_checks_pass_end(struct ty_recorder *r);
void ty_checks_free(struct ty_recorder *r);

/* classes of ops, from the table */
enum ty_class ty_op_class(uint16_t op);

#endif
