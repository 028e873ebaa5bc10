/* SPDX-License-Identifier: MIT
 * One recording from begin to end, whoever asked for it: `tarry record`
 * (launch.c) or a plain preload (cli/recorder.c). */
#ifndef TY_SESSION_H
#define TY_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include "common/conf.h"

struct ty_recorder;

struct ty_summary {
	uint64_t events, lost, trimmed;
	uint32_t processes, threads;
	uint32_t refused;    /* processes of another version that stayed off */
	uint64_t attached;   /* processes that took part; 0: nothing was traced */
	char trouble[TY_ERR_MAX]; /* the store is not complete; "" if it is */
	uint32_t notes;           /* orders that matched nothing, a bound that left nothing */
	char note[TY_RULES][TY_ERR_MAX];
};

/* Creates arena and store.  set: to live until ty_session_finish.  command: for the
 * store's meta, NULL-terminated.  0 or a negative errno with err set. */
int ty_session_start(struct ty_recorder **ret, struct ty_settings *set, const char *store, char *const *command,
		     char *err);
const char *ty_session_locator(const struct ty_recorder *r);
/* Before the command is exec'd. */
void ty_session_first_pid(struct ty_recorder *r, int pid);
/* Adds a descriptor whose readiness ends a turn early. */
int ty_session_watch_fd(struct ty_recorder *r, int fd);
/* Also records the end of this process, whether it ever claims a slot or not. */
void ty_session_watch_pid(struct ty_recorder *r, int pid);
/* One turn: waits for the next drain or an event, drains, stores.  Call again. */
void ty_session_turn(struct ty_recorder *r);
/* Processes that are, or soon may be, recorded are still there. */
bool ty_session_alive(struct ty_recorder *r);
/* For the status line. */
void ty_session_figures(struct ty_recorder *r, struct ty_summary *out);
/* Ends the recording: last drain, open waits, symbols (unless early), state. */
void ty_session_finish(struct ty_recorder *r, bool early, struct ty_summary *out);

#endif
