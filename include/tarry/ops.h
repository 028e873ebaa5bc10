/* SPDX-License-Identifier: MIT
 * Op and class ids, generated from wrap.def.  An op id means something only
 * inside one build; a store carries the names. */
#ifndef TARRY_OPS_H
#define TARRY_OPS_H

enum ty_class {
#define TY_CLASS(id, name, what) TY_CLASS_##id,
#include "tarry/wrap.def"
	TY_CLASS_COUNT
};

enum ty_op {
#define TY_W(ret, name, ver, need, cls, body, params, args, obj, try) TY_OP_##name,
#include "tarry/wrap.def"
	TY_OP_FUNCTIONS, /* ops below this are wrapped functions, above system calls */
	TY_OP_BEFORE_SYS = TY_OP_FUNCTIONS - 1,
#define TY_SYS(id, name, cls) TY_OP_##id,
#include "tarry/wrap.def"
	TY_OP_COUNT
};

#endif
