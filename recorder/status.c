/* SPDX-License-Identifier: MIT
 * Texts of the status line; pure formatting, printed by cli/. */
#include "recorder/status.h"

#include <stdio.h>

#define EVERY_NS 250000000ull

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

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
	t->shown = now;
	t->events = s->events;
	snprintf(buf, size, "%.1f s  %u process%s  %u thread%s  %.1f%s events/s  %llu lost",
		 (double)(now - t->began) / 1e9, s->processes, s->processes == 1 ? "" : "es", s->threads,
		 plural(s->threads), rate, unit, (unsigned long long)s->lost);
	return true;
}

void ty_status_sum(const char *store, const struct ty_summary *s, char *buf, size_t size)
{
	snprintf(buf, size, "%s: %llu event%s, %u process%s, %u thread%s, %llu lost", store,
		 (unsigned long long)s->events, plural(s->events), s->processes, s->processes == 1 ? "" : "es",
		 s->threads, plural(s->threads), (unsigned long long)s->lost);
}
