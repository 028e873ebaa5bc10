/* SPDX-License-Identifier: MIT
 *
 * The processes of an experiment: the program and one shell command at a time,
 * each in a process group of its own, and the signals that interrupt us. */
#ifndef TY_PROCESS_H
#define TY_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/store.h" /* TY_ERR_MAX */

enum ty_child_id { TY_CHILD_PROGRAM, TY_CHILD_SHELL, TY_CHILDREN };

struct ty_child {
	pid_t pid;   /* and process group; 0: none */
	bool ended;  /* but kept as a zombie until it is let go: its number stays ours */
	int status;  /* as a shell has it, once ended */
	int signal;  /* that ended it; 0: none did */
	uint64_t when; /* its end was seen, ty_clock */
};

#define TY_IGNORED 2

struct ty_children {
	int signals;     /* signalfd */
	int interrupt;   /* the first INT, TERM or HUP; 0: none */
	unsigned interrupts; /* how many; from the second on nothing is waited for */
	sigset_t old;    /* what we were started with, and children get */
	struct sigaction was[TY_IGNORED]; /* the same, of those that we ignore */
	struct ty_child child[TY_CHILDREN];
};

struct ty_start {
	const char *path;        /* looked for in PATH */
	char *const *argv;
	char *const *env[2];     /* NAME=VALUE beside ours; each ends with NULL, or is NULL */
	const char *log;         /* standard output and error, appended to; standard input is empty */
};

int ty_children_open(struct ty_children *c, char *err);
void ty_children_close(struct ty_children *c);
/* 0, or the negative errno of the fork or the exec. */
int ty_child_start(struct ty_children *c, enum ty_child_id id, const struct ty_start *s);
/* Sleeps until a child ends, a signal comes, or the time (ty_clock) is over. */
void ty_children_turn(struct ty_children *c, uint64_t deadline);
/* Ends a child and all that is left of its group, by `sig`, after `timeout` by KILL; true: KILL was
 * needed.  leader_only: the signal is for the child alone, which passes it on. */
bool ty_child_stop(struct ty_children *c, enum ty_child_id id, int sig, uint64_t timeout, bool leader_only);

uint64_t ty_clock(void); /* CLOCK_MONOTONIC ns */

#endif
