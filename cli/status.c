/* SPDX-License-Identifier: MIT
 * Texts of the status line; pure formatting.  Numbers look as in the report. */
#include "cli/status.h"

#include <stdio.h>
#include "analyze/fmt.h"

#define EVERY_NS 250000000ull

bool ty_status_due(const struct ty_status *t, uint64_t now)
{
	return now - t->shown >= EVERY_NS;
}

bool ty_status_line(struct ty_status *t, const struct ty_summary *s, uint64_t now, char *buf, size_t size)
{
	if (!ty_status_due(t, now))
		return false;
	double rate = t->shown ? (double)(s->events - t->events) * 1e9 / (double)(now - t->shown) : 0;
	const char *unit = rate >= 1e6 ? " M" : rate >= 1e3 ? " k" : "";
	rate /= rate >= 1e6 ? 1e6 : rate >= 1e3 ? 1e3 : 1;
	char lost[TY_FMT];
	t->shown = now;
	t->events = s->events;
	snprintf(buf, size, "%.1f s  %u process%s  %u thread%s  %.1f%s events/s  %s lost",
		 (double)(now - t->began) / 1e9, s->processes, s->processes == 1 ? "" : "es", s->threads,
		 ty_fmt_s(s->threads), rate, unit, ty_fmt_count(lost, s->lost));
	return true;
}

void ty_status_sum(const char *store, const struct ty_summary *s, char *buf, size_t size)
{
	char n[4][TY_FMT];
	snprintf(buf, size, "%s: %s event%s, %s process%s, %s thread%s, %s lost", store, ty_fmt_count(n[0], s->events),
		 ty_fmt_s(s->events), ty_fmt_count(n[1], s->processes), s->processes == 1 ? "" : "es",
		 ty_fmt_count(n[2], s->threads), ty_fmt_s(s->threads), ty_fmt_count(n[3], s->lost));
}
