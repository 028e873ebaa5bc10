/* SPDX-License-Identifier: MIT
 * What is configured, and which functions stand between the wrappers and libc
 * because of it.  Runs in the traced process's constructor.
 *
 * The arena can be written by every process that is recorded, so what it says
 * is copied once, checked, and not read again. */
#include "policies/order.h"
#include "policies/age.h"
#include "policies/cond.h"
#include "policies/gate.h"
#include "policies/sync.h"

struct ty_orders *ty_orders;
struct ty_order_conf ty_order_conf;

static uint64_t clamp(uint64_t n, uint64_t least, uint64_t most)
{
	return n < least ? least : n > most ? most : n;
}

static void copy_conf(const struct ty_order_conf *from)
{
	struct ty_order_conf *c = &ty_order_conf;
	*c = *from;
	if (c->rules > TY_RULES)
		c->rules = TY_RULES;
	c->bound_ns = clamp(c->bound_ns, 1000000u, 10000000000u);
	for (uint32_t i = 0; i < c->rules; i++)
		if (c->rule[i].order >= TY_ORDER_COUNT)
			c->rule[i].order = TY_ORDER_native;
}

/* Waiting with a deadline of any clock came with glibc 2.30. */
static bool can_wait(void)
{
	sem_t s;
	sem_init(&s, 0, 1);
	return ty_real.sem_clockwait(&s, CLOCK_MONOTONIC, &(struct timespec){ 0, 0 }) == 0;
}

void ty_orders_start(struct ty_orders *o)
{
	if (o->conf.rules == 0 && o->conf.sync == TY_SYNC_NATIVE)
		return;
	if (!can_wait() || !ty_queue_start())
		return;
	copy_conf(&o->conf);
	ty_orders = o;
	ty_gate_mutex_start();
	ty_gate_rwlock_start();
	ty_cond_install();
	ty_sync_start(&ty_order_conf);
	ty_age_start(&ty_order_conf);
}
