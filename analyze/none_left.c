/* SPDX-License-Identifier: MIT
 *
 * The pass that ends a command which was asked about requests that are not
 * there: one line with what left none, and what there would be.  Runs in
 * readers.  Must stay true: a recording that has no requests at all is no
 * mistake of the one who asks. */
#include <stdio.h>

#include "analyze/fmt.h"
#include "analyze/run.h"

static void name(char buf[128], const char *option)
{
	size_t n = strlen(buf);
	snprintf(buf + n, 128 - n, "%s%s", n ? ", " : "", option);
}

static double after_start(const struct run *r, uint64_t at)
{
	return at > r->start ? (double)(at - r->start) : 0;
}

static bool any_filter(const struct run *r)
{
	return r->where || r->opt.from || r->opt.to || r->opt.process || r->opt.thread;
}

int ty_none_left(const struct run *r, char *err)
{
	const struct ty_cut_counts *c = &r->counts;
	char by[128] = "", a[TY_FMT], b[TY_FMT], from[TY_FMT], to[TY_FMT], n[TY_FMT];
	if (r->where)
		name(by, "--where");
	if (r->opt.from)
		name(by, "--from");
	if (r->opt.to)
		name(by, "--to");
	if (r->opt.process)
		name(by, "--process");
	if (r->opt.thread)
		name(by, "--thread");
	if (!*by)
		return ty_err(err, -ENODATA, "no request of %s was finished", r->opt.store);
	if (!c->finished) /* of most rules what is outside the window is not read */
		return ty_err(err, -ENODATA, "no request of %s is left by %s; the recording lasts %s", r->opt.store, by,
			      ty_fmt_ns(a, after_start(r, ty_run_end(r))));
	return ty_err(err, -ENODATA, "no request of %s is left by %s: the %s there %s from %s to %s after the start and take"
		      " %s to %s", r->opt.store, by, ty_fmt_count(n, c->finished), c->finished == 1 ? "is" : "are",
		      ty_fmt_ns(from, after_start(r, c->earliest)), ty_fmt_ns(to, after_start(r, c->latest)),
		      ty_fmt_ns(a, (double)c->fastest), ty_fmt_ns(b, (double)c->slowest));
}

int ty_pass_left(struct run *r, char *err)
{
	return r->rule == TY_RULE_NONE || r->rows.n || !any_filter(r) ? 0 : ty_none_left(r, err);
}
