/* SPDX-License-Identifier: MIT
 *
 * The lower half of the report for people: call paths of the listed sites, and
 * what the recording did not see or lost.  Runs in readers. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "analyze/fmt.h"
#include "analyze/report.h"

#define TOP 10
#define LINES 40 /* of one path */

struct printer {
	const struct run *r;
	FILE *out;
	unsigned lines, left_out;
};

static int print_line(void *arg, const struct ty_line *l)
{
	struct printer *p = arg;
	char name[TY_NAME_MAX], fit[512], where[512];
	if (p->lines++ >= LINES) {
		p->left_out++;
		return 0;
	}
	const char *file = l->symbol ? l->symbol->file : NULL;
	const char *inlined = l->inlined ? "  (inlined)" : "";
	ty_fmt_fit(fit, sizeof fit, ty_line_name(p->r, l, name), 60);
	if (file && l->symbol->line)
		fprintf(p->out, "      %-60s  %s:%u%s\n", fit, ty_fmt_fit(where, sizeof where, file, 48), l->symbol->line,
			inlined);
	else if (l->symbol && l->symbol->function)
		fprintf(p->out, "      %-60s  %s%s\n", fit,
			ty_fmt_fit(where, sizeof where, ty_module_name(&p->r->t, l->frame->module), 48), inlined);
	else
		fprintf(p->out, "      %s%s\n", fit, inlined);
	return 0;
}

void ty_text_paths(const struct run *r, FILE *out)
{
	static const char *const ends[TY_PATH_KINDS] = {
		[TY_PATH_CUT] = "cut: code without unwind rules, or too deep",
		[TY_PATH_LEAF] = "only the caller: the stack's bounds are not known",
		[TY_PATH_MISS] = "cut: the unwind rules came too late",
	};
	size_t n = ty_listed(r, TOP), inside = ty_ranked_inside(r);
	for (size_t i = 0; i < n && i < inside; i++) {
		uint32_t k = r->rank[i];
		char share[TY_FMT];
		struct printer p = { r, out, 0, 0 };
		fprintf(out, "%4zu  %s", i + 1, ty_site_operation(r, k));
		if (r->rule != TY_RULE_NONE)
			fprintf(out, "  %s", ty_fmt_percent(share, r->res.site[k].share));
		fputc('\n', out);
		if (!ty_site_has_path(r, k)) {
			fprintf(out, "      [path not taken: shorter than min_path]\n");
			continue;
		}
		ty_path_each(r, r->sites.v[k].path, print_line, &p);
		if (p.left_out)
			fprintf(out, "      [%u more]\n", p.left_out);
		if (ends[r->names.kind[r->sites.v[k].path]])
			fprintf(out, "      [%s]\n", ends[r->names.kind[r->sites.v[k].path]]);
	}
}

static void text_cover(const struct run *r, FILE *out)
{
	const uint64_t *c = r->cover;
	char a[TY_FMT], b[TY_FMT];
	uint64_t due = c[TY_PATH_COMPLETE] + c[TY_PATH_CUT] + c[TY_PATH_LEAF] + c[TY_PATH_MISS];
	double of = due ? (double)due : 1;
	fprintf(out, "call paths: %s complete", ty_fmt_percent(a, due ? (double)c[TY_PATH_COMPLETE] / of : 1));
	fprintf(out, ", %s cut", ty_fmt_percent(a, (double)c[TY_PATH_CUT] / of));
	fprintf(out, ", %s caller only", ty_fmt_percent(a, (double)c[TY_PATH_LEAF] / of));
	fprintf(out, ", %s without rules, of %s wait%s", ty_fmt_percent(a, (double)c[TY_PATH_MISS] / of),
		ty_fmt_count(b, due), ty_fmt_s(due));
	fprintf(out, "; not taken for %s short one%s\n", ty_fmt_count(a, c[TY_PATH_NOT_TAKEN]), ty_fmt_s(c[TY_PATH_NOT_TAKEN]));
}

static void text_unseen(const struct run *r, FILE *out)
{
	const struct ty_unseen *u = &r->unseen;
	char a[TY_FMT], b[TY_FMT];
	if (!u->threads) {
		fprintf(out, "unseen waiting: not known (no CPU times were sampled)\n");
		return;
	}
	double of = u->wall ? (double)u->wall : 1;
	fprintf(out, "unseen waiting%s: %s", r->from || r->to != UINT64_MAX ? " (of the whole recording)" : "",
		ty_fmt_ns(a, (double)u->unseen));
	fprintf(out, ", %s of %" PRIu64 " thread%s time", ty_fmt_percent(a, (double)u->unseen / of), u->threads,
		u->threads == 1 ? "'s" : "s'");
	fprintf(out, " (%s on a CPU", ty_fmt_percent(a, (double)u->cpu / of));
	fprintf(out, ", %s waiting for one, in part inside waits", ty_fmt_percent(a, (double)u->runq / of));
	fprintf(out, ", %s in recorded waits)\n", ty_fmt_percent(b, (double)u->waits / of));
}

const char *ty_recorder_loss_what(const char *name)
{
	static const struct { const char *name, *what; } known[] = {
		{ "bad_record", "records that made no sense" },
		{ "bad_bytes", "bytes of records from such a one on in its thread, not read" },
		{ "no_memory", "events dropped by the recorder: no memory" },
		{ "path_missed", "paths whose frames never came" },
		{ "no_slot", "events of threads beyond the arena's thread slots" },
		{ "store_full", "events dropped: the store could not be written" },
		{ "store_behind", "events dropped: the disk was too slow" },
		{ "trimmed", "old events dropped by --max-size or --keep" },
		{ "rows_no_room", "modules without unwind rules: the arena was full" },
		{ "other_version", "processes with another version of the library, not recorded" },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(known[i].name, name))
			return known[i].what;
	return "";
}

/* What the recorder itself lost, for which it keeps an object of numbers. */
static bool recorder_losses(const struct run *r, FILE *out)
{
	const char *text = ty_store_meta(r->store, "losses.recorder");
	json_t *o = text ? json_loads(text, 0, NULL) : NULL, *v;
	const char *key;
	bool any = false;
	char a[TY_FMT], fit[4 * 32 + 1];
	json_object_foreach(o, key, v) {
		if (json_integer_value(v) <= 0)
			continue;
		any = true;
		fprintf(out, "%-14s %14s  %s\n", ty_fmt_fit(fit, sizeof fit, key, 32),
			ty_fmt_count(a, (uint64_t)json_integer_value(v)), ty_recorder_loss_what(key));
	}
	json_decref(o);
	return any;
}

void ty_text_losses(const struct run *r, FILE *out)
{
	const struct ty_cut_counts *c = &r->counts;
	char a[TY_FMT], b[TY_FMT];
	size_t n;
	bool any = false;
	text_cover(r, out);
	text_unseen(r, out);
	if (c->open_waits) {
		fprintf(out, "in progress at the end: %s wait%s", ty_fmt_count(a, c->open_waits), ty_fmt_s(c->open_waits));
		fprintf(out, ", %s so far; in no total above\n", ty_fmt_ns(b, (double)c->open_ns));
	}
	if (r->rule != TY_RULE_NONE)
		fprintf(out, "requests: overlap %" PRIu64 " (waits at the same time), unfinished %" PRIu64
			" (begun, not answered), late sends %" PRIu64 " (seen after their request was over)\n",
			c->overlap + c->negative, c->unfinished, c->late);
	const char *const *names = ty_store_losses(r->store, &n);
	for (size_t i = 0; i < n; i++) {
		uint64_t k = ty_sum_loss(r, i);
		if (!k)
			continue;
		any = true;
		fprintf(out, "%-14s %14s  %s\n", names[i], ty_fmt_count(a, k), ty_store_loss_what(r->store, i));
	}
	if (recorder_losses(r, out))
		any = true;
	if (!any)
		fprintf(out, "nothing was lost\n");
	if (r->stragglers)
		fprintf(out, "%-14s %14s  events that reached the store late; all were read, out of order\n", "stragglers",
			ty_fmt_count(a, r->stragglers));
}
