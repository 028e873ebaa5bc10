/* SPDX-License-Identifier: MIT
 * The regular wrappers, one per row of wrap.def.  Runs in the traced process.
 * A body calls the real function exactly once (TRY: after one failed try) with
 * the caller's own arguments and returns what it returned. */
#include "preload/capture.h"
#include "preload/grant.h"
#include "preload/object.h"
#include "preload/wait.h"

#define STRIP(...) __VA_ARGS__
#define NO_TRY (-1) /* no try function returns it */
/* The fast half has no frame of its own worth the name; it counts first, and
 * the slow half, which it leaves by a tail call, takes that back. */
#define BODY_TRY_IF(ok, ret, name, params, args, obj, try)                                        \
	static TY_NOINLINE ret slow_##name(STRIP params, int counted_, ret r_)                    \
	{                                                                                         \
		struct ty_thread *t_ = counted_ ? ty_tls.t : NULL;                                \
		if (!t_) {                                                                        \
			if (!(t_ = ty_enter_slow((uintptr_t)TY_FP)))                              \
				return TY_GRANT(name) args;                                       \
			ty_count(t_, TY_OP_##name);                                               \
			r_ = (ok) && TY_TRY_OK(obj) ? ty_first.try(obj) : NO_TRY;                 \
		}                                                                                 \
		if (r_ == NO_TRY)                                                                 \
			return ty_grant.name args;                                                \
		if (r_ == 0 || r_ == EOWNERDEAD) /* either way it is ours now */                  \
			return r_;                                                                \
		ty_uncount(t_, TY_OP_##name);                                                     \
		return TRY_WAIT(name, args, obj);                                                 \
	}                                                                                         \
	TY_EXPORT ret name params;                                                                \
	TY_EXPORT ret name params                                                                 \
	{                                                                                         \
		struct ty_thread *t_ = ty_enter_fast();                                           \
		if (TY_UNLIKELY(!t_))                                                             \
			return slow_##name(STRIP args, 0, NO_TRY);                                \
		ty_count(t_, TY_OP_##name); /* t_ is not kept over the try: that would cost a register */ \
		if (TY_UNLIKELY(!((ok) && TY_TRY_OK(obj))))                                       \
			return slow_##name(STRIP args, 1, NO_TRY);                                \
		ret r_ = ty_first.try(obj);                                                       \
		return TY_LIKELY(r_ == 0) ? 0 : slow_##name(STRIP args, 1, r_);                   \
	}
#define TRY_WAIT(name, args, obj)                                                             \
	__extension__({                                                                           \
		struct ty_object o_ = TY_OBJECT(obj)(obj);                                        \
		struct ty_wait w_;                                                                \
		ty_wait_begin(&w_, t_, TY_OP_##name, TY_OBJ(obj), o_.owner, o_.flags | TY_F_CONTENDED, TY_FRAME_REF); \
		r_ = ty_grant.name args;                                                          \
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
			return TY_GRANT(name) args;                                               \
		struct ty_wait w_;                                                                \
		ty_wait_begin(&w_, t_, TY_OP_##name, TY_OBJ(obj), 0, 0, TY_FRAME_REF);            \
		ret r_ = TY_GRANT(name) args;                                                     \
		ty_wait_end(&w_, ty_err_pthread(r_));                                             \
		return r_;                                                                        \
	}

enum {
#define TY_W(ret, name, ver, need, cls, body, params, args, obj, try)                             \
	CLOSES_##name = TY_CLASS_##cls == TY_CLASS_CLOSE && TY_OP_##name != TY_OP_shutdown,       \
	DUPS_##name = TY_CLASS_##cls == TY_CLASS_DUP,
#include "tarry/wrap.def"
};
/* A call passed by still closes what it closes; of what it made nothing is known. */
#define PASS_BY(ret, name, args, obj)                                                             \
	do {                                                                                      \
		if (CLOSES_##name)                                                                \
			ty_accepted_closing(TY_OBJ(obj));                                         \
		ret p_ = TY_GRANT(name) args;                                                     \
		if (DUPS_##name && (uint64_t)p_ != TY_OBJ(obj)) /* -1 is in no table */           \
			ty_accepted_closing((uint64_t)p_);                                        \
		return p_;                                                                        \
	} while (0)

#define BODY_IO_END(end, ret, name, params, args, obj, before, later)                             \
	TY_EXPORT ret name params;                                                                \
	TY_EXPORT ret name params                                                                 \
	{                                                                                         \
		struct ty_thread *t_ = ty_enter();                                                \
		if (!t_)                                                                          \
			PASS_BY(ret, name, args, obj);                                            \
		struct ty_wait w_;                                                                \
		before                                                                            \
		ty_io_begin(&w_, t_, TY_OP_##name, TY_OBJ(obj), TY_FRAME_REF);                    \
		ret r_ = TY_GRANT(name) args;                                                     \
		later                                                                             \
		end(&w_, r_);                                                                     \
		return r_;                                                                        \
	}
#define BODY_IO(ret, name, params, args, obj, try) BODY_IO_END(ty_io_end, ret, name, params, args, obj, , )
#define BODY_IOE(ret, name, params, args, obj, try) BODY_IO_END(ty_io_end_err, ret, name, params, args, obj, , )
#define BODY_IOP(ret, name, params, args, obj, try)                                               \
	BODY_IO_END(ty_io_end, ret, name, params, args, TY_FD_NONE, ,                             \
		    if (r_ >= 0 || errno != EFAULT) w_.object = TY_OBJ(obj);)

/* What was received is looked at once the call has succeeded, what is sent before. */
#define BODY_RECEIVES(want, ret, name, params, args, obj)                                         \
	BODY_IO_END(ty_io_end, ret, name, params, args, obj, ,                                    \
		    if (TY_UNLIKELY(ty_proc.capture_bytes) && r_ > 0 && (want)) {                 \
			    ty_io_end_received(&w_, r_, TY_DATA args);                            \
			    return r_;                                                            \
		    })
#define BODY_SENDS(want, ret, name, params, args, obj)                                            \
	BODY_IO_END(ty_io_end, ret, name, params, args, obj,                                      \
		    struct ty_sent s_;                                                            \
		    s_.head = 0;                                                                  \
		    if (TY_UNLIKELY(ty_proc.capture_bytes) && (want))                             \
			    ty_capture_before(&s_, TY_DATA args);,                                \
		    if (TY_UNLIKELY(s_.head) && r_ > 0) {                                         \
			    ty_io_end_sent(&w_, r_, &s_);                                         \
			    return r_;                                                            \
		    })
#define BODY_RECV(ret, name, params, args, obj, try)                                              \
	BODY_RECEIVES(!(f & TY_NOT_TAKEN), ret, name, params, args, obj)
#define BODY_SEND(ret, name, params, args, obj, try) BODY_SENDS(1, ret, name, params, args, obj)
#define BODY_READ(ret, name, params, args, obj, try)                                              \
	BODY_RECEIVES(ty_capture_connection(fd), ret, name, params, args, obj)
#define BODY_WRITE(ret, name, params, args, obj, try)                                             \
	BODY_SENDS(ty_capture_connection(fd), ret, name, params, args, obj)

#define BODY_COUNT(ret, name, params, args, obj, try)                                             \
	TY_EXPORT ret name params;                                                                \
	TY_EXPORT ret name params                                                                 \
	{                                                                                         \
		struct ty_thread *t_ = ty_enter();                                                \
		if (t_)                                                                           \
			ty_count(t_, TY_OP_##name);                                               \
		return TY_GRANT(name) args;                                                       \
	}

#define BODY_SPECIAL(ret, name, params, args, obj, try)

#define TY_W(ret, name, ver, need, cls, body, params, args, obj, try) BODY_##body(ret, name, params, args, obj, try)
#include "tarry/wrap.def"
