/* SPDX-License-Identifier: MIT
 *
 * The code of policies/ itself in a test program, and what it stands on there:
 * real functions that the test may put its own in the place of, one thread's
 * state, an age that the test says, and counters. */
#ifndef TY_ORDERS_WORLD_H
#define TY_ORDERS_WORLD_H

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policies/age.h"
#include "policies/queue.c"
#include "policies/weight.c"
#include "policies/waiter.c"
#include "policies/stat.c"
#include "policies/gate_queue.c"
#include "policies/fcfs.c"
#include "policies/eldest.c"
#include "policies/youngest.c"
#include "policies/random.c"
#include "policies/largest.c"

struct ty_real ty_real, ty_grant;
bool ty_gated;
struct ty_self ty_self;
struct ty_process_state ty_proc;
__thread struct ty_tls ty_tls = { .gate = 1 };
struct ty_orders *ty_orders;
struct ty_order_conf ty_order_conf;
static struct ty_orders orders_memory;
static uint64_t age_now; /* of the calling thread */

uint64_t ty_age(void)
{
	return age_now;
}

uint64_t ty_age_at(const void *object)
{
	(void)object;
	return age_now;
}

/* As in the library, where stacks are not known. */
int ty_nested(uintptr_t outer, uintptr_t frame)
{
	return frame < outer;
}

/* One rule for everything. */
static inline void order_all(enum ty_order_kind order, uint64_t seed)
{
	memset(&orders_memory, 0, sizeof orders_memory);
	memset(&ty_order_conf, 0, sizeof ty_order_conf);
	memset(&wiped, 0, sizeof wiped);
	memset(&weights, 0, sizeof weights);
	memset(&ty_gate_count, 0, sizeof ty_gate_count);
	memset(pool, 0, sizeof pool);
	memset(&ty_order_tls, 0, sizeof ty_order_tls);
	ty_orders = &orders_memory;
	ty_order_conf.rules = 1;
	ty_order_conf.bound_ns = 100000000;
	ty_order_conf.rule[0].order = order;
	ty_order_conf.rule[0].seed = seed;
	ty_real.syscall = syscall;
	ty_real.sem_post = sem_post;
	ty_real.sem_wait = sem_wait;
	ty_real.sem_trywait = sem_trywait;
	ty_real.sem_clockwait = sem_clockwait;
	ty_tls.lo = 0;
	ty_tls.hi = UINTPTR_MAX;
	arrivals = 0;
	age_now = 0;
}

#endif
