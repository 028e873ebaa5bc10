/* SPDX-License-Identifier: MIT
 *
 * THE format of what a traced thread pushes into its ring.  Who may include
 * it: preload/ (writes) and recorder/ (reads).  The store has a format of its
 * own (common/store.h), which takes over from here what describes a call: flags,
 * aux, TY_FD_*, enum ty_mark and ty_session_state.  For these readers include it,
 * too, and who gives one of them another meaning bumps TY_STORE_FORMAT.
 *
 * A record is a whole number of 8-byte words, host byte order, and never
 * straddles two chunks.  Word 0 of every record:
 *
 *    63      56 55      48 47          32 31          16 15           0
 *   +----------+----------+--------------+--------------+--------------+
 *   |   type   |  words   |      op      |    flags     |     err      |
 *   +----------+----------+--------------+--------------+--------------+
 *     words: length of the record including word 0; 0 means "see word 1",
 *            used by records longer than 255 words (path, stack)
 *     err:   errno of the outcome (0 = success), as the caller saw it
 *
 * Any change here bumps TY_ABI in arena.h.
 */
#ifndef TARRY_EVENT_H
#define TARRY_EVENT_H

#include <stdint.h>

enum ty_rec {
	TY_REC_NONE,
	TY_REC_WAIT,    /* a finished wait or IO call: struct ty_rec_wait */
	TY_REC_WAKE,    /* an unlock, signal, post, wake with somebody waiting: struct ty_rec_wait, end == begin */
	TY_REC_PATH,    /* struct ty_rec_path: the frames behind a path id */
	TY_REC_MODULE,  /* struct ty_rec_module */
	TY_REC_PROCESS, /* struct ty_rec_process */
	TY_REC_GEN,     /* struct ty_rec_gen: dlclose in this process; modules after it are looked up anew */
	TY_REC_STACK,   /* struct ty_rec_stack: a piece of a stack for the self-check */
	TY_REC_MARK,    /* struct ty_rec_mark: tarry_request_* called by the application */
	TY_REC_BYTES,   /* struct ty_rec_bytes: right after the WAIT of a receive or send, if they are captured */
	TY_REC_COUNT
};

/* flags of WAIT and WAKE */
enum {
	TY_F_NO_PATH = 1 << 0,    /* IO shorter than min_path: path == caller's address, one frame, not a site */
	TY_F_LEAF = 1 << 1,       /* stack bounds unknown: path is the caller only */
	TY_F_CUT = 1 << 2,        /* path ends at code without unwind rules (JIT, no table), or too deep */
	TY_F_MISS = 1 << 3,       /* path ends where rules were not published yet */
	TY_F_CONTENDED = 1 << 4,  /* try-first failed (TRY rows) */
	TY_F_SHARED = 1 << 5,     /* the object says it is process-shared */
	TY_F_BROADCAST = 1 << 6,  /* WAKE: wakes all */
	TY_F_CLOCK = 1 << 7,      /* clock went backwards; duration clamped to 0 */
	TY_F_PARTIAL = TY_F_LEAF | TY_F_CUT | TY_F_MISS,
};

#define TY_WORD0(type, words, op, flags, err)                                             \
	((uint64_t)(type) << 56 | (uint64_t)(uint8_t)(words) << 48 | (uint64_t)(uint16_t)(op) << 32 | \
	 (uint64_t)(uint16_t)(flags) << 16 | (uint16_t)(err))
static inline unsigned ty_rec_type(uint64_t w) { return (unsigned)(w >> 56); }
static inline unsigned ty_rec_words8(uint64_t w) { return (unsigned)(w >> 48) & 0xff; }
static inline unsigned ty_rec_op(uint64_t w) { return (unsigned)(w >> 32) & 0xffff; }
static inline unsigned ty_rec_flags(uint64_t w) { return (unsigned)(w >> 16) & 0xffff; }
static inline unsigned ty_rec_err(uint64_t w) { return (unsigned)w & 0xffff; }

struct ty_rec_wait {
	uint64_t w0;
	uint64_t begin; /* CLOCK_MONOTONIC ns */
	uint64_t end;   /* same clock, >= begin */
	uint64_t object; /* address (locks, futexes), descriptor (IO; UINT64_MAX: none), pthread_t (join) */
	uint64_t path;  /* path id; TY_F_NO_PATH: the caller's return address */
	uint64_t aux;   /* see below */
};
/* aux by class:  MUTEX RWLOCK: owner's tid as read before blocking, a hint
 *   COND: address of the mutex      FUTEX: futex op << 32 | (uint32_t)val
 *   IO classes: bytes, or what the call returned; 0 on failure (err says why)
 *   ACCEPT DUP: the new descriptor  CLOSE of a range: object is TY_FD_RANGE(first, last)
 *   SIGNAL: its number    WAKE futex: number of waiters to wake      YIELD SLEEP: 0 */

#define TY_FD_NONE UINT64_MAX
#define TY_FD_RANGE(a, b) ((uint64_t)1 << 63 | (uint64_t)(uint32_t)(a) << 31 | ((uint32_t)(b) & 0x7fffffff))
/* of close_range: with CLOSE_RANGE_CLOEXEC it closes nothing yet */
#define TY_FD_CLOSED(a, b, flags) ((flags) & 4 ? TY_FD_NONE : TY_FD_RANGE(a, b))

/* Path id: a 64-bit mix of the image id, the module generation, the frames and
 * the TY_F_PARTIAL flags (so it means one list of modules and offsets; see
 * map in struct ty_rec_module); bit 63 is always set, so an id is never an address (an
 * open IO call publishes its caller's address instead).  Frames leaf first (return address into the caller
 * of the wrapped function), bit 63 set where the address is exact (interrupted
 * by a signal) and not a return address. */
#define TY_FRAME_EXACT ((uint64_t)1 << 63)
#define TY_FRAMES_MAX 128
struct ty_rec_path {
	uint64_t w0;    /* words == 0; flags: TY_F_PARTIAL bits */
	uint64_t words; /* 5 + number of frames */
	uint64_t path;
	uint64_t gen;   /* module generation of the process when walked */
	uint64_t map;   /* module map in force when walked */
	uint64_t frame[];
};

/* Identity of a mapped ELF file.  Build-id when there is one; else a hash of
 * its program headers and the start of .eh_frame_hdr (ty_module_hash). */
#define TY_ID_MAX 20
struct ty_module_id {
	uint8_t kind; /* 0 unknown, 1 build-id, 2 hash */
	uint8_t len;  /* bytes used of id, <= TY_ID_MAX */
	uint8_t id[TY_ID_MAX];
	uint8_t pad[2];
};
struct ty_rec_module {
	uint64_t w0;    /* words == 0; err: 1 if the identity could not be read */
	uint64_t words; /* including the path, padded with NUL */
	uint64_t gen;
	/* Forked processes share an image but may load different modules at one
	 * address.  A module map is named by what was loaded: the image id at
	 * start; each later module makes a new map = mix(from, module).  It holds
	 * this module over everything in `from`. */
	uint64_t map, from; /* from == map: part of the image's first map */
	uint64_t base;  /* load bias: address = base + ELF virtual address */
	uint64_t start, end; /* mapped range */
	struct ty_module_id id;
	char path[];    /* NUL-terminated; absolute, as the process sees it; "[vdso]" for the vDSO */
};

struct ty_rec_process {
	uint64_t w0;    /* words == 0; flags: enum below */
	uint64_t words;
	uint64_t when;  /* CLOCK_MONOTONIC ns */
	uint64_t image; /* one per exec; a forked child keeps its parent's */
	uint64_t parent; /* pid it was forked from, or getppid() for an exec */
	uint64_t foreign; /* wrapped names whose default symbol is not ours: calls pass us by (count) */
	char exe[];     /* NUL-terminated path of the executable; empty for a fork */
};
enum { TY_P_FORK = 1, TY_P_EXEC = 2 };

struct ty_rec_gen {
	uint64_t w0;
	uint64_t when, gen;
};

/* Self-check: the stack of one wait in N, cut in pieces that fit a chunk.
 * The pieces of one stack follow each other in one ring without another
 * STACK in between; offset 0 opens it, offset + bytes == total ends it. */
struct ty_rec_stack {
	uint64_t w0;    /* words == 0 */
	uint64_t words;
	uint64_t path;  /* the id that the walk gave this stack */
	uint64_t pc, sp, bp; /* of the wrapper's caller: return address, CFA, saved frame pointer */
	uint64_t total; /* bytes of stack shipped in all, from sp upwards, <= 64 KiB */
	uint64_t offset, bytes; /* this piece */
	uint8_t data[];
};

struct ty_rec_mark {
	uint64_t w0;    /* op: enum ty_mark */
	uint64_t when;
	uint64_t id;    /* request id given by the application */
	char cls[32];   /* class, NUL-padded */
};
enum ty_mark {
	TY_MARK_BEGIN = 1, TY_MARK_END, TY_MARK_PAUSE, TY_MARK_RESUME, /* the application's; the only ones in a ring */
	TY_MARK_CLASS, /* store only: object is the descriptor, aux the label of the request received on it */
	TY_MARK_STATE, /* store only: object is the descriptor, aux what the reply says: enum ty_session_state */
};
enum ty_session_state { TY_SESSION_IDLE, TY_SESSION_IN_TRANSACTION, TY_SESSION_FAILED };

/* What a call received or sent, as little of it as tells the kind of request
 * (capture_bytes).  The recorder makes labels of it and drops it.
 *   received: data holds the first min(length, capture_bytes) bytes
 *   sent:     the first half of data holds the first bytes, the second half the
 *             last, min(length, half) of each; the last are missing with NO_TAIL
 * What is not used is zero. */
#define TY_BYTES_MAX 32
struct ty_rec_bytes {
	uint64_t w0;     /* op: as the WAIT's; flags: enum below */
	uint64_t begin, end; /* as the WAIT's */
	uint64_t object; /* descriptor */
	uint64_t length; /* of what was received or sent */
	uint8_t data[TY_BYTES_MAX];
};
enum { TY_BYTES_SENT = 1, TY_BYTES_NO_TAIL = 2 };

_Static_assert(sizeof(struct ty_rec_wait) == 48, "the hot record is six words");
_Static_assert(sizeof(struct ty_rec_bytes) % 8 == 0, "records are whole words");
_Static_assert(sizeof(struct ty_module_id) == 24, "fixed width");

#endif
