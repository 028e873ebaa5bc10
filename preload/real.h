/* SPDX-License-Identifier: MIT
 * The real functions: one pointer a row, resolved all at once in the
 * constructor; a hook that runs earlier resolves through TY_REAL. */
#ifndef TY_REAL_H
#define TY_REAL_H

#include "preload/rules.h"
#include "tarry/ops.h"

struct ty_real {
#define TY_W(ret, name, ver, need, cls, body, params, args, obj, try) ret(*name) params;
#include "tarry/wrap.def"
};
extern struct ty_real ty_real __attribute__((visibility("hidden")));

/* Fills every pointer.  Idempotent; several threads may do it at once and
 * store the same values. */
void ty_real_resolve(void);
/* For a hook that finds its pointer empty: resolves what every libc has and this
 * one, or, when it is called by the dynamic loader's own allocation meanwhile,
 * this one only. */
void ty_real_early(enum ty_op op);

/* The real function, from anywhere at any time. */
#define TY_REAL(name)                                                                            \
	(__extension__({                                                                         \
		if (TY_UNLIKELY(!__atomic_load_n(&ty_real.name, __ATOMIC_RELAXED)))              \
			ty_real_early(TY_OP_##name);                                             \
		ty_real.name;                                                                    \
	}))

/* libc's own symbol by name, skipping this library; NULL if there is none.
 * Constructor only. */
void *ty_real_symbol(const char *name);

#endif
