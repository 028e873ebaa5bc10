/* SPDX-License-Identifier: MIT
 * The command of `tarry record` as our child: started, signalled, reaped. */
#ifndef TY_LAUNCH_H
#define TY_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>
#include "common/store.h" /* TY_ERR_MAX */

struct ty_launch {
	pid_t pid;          /* the command */
	int go, failed;     /* pipes: locator to the child; errno of its exec back */
	int signals;        /* signalfd */
	bool zombie;        /* a child has ended and is reaped next time */
	bool ended;
	int status;         /* exit status as a shell has it, once ended */
	bool stop;          /* INT or TERM after the command's end */
	bool children;      /* some child of ours is still there */
	bool early;         /* asked for a second time: no symbols */
};

/* Forks the child, which waits.  Call before any thread or LMDB is there. */
int ty_launch_fork(struct ty_launch *l, const char *path, char *const *argv, const char *library, char *err);
/* Lets it exec.  0, or the negative errno of the failed exec. */
int ty_launch_go(struct ty_launch *l, const char *locator);
/* Gives up before go: the child ends. */
void ty_launch_cancel(struct ty_launch *l);
/* Takes pending signals: passes them on, reaps. */
void ty_launch_signals(struct ty_launch *l);

#endif
