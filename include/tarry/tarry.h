/* SPDX-License-Identifier: MIT
 *
 * Request markers for applications that want to say themselves where a unit
 * of work begins and ends.  Header only: nothing to link, and every call costs
 * one predictable branch when the program does not run under tarry.
 *
 *   tarry_request_begin(id, "checkout");   ... work ...   tarry_request_end(id);
 *
 * id is any number that is unique among the requests open at one time in the
 * process.  The request is carried by the thread that called begin or, after
 * pause, by the one that calls resume.  cls may be NULL; 31 bytes are kept.
 * Needs _GNU_SOURCE (RTLD_DEFAULT) and, before glibc 2.34, -ldl.
 */
#ifndef TARRY_H
#define TARRY_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*tarry_mark_fn)(int what, uint64_t id, const char *cls);

static inline void tarry_mark_(int what, uint64_t id, const char *cls)
{
	static tarry_mark_fn fn; /* same value whoever stores it; no order needed */
	static int looked;
	if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) { /* pairs with the release below */
		void *p = dlsym(RTLD_DEFAULT, "tarry_mark_v1");
		__atomic_store_n(&fn, (tarry_mark_fn)(uintptr_t)p, __ATOMIC_RELAXED);
		__atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
	}
	tarry_mark_fn f = __atomic_load_n(&fn, __ATOMIC_RELAXED);
	if (f)
		f(what, id, cls);
}

static inline void tarry_request_begin(uint64_t id, const char *cls) { tarry_mark_(1, id, cls); }
static inline void tarry_request_end(uint64_t id) { tarry_mark_(2, id, NULL); }
static inline void tarry_request_pause(uint64_t id) { tarry_mark_(3, id, NULL); }
static inline void tarry_request_resume(uint64_t id) { tarry_mark_(4, id, NULL); }

#ifdef __cplusplus
}
#endif
#endif
