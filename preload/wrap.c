/* SPDX-License-Identifier: MIT
 * The regular wrappers, one per row of wrap.def.  Runs in the traced process.
 * A body calls the real function exactly once (TRY: after one failed try) with
 * the caller's own arguments and returns what it returned. */
#include "preload/object.h"
#include "preload/wait.h"

#define STRIP(...) __VA_ARGS__
#define NO_TRY (-1) /* no try function returns it */
/* The fast half has no frame of its own worth the name; it counts first, and
 * the slow half, which it leaves by a tail call, takes that back. */
#define BODY_TRY_IF(ok, ret, name, params, args, obj, try)                                        \
	static TY_NOINLINE ret slow_##name(STRIP params, struct ty_thread *t_, ret r_)            \
	{                                                                                         \
		if (!t_) {                                                                        \
			if (!(t_ = ty_enter_slow((uintptr_t)TY_FP)))                              \
				return TY_REAL(name) args;                                        \
			ty_count(t_, TY_OP_##name);                                               \
			r_ = (ok) && TY_TRY_OK(obj) ? ty_real.try(obj) : NO_TRY;                  \
		}                                                                                 \
		if (r_ == NO_TRY)                                                                 \
			return ty_real.name args;                                                 \
		if (r_ == 0 || r_ == EOWNERDEAD) /* either way it is ours now */                  \
			return r_;                                                                \
		ty_uncount(t_, TY_OP_##name);                                                     \
		return TRY_WAIT(name, args, obj);                                                 \
	}                                                                                         \
	TY_EXPORT ret name params;                                                                \
	TY_EXPORT ret name params                                                                 \
	{                                                                                         \
		struct ty_thread *t_ = ty_enter_fast();                                           \
		ret r_ = NO_TRY;                                                                  \
		if (TY_LIKELY(t_)) {                                                              \
			ty_count(t_, TY_OP_##name);                                               \
			if (TY_LIKELY((ok) && TY_TRY_OK(obj)) && TY_LIKELY((r_ = ty_real.try(obj)) == 0)) \
				return r_;                                                        \
		}                                                                                 \
		return slow_##name(STRIP args, t_, r_);                                           \
	}
#define TRY_WAIT(name, args, obj)                                                             \
	__extension__({                                                                           \
		struct ty_object o_ = TY_OBJECT(obj)(obj);                                        \
		struct ty_wait w_;                                                                \
		ty_wait_begin(&w_, t_, TY_OP_##name, TY_OBJ(obj), o_.owner, o_.flags | TY_F_CONTENDED, TY_FRAME_REF); \
		r_ = ty_real.name args;                                                           \
		ty_wait_end(&w_, TY_ERR_OF(obj)(r_));                                             \
		r_;                                                                               \
	})
#define BODY_TRY(...) BODY_TRY_IF(1, __VA_ARGS__)
#define BODY_TRYT(...) BODY_TRY_IF(ty_deadline_ok(t), __VA_ARGS__)
#define BODY_TRYC(...) BODY_TRY_IF(ty_deadline_ok(t) && ty_clock_ok(c), __VA_ARGS__)

#define BODY_TRYK(...) BODY_TRY_IF(ty_clock_ok(c), __VA_ARGS__)

#define BODY_WAIT(ret, name, params, args, obj, try)                                              \
	TY_EXPORT ret name params;                                                                \
	TY_EXPORT ret name params                                                                 \
	{                                                                                         \
		struct ty_thread *t_ = ty_enter();                                                \
		if (!t_)                                                                          \
			return TY_REAL(name) args;                                                \
		struct ty_wait w_;                                                                \
		ty_wait_begin(&w_, t_, TY_OP_##name, TY_OBJ(obj), 0, 0, TY_FRAME_REF);            \
		ret r_ = TY_REAL(name) args;                                                      \
		ty_wait_end(&w_, ty_err_pthread(r_));                                             \
		return r_;                                                                        \
	}

#define BODY_IO_END(end, ret, name, params, args, obj, later)                                            \
	TY_EXPORT ret name params;                                                                \
	TY_EXPORT ret name params                                                                 \
	{                                                                                         \
		struct ty_thread *t_ = ty_enter();                                                \
		if (!t_)                                                                          \
			return TY_REAL(name) args;                                                \
		struct ty_wait w_;                                                                \
		ty_io_begin(&w_, t_, TY_OP_##name, TY_OBJ(obj), TY_FRAME_REF);                    \
		ret r_ = TY_REAL(name) args;                                                      \
		later                                                                             \
		end(&w_, r_);                                                                     \
		return r_;                                                                        \
	}
#define BODY_IO(ret, name, params, args, obj, try) BODY_IO_END(ty_io_end, ret, name, params, args, obj, )
#define BODY_IOE(ret, name, params, args, obj, try) BODY_IO_END(ty_io_end_err, ret, name, params, args, obj, )
#define BODY_IOP(ret, name, params, args, obj, try)                                               \
	BODY_IO_END(ty_io_end, ret, name, params, args, TY_FD_NONE,                               \
		    if (r_ >= 0 || errno != EFAULT) w_.object = TY_OBJ(obj);)

#define BODY_COUNT(ret, name, params, args, obj, try)                                             \
	TY_EXPORT ret name params;                                                                \
	TY_EXPORT ret name params                                                                 \
	{                                                                                         \
		struct ty_thread *t_ = ty_enter();                                                \
		if (t_)                                                                           \
			ty_count(t_, TY_OP_##name);                                               \
		return TY_REAL(name) args;                                                        \
	}

#define BODY_SPECIAL(ret, name, params, args, obj, try)

#define TY_W(ret, name, ver, need, cls, body, params, args, obj, try) BODY_##body(ret, name, params, args, obj, try)
#include "tarry/wrap.def"
