/* SPDX-License-Identifier: MIT
 *
 * Inside the rule `socket`; only socket.c, the rule, and socket_fds.c, the
 * descriptors, include this.  Times are ns.  Failures (no memory) go into
 * ty_cut.error. */
#ifndef TY_SOCKET_H
#define TY_SOCKET_H

#include "analyze/cut.h"

struct ty_conn {
	struct ty_req *req; /* open request */
	struct ty_txn *txn; /* rule transaction: what its statements belong to, NULL: none yet */
	uint32_t refs;      /* slots that mean it; the last one frees it */
	uint8_t state;      /* enum ty_session_state as last told */
};

enum ty_slot_state { TY_SLOT_UNKNOWN, TY_SLOT_ACCEPTED, TY_SLOT_CONNECTED, TY_SLOT_OTHER };
struct ty_slot {
	struct ty_conn *conn;
	uint64_t since;
	uint8_t state; /* enum ty_slot_state */
};
struct ty_fds { /* of one process, by number */
	struct ty_slot *v;
	size_t n;
	bool started, ended;
};

struct ty_change { uint64_t at; uint32_t process; bool end; };

struct ty_socket {
	struct ty_fds *p; /* [nprocesses] */
	uint32_t *before; /* [nprocesses] whose descriptors it starts with */
	struct ty_change *change;
	size_t nchange, at;
	uint16_t shutdown; /* op of shutdown(), which closes no number */
};

/* socket_fds.c */
/* The slot of a number, until the next call; make: of one not seen before, too.  NULL: none, too large, no memory. */
struct ty_slot *ty_slot_get(struct ty_cut *c, uint32_t process, uint64_t fd, bool make);
void ty_slot_clear(struct ty_cut *c, struct ty_slot *s, enum ty_slot_state state, uint64_t now);
/* It is a new connection from now on; false: no memory. */
bool ty_slot_accept(struct ty_cut *c, struct ty_slot *s, uint64_t now);
/* Descriptors that process p has from its start, once. */
void ty_fds_inherit(struct ty_cut *c, uint32_t p);

/* socket.c: the last number for it is gone. */
void ty_conn_over(struct ty_cut *c, struct ty_conn *k);

#endif
