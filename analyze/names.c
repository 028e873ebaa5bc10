/* SPDX-License-Identifier: MIT
 *
 * Names behind paths: what a frame is called, who asked, which paths are the
 * same site, how an object is named.  Runs in readers.  Must stay true: a
 * function's name comes only from the store's symbols, which cover the
 * address; otherwise it is module+offset. */
#include "analyze/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

#include "analyze/live.h"
#include "tarry/event.h"

const char *ty_module_name(const struct ty_tables *t, int32_t module)
{
	if (module < 0 || (size_t)module >= t->nmodules)
		return "?";
	const char *slash = strrchr(t->modules[module].path, '/');
	return slash ? slash + 1 : t->modules[module].path;
}

bool ty_frame_hidden(const struct ty_tables *t, const struct ty_frame *f)
{
	return !strncmp(ty_module_name(t, f->module), "libtarry.so", 11);
}

int ty_path_each(const struct run *r, uint32_t path, int (*cb)(void *arg, const struct ty_line *l), void *arg)
{
	if (path >= r->t.npaths)
		return 0;
	const struct ty_path *p = &r->t.paths[path];
	for (uint16_t i = 0; i < p->count; i++) {
		size_t n = 0;
		const struct ty_symbol *y = NULL;
		struct ty_line l = { .frame = &p->frames[i] };
		if (ty_frame_hidden(&r->t, l.frame))
			continue;
		if (r->store && l.frame->module >= 0)
			y = ty_store_symbols(r->store, l.frame->module, l.frame->offset, &n);
		if (!n && r->live)
			y = ty_live_symbols(r->live, l.frame, &n);
		size_t k = 0;
		do {
			l.symbol = k < n ? &y[k] : NULL;
			l.inlined = l.symbol && l.symbol->inlined;
			int e = cb(arg, &l);
			if (e)
				return e;
		} while (++k < n);
	}
	return 0;
}

const char *ty_line_name(const struct run *r, const struct ty_line *l, char buf[TY_NAME_MAX])
{
	if (l->symbol && l->symbol->function)
		return l->symbol->function;
	if (l->frame->module < 0)
		snprintf(buf, TY_NAME_MAX, "0x%" PRIx64, l->frame->offset);
	else
		snprintf(buf, TY_NAME_MAX, "%s+0x%" PRIx64, ty_module_name(&r->t, l->frame->module),
			 l->frame->offset);
	return buf;
}

static bool starts_with_any(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (!strncmp(text, *list, strlen(*list)))
			return true;
	return false;
}

/* Libraries and functions whose purpose is to wait or to do IO for their caller. */
bool ty_line_wrapper(const struct run *r, const struct ty_line *l)
{
	static const char *const modules[] = { "libc.so", "libc-2", "libpthread", "libstdc++.so", "libc++.so",
		"libgcc_s.so", "ld-linux", "librt.so", NULL };
	static const char *const functions[] = { "std::", "__gnu_cxx::", "__gthread_", "__gthrw_", "boost::asio::detail::",
		"core::", "alloc::", "<std::", "<core::", "<alloc::", "parking_lot::", "parking_lot_core::", "lock_api::",
		"<parking_lot", "<lock_api", "g_mutex_", "g_cond_", "g_rw_lock_", "g_rec_mutex_", "g_futex_",
		"uv_mutex_", "uv_cond_", "uv_sem_", "uv_rwlock_", "apr_thread_mutex_", "apr_thread_cond_",
		"absl::Mutex", "absl::CondVar", "absl::lts_", "inline_mysql_", "psi_mutex_", "psi_cond_", "psi_rwlock_",
		"syscall", "ssux_lock_", "srw_mutex_", "srw_lock_", NULL };
	if (starts_with_any(ty_module_name(&r->t, l->frame->module), modules))
		return true;
	if (!l->symbol || !l->symbol->function)
		return false;
	/* templates over local types have no linkage name, so their names lack the namespace: the header says it */
	return starts_with_any(l->symbol->function, functions) ||
	       (l->symbol->file && strstr(l->symbol->file, "/include/c++/"));
}

struct asked {
	const struct run *r;
	char *buf;
	const char *first, *found;
	char first_buf[TY_NAME_MAX];
};

static int look_asked(void *arg, const struct ty_line *l)
{
	struct asked *a = arg;
	if (!a->first)
		a->first = ty_line_name(a->r, l, a->first_buf);
	if (ty_line_wrapper(a->r, l))
		return 0;
	a->found = ty_line_name(a->r, l, a->buf);
	return 1;
}

const char *ty_path_function(const struct run *r, uint32_t path, char buf[TY_NAME_MAX])
{
	struct asked a = { .r = r, .buf = buf };
	ty_path_each(r, path, look_asked, &a);
	if (!a.found && a.first == a.first_buf) {
		strcpy(buf, a.first_buf);
		return buf;
	}
	return a.found ? a.found : a.first ? a.first : "";
}

struct contains { const struct run *r; const char *text; };

static int look_contains(void *arg, const struct ty_line *l)
{
	const struct contains *c = arg;
	char buf[TY_NAME_MAX];
	return strstr(ty_line_name(c->r, l, buf), c->text) ||
		strstr(ty_module_name(&c->r->t, l->frame->module), c->text) ||
		(l->symbol && l->symbol->file && strstr(l->symbol->file, c->text));
}

bool ty_path_contains(const struct run *r, uint32_t path, const char *text)
{
	struct contains c = { r, text };
	return ty_path_each(r, path, look_contains, &c) != 0;
}

/* ---- of a site ---- */

bool ty_site_has_path(const struct run *r, uint32_t site)
{
	const struct ty_site *s = &r->sites.v[site];
	return r->sites.by == TY_BY_SITE && site != TY_SITE_HELD && s->path < r->t.npaths &&
		r->names.group[s->path] != TY_GROUP_NO_PATH;
}

const char *ty_site_operation(const struct run *r, uint32_t site)
{
	if (site == TY_SITE_HELD)
		return "held up";
	uint16_t op = r->sites.v[site].op;
	if (r->sites.v[site].ops) /* of one class */
		return op < r->t.nops ? r->t.ops[op].class_name : "?";
	return op < r->t.nops ? r->t.ops[op].name : "?";
}

const char *ty_site_function(const struct run *r, uint32_t site, char buf[TY_NAME_MAX])
{
	const struct ty_site *s = &r->sites.v[site];
	if (s->path >= r->t.npaths || site == TY_SITE_HELD)
		return "";
	uint32_t g = r->names.group[s->path];
	if (g == TY_GROUP_NO_PATH)
		return r->sites.by == TY_BY_SITE || r->sites.by == TY_BY_FUNCTION ? "[path not taken]" : "";
	if (r->sites.by == TY_BY_FUNCTION)
		return r->names.function[g];
	return r->sites.by == TY_BY_SITE ? ty_path_function(r, s->path, buf) : "";
}

const struct ty_descriptor *ty_descriptor_at(const struct ty_tables *t, uint32_t process, uint64_t fd, uint64_t when)
{
	size_t lo = 0, hi = t->nfds;
	if (fd > INT32_MAX)
		return NULL;
	while (lo < hi) { /* first entry after (process, fd, when) */
		size_t m = (lo + hi) / 2;
		const struct ty_descriptor *d = &t->fds[m];
		bool after = d->process != process ? d->process > process
			: (uint64_t)d->fd != fd ? d->fd > (int32_t)fd : d->from > when;
		if (after)
			hi = m;
		else
			lo = m + 1;
	}
	/* never a later entry: it is what the number meant afterwards */
	const struct ty_descriptor *d = lo ? &t->fds[lo - 1] : NULL;
	return d && d->process == process && (uint64_t)d->fd == fd ? d : NULL;
}

const char *ty_variable_name(const struct run *r, uint32_t thread, uint64_t object)
{
	return r->store && thread < r->t.nthreads ? ty_store_object(r->store, r->t.threads[thread].process, object) : NULL;
}

const char *ty_site_object_name(const struct run *r, uint32_t site, char buf[TY_NAME_MAX])
{
	const struct ty_site *s = &r->sites.v[site];
	bool one_name = r->sites.by == TY_BY_OBJECT; /* any of its descriptors has it */
	if (site == TY_SITE_HELD || (!s->votes && !one_name) || !s->waits_all || s->object_thread >= r->t.nthreads)
		return NULL;
	const char *more = s->objects ? " and others" : "";
	if (ty_class_has_fd(s->cls)) {
		const struct ty_descriptor *d = ty_descriptor_at(
			&r->t, r->t.threads[s->object_thread].process, s->object, s->object_end);
		if (!d || !*d->name)
			return NULL;
		const char *peer = one_name && s->objects ? strstr(d->name, " <- ") : NULL;
		if (peer)
			snprintf(buf, TY_NAME_MAX, "%.*s <- its peers", (int)(peer - d->name), d->name);
		else
			snprintf(buf, TY_NAME_MAX, "%s%s", d->name, more);
		return buf;
	}
	if (s->objects || !s->object)
		return NULL;
	const char *variable = ty_variable_name(r, s->object_thread, s->object);
	if (variable)
		snprintf(buf, TY_NAME_MAX, "%s", variable);
	else
		snprintf(buf, TY_NAME_MAX, "0x%" PRIx64, s->object);
	return buf;
}

const char *ty_site_id(const struct run *r, uint32_t site, char buf[17])
{
	const struct ty_site *s = &r->sites.v[site];
	char name[TY_NAME_MAX];
	const char *parts[3] = { ty_site_operation(r, site), "", "" };
	uint64_t h = (uint64_t)r->sites.by;
	if (r->sites.by == TY_BY_FUNCTION) {
		parts[0] = "";
		parts[1] = ty_site_function(r, site, name);
	} else if (r->sites.by == TY_BY_OBJECT) {
		parts[2] = ty_site_object_name(r, site, name);
	}
	for (int i = 0; i < 3; i++)
		h = parts[i] ? XXH3_64bits_withSeed(parts[i], strlen(parts[i]) + 1, h) : h;
	const struct ty_path *p = ty_site_has_path(r, site) ? &r->t.paths[s->path] : NULL;
	for (uint16_t i = 0; p && i < p->count; i++) {
		const struct ty_frame *f = &p->frames[i];
		bool known = f->module >= 0 && (size_t)f->module < r->t.nmodules;
		const char *who = known && *r->t.modules[f->module].build_id ? r->t.modules[f->module].build_id
								       : ty_module_name(&r->t, f->module);
		if (ty_frame_hidden(&r->t, f))
			continue;
		h = XXH3_64bits_withSeed(who, strlen(who) + 1, h);
		h = XXH3_64bits_withSeed(&f->offset, sizeof f->offset, h);
	}
	snprintf(buf, 17, "%016" PRIx64, h);
	return buf;
}
