/* SPDX-License-Identifier: MIT
 *
 * `tarry info` for people.  Runs in readers.  Must stay true: a zero that could
 * mean "nothing happened" is told apart from one that means "not measured". */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analyze/fmt.h"
#include "analyze/info.h"

#define FEW 40 /* rows of a table, unless --all */
#define MANY 100000 /* events from which on bytes an event say something */

static size_t rows(const struct ty_info *i, size_t n)
{
	return i->all || n <= FEW ? n : FEW;
}

static void left_out(const struct ty_info *i, size_t n)
{
	if (rows(i, n) < n)
		printf("  and %zu more (--all)\n", n - rows(i, n));
}

static void put_fit(const char *text, unsigned width)
{
	char buf[4 * 200 + 1];
	fputs(ty_fmt_fit(buf, sizeof buf, text, width), stdout);
}

static void fact(const char *name, const char *text)
{
	printf("  %-12s ", name);
	put_fit(text, 160);
	putchar('\n');
}

static void meta_text(const struct ty_info *i, const char *key, const char *name)
{
	const char *s = json_string_value(ty_info_meta(i, key));
	if (s && *s)
		fact(name, s);
}

static const char *text_at(json_t *list, size_t at)
{
	const char *s = json_string_value(json_array_get(list, at));
	return s ? s : "?";
}

static void put_command(const struct ty_info *i)
{
	json_t *words = ty_info_meta(i, "command");
	char line[1000], word[sizeof line];
	size_t n = 0;
	line[0] = 0;
	for (size_t at = 0; at < json_array_size(words) && n < sizeof line - 1; at++)
		n += (size_t)snprintf(line + n, sizeof line - n, "%s%s", at ? " " : "",
				      ty_fmt_word(word, sizeof word, text_at(words, at)));
	if (line[0])
		fact("command", line);
}

static void put_times(const struct ty_info *i)
{
	json_int_t real = json_integer_value(ty_info_meta(i, "start_realtime"));
	char text[64], took[TY_FMT];
	time_t t = (time_t)(real / 1000000000);
	struct tm tm;
	if (real && localtime_r(&t, &tm)) {
		strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &tm);
		fact("started", text);
	}
	if (i->end > i->start)
		fact("lasted", ty_fmt_ns(took, (double)(i->end - i->start)));
}

static void put_config(const struct ty_info *i)
{
	const char *s = json_string_value(ty_info_meta(i, "config"));
	while (s && *s) {
		char line[161];
		size_t n = strcspn(s, "\n");
		snprintf(line, sizeof line, "%.*s", (int)(n < 160 ? n : 160), s);
		fact(s == json_string_value(ty_info_meta(i, "config")) ? "config" : "", line);
		s += n + (s[n] == '\n');
	}
}

static void put_recording(const struct ty_info *i)
{
	char events[TY_FMT], bytes[TY_FMT], cores[TY_FMT];
	json_t *trimmed = ty_info_meta(i, "trimmed"), *cost = ty_info_meta(i, "recorder");
	put_fit(i->path, 100);
	printf(": ");
	put_fit(i->state, 40);
	printf(", %s event%s, %s", ty_fmt_count(events, i->events), ty_fmt_s(i->events),
	       ty_fmt_bytes(bytes, i->bytes));
	if (i->events >= MANY)
		printf(" (%.1f bytes an event)", (double)i->bytes / (double)i->events);
	putchar('\n');
	put_command(i);
	put_times(i);
	meta_text(i, "tool", "by");
	meta_text(i, "host", "host");
	meta_text(i, "kernel", "kernel");
	meta_text(i, "cpu", "cpu");
	if (json_is_integer(ty_info_meta(i, "cores")))
		fact("cores", ty_fmt_count(cores, (uint64_t)json_integer_value(ty_info_meta(i, "cores"))));
	meta_text(i, "clocksource", "clock");
	meta_text(i, "glibc", "glibc");
	meta_text(i, "requests", "requests");
	put_config(i);
	if (cost) {
		uint64_t all = (uint64_t)json_integer_value(json_object_get(cost, "cpu_ns"));
		uint64_t drain = (uint64_t)json_integer_value(json_object_get(cost, "drain_cpu_ns"));
		char a[TY_FMT], b[TY_FMT];
		printf("  %-12s %s of CPU, %s of it for events", "recorder", ty_fmt_ns(a, (double)all),
		       ty_fmt_ns(b, (double)drain));
		if (i->events >= MANY)
			printf(" (%.2f s a million)", (double)drain / 1e3 / (double)i->events);
		putchar('\n');
	}
	if (trimmed)
		printf("  %-12s the oldest %s events were dropped (--max-size, --keep)\n", "trimmed",
		       ty_fmt_count(events, (uint64_t)json_integer_value(json_object_get(trimmed, "events"))));
}

static void put_processes(const struct ty_info *i)
{
	const struct ty_tables *t = &i->run.t;
	printf("\nprocesses: %zu\n", t->nprocesses);
	for (size_t k = 0; k < rows(i, t->nprocesses); k++) {
		const struct ty_process *p = &t->processes[k];
		printf("  %7u  %-13s  ", p->pid, p->ended_waiting ? "ended waiting" : p->ended ? "ended" : "running");
		put_fit(p->cmdline[0] ? p->cmdline : p->exe, 100);
		if (p->parent >= 0)
			printf("  (%s %u)", p->forked ? "forked from" : "started by", t->processes[p->parent].pid);
		putchar('\n');
	}
	left_out(i, t->nprocesses);
}

static void put_threads(const struct ty_info *i)
{
	const struct ty_tables *t = &i->run.t;
	char a[TY_FMT], b[TY_FMT];
	printf("\nthreads: %zu\n", t->nthreads);
	printf("  %7s/%-7s  %-15s  %14s  %16s\n", "pid", "tid", "name", "events", "not recorded");
	for (size_t k = 0; k < rows(i, t->nthreads); k++) {
		const struct ty_thread_info *th = &t->threads[k];
		uint64_t events = 0, fast = 0;
		char name[4 * 15 + 1];
		for (size_t op = 0; op < t->nops; op++) {
			events += th->recorded[op];
			fast += th->fast[op];
		}
		printf("  %7u/%-7u  %-15s  %14s  %16s\n", t->processes[th->process].pid, th->tid,
		       ty_fmt_fit(name, sizeof name, th->name, 15), ty_fmt_count(a, events), ty_fmt_count(b, fast));
	}
	left_out(i, t->nthreads);
}

static void put_modules(const struct ty_info *i)
{
	printf("\nmodules: %zu (unwind rows: what call paths need)\n", i->run.t.nmodules);
	for (size_t k = 0; k < rows(i, i->run.t.nmodules); k++) {
		const struct ty_module_info *m = &i->run.t.modules[k];
		char name[4 * 60 + 1], state[4 * 50 + 1];
		printf("  %-60s  %-40s  %s", ty_fmt_fit(name, sizeof name, m->path, 60),
		       m->build_id[0] ? m->build_id : "no build-id", ty_fmt_fit(state, sizeof state, m->rows, 50));
		if (m->row_count)
			printf(", %u rows", m->row_count);
		if (m->rows_skipped)
			printf(", %u that cannot be used", m->rows_skipped);
		putchar('\n');
	}
	left_out(i, i->run.t.nmodules);
}

static void put_operations(const struct ty_info *i)
{
	char a[TY_FMT], b[TY_FMT];
	printf("\noperations: events, and calls that did not wait and were only counted\n");
	printf("  %-28s  %-8s  %14s  %16s\n", "operation", "class", "events", "not recorded");
	for (size_t k = 0; k < i->run.t.nops; k++) {
		const struct ty_op_info *o = &i->run.t.ops[k];
		if (i->recorded[k] || i->fast[k])
			printf("  %-28s  %-8s  %14s  %16s\n", o->name, o->class_name, ty_fmt_count(a, i->recorded[k]),
			       ty_fmt_count(b, i->fast[k]));
	}
}

static void put_thread_losses(const struct ty_info *i)
{
	const struct ty_tables *t = &i->run.t;
	size_t shown = 0, all = 0;
	for (size_t k = 0; k < t->nthreads; k++)
		for (size_t l = 0; l < i->nlosses; l++)
			all += t->threads[k].loss[l] != 0;
	for (size_t k = 0; k < t->nthreads && shown < rows(i, all); k++)
		for (size_t l = 0; l < i->nlosses && shown < rows(i, all); l++)
			if (t->threads[k].loss[l]) {
				printf("    thread %u/%u: %s %" PRIu64 "\n", t->processes[t->threads[k].process].pid,
				       t->threads[k].tid, i->loss[l], t->threads[k].loss[l]);
				shown++;
			}
	left_out(i, all);
}

static void put_losses(const struct ty_info *i)
{
	bool any = false;
	char n[TY_FMT], fit[4 * 32 + 1];
	printf("\nlosses:");
	for (size_t l = 0; l < i->nlosses; l++)
		if (i->lost[l]) {
			printf("%s  %-14s %14s  %s\n", any ? "" : "\n", i->loss[l], ty_fmt_count(n, i->lost[l]),
			       ty_store_loss_what(i->run.store, l));
			any = true;
		}
	json_t *more = ty_info_meta(i, "losses.recorder");
	for (void *it = json_object_iter(more); it; it = json_object_iter_next(more, it)) {
		json_int_t count = json_integer_value(json_object_iter_value(it));
		if (count) {
			printf("%s  %-14s %14s  (recorder)\n", any ? "" : "\n",
			       ty_fmt_fit(fit, sizeof fit, json_object_iter_key(it), 32), ty_fmt_count(n, (uint64_t)count));
			any = true;
		}
	}
	if (any)
		put_thread_losses(i);
	else
		printf(" none\n");
}

static void put_self_check(const struct ty_info *i)
{
	json_t *c = ty_info_meta(i, "selfcheck");
	json_int_t agree = json_integer_value(json_object_get(c, "agree"));
	json_int_t shorter = json_integer_value(json_object_get(c, "shorter"));
	json_int_t differ = json_integer_value(json_object_get(c, "differ"));
	json_int_t skipped = json_integer_value(json_object_get(c, "skipped"));
	printf("\nself-check of call paths: ");
	if (agree + shorter + differ + skipped == 0)
		printf("no samples (self_check in the configuration)\n");
	else
		printf("%" JSON_INTEGER_FORMAT " agree with libunwind, %" JSON_INTEGER_FORMAT " where it saw less, %"
		       JSON_INTEGER_FORMAT " differ, %" JSON_INTEGER_FORMAT " skipped\n", agree, shorter, differ, skipped);
}

static void put_names(const char *what, json_t *names)
{
	if (json_array_size(names) == 0)
		return;
	printf("    %-14s", what);
	for (size_t at = 0; at < json_array_size(names); at++) {
		printf("%s", at ? " " : "");
		ty_fmt_put(stdout, text_at(names, at));
	}
	putchar('\n');
}

static void put_coverage(const struct ty_info *i)
{
	json_t *c = ty_info_meta(i, "coverage"), *list = json_object_get(c, "modules");
	printf("\ncoverage: waiting functions that the program's modules import\n");
	if (!c)
		printf("  known when the recording has ended\n");
	for (size_t at = 0; at < json_array_size(list); at++) {
		json_t *m = json_array_get(list, at);
		const char *name = json_string_value(json_object_get(m, "module"));
		printf("  ");
		put_fit(name ? name : "?", 100);
		putchar('\n');
		put_names("recorded", json_object_get(m, "wrapped"));
		put_names("not recorded", json_object_get(m, "unwrapped"));
	}
	list = json_object_get(c, "unseen");
	if (json_array_size(list))
		printf("  can wait without a call that could be recorded:\n");
	for (size_t at = 0; at < json_array_size(list); at++) {
		printf("    ");
		ty_fmt_put(stdout, text_at(list, at));
		putchar('\n');
	}
}

static void put_unseen_row(const char *who, const struct ty_unseen *u)
{
	char a[TY_FMT], b[TY_FMT], c[TY_FMT], d[TY_FMT], e[TY_FMT];
	printf("  %7s  %s of %s in %" PRIu64 " thread%s (%s CPU, %s waiting for a CPU, %s recorded waits)\n", who,
	       ty_fmt_ns(a, (double)u->unseen), ty_fmt_ns(b, (double)u->wall), u->threads, ty_fmt_s(u->threads),
	       ty_fmt_ns(c, (double)u->cpu),
	       ty_fmt_ns(d, (double)u->runq), ty_fmt_ns(e, (double)u->waits));
}

static void put_unseen(const struct ty_info *i)
{
	const struct ty_tables *t = &i->run.t;
	struct ty_unseen all = { 0 };
	size_t unread = 0, seen = 0, shown = 0;
	for (size_t k = 0; k < t->nprocesses; k++) {
		const struct ty_unseen *u = &i->unseen[k];
		unread += !u->threads;
		all.threads += u->threads;
		all.wall += u->wall;
		all.cpu += u->cpu;
		all.runq += u->runq;
		all.waits += u->waits;
		all.unseen += u->unseen;
	}
	seen = t->nprocesses - unread;
	printf("\nunseen: wall time of threads that is neither CPU, nor waiting for a CPU, nor a recorded wait\n");
	if (seen > 1)
		put_unseen_row("all", &all);
	for (size_t k = 0; k < t->nprocesses && shown < rows(i, seen); k++) {
		char pid[16];
		if (!i->unseen[k].threads)
			continue;
		snprintf(pid, sizeof pid, "%u", t->processes[k].pid);
		put_unseen_row(pid, &i->unseen[k]);
		shown++;
	}
	left_out(i, seen);
	if (unread)
		printf("  could not be read for %zu of %zu process%s (too short, or no schedstat)\n", unread, t->nprocesses,
		       t->nprocesses == 1 ? "" : "es");
}

void ty_info_text(const struct ty_info *i)
{
	put_recording(i);
	put_processes(i);
	put_threads(i);
	put_modules(i);
	put_operations(i);
	ty_info_orders(i);
	put_losses(i);
	put_self_check(i);
	put_coverage(i);
	put_unseen(i);
}
