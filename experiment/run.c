/* SPDX-License-Identifier: MIT
 *
 * One run (see run.h): setup, the program, ready, the load, stop, cleanup, and
 * then what was measured.  Runs in `tarry experiment`.  Must stay true: whatever
 * happens, what was started is ended and cleanup runs; a run of which anything
 * went wrong is failed and says why. */
#include "experiment/run.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "analyze/fmt.h"
#include "common/err.h"
#include "experiment/measure.h"

#define MS 1000000ull
#define SEC (1000 * MS)
#define LEFT_BEHIND (2 * SEC) /* for what a shell command leaves running */
#define DIED_FIRST (300 * MS) /* a load may notice the program's death before we do */
#define READY_FIRST (10 * MS)
#define READY_MOST (200 * MS)

enum { ENV_DIR, ENV_VARIANT, ENV_REPETITION, ENV_LATENCIES, ENV_PID, ENV_COUNT };

struct one_run {
	const struct ty_stage *st;
	struct ty_trial *t;
	char dir[4096], store[4200], latencies[4200];
	char *env[ENV_COUNT + 1];
	uint64_t began; /* of the program */
};

/* ---- why it failed ---- */

/* The last line of a log that says anything; "" if there is none. */
static void last_line(const struct one_run *r, const char *log, char *ret, size_t size)
{
	char path[4300], text[2048];
	snprintf(path, sizeof path, "%s/%s", r->dir, log);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	*ret = 0;
	if (fd < 0)
		return;
	off_t end = lseek(fd, 0, SEEK_END), from = end > (off_t)sizeof text - 1 ? end - (off_t)sizeof text + 1 : 0;
	ssize_t n = pread(fd, text, sizeof text - 1, from);
	close(fd);
	while (n > 0 && strchr("\n\r\t ", text[n - 1]))
		n--;
	if (n <= 0)
		return;
	text[n] = 0;
	char *line = strrchr(text, '\n');
	snprintf(ret, size, "; last output: %.*s", (int)size - 20, line ? line + 1 : text);
}

static bool failed(struct one_run *r, const char *log, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The first failure stays; always false. */
static bool failed(struct one_run *r, const char *log, const char *fmt, ...)
{
	char words[TY_WHY_MAX], line[TY_WHY_MAX] = "";
	va_list ap;
	if (r->t->why[0])
		return false;
	va_start(ap, fmt);
	vsnprintf(words, sizeof words, fmt, ap);
	va_end(ap);
	if (log)
		last_line(r, log, line, sizeof line);
	snprintf(r->t->why, sizeof r->t->why, "%.*s%.*s", TY_WHY_MAX / 2, words, TY_WHY_MAX / 2 - 1, line);
	for (char *p = r->t->why; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return false;
}

/* ---- shell commands ---- */

enum ended { ENDED, DIED, TOO_LONG, INTERRUPTED };

static bool program_ended(const struct one_run *r)
{
	const struct ty_child *p = &r->st->children->child[TY_CHILD_PROGRAM];
	return p->pid && p->ended;
}

/* Until the child ends.  watch: or the program; interrupts: or there are more than so many. */
static enum ended await(const struct one_run *r, enum ty_child_id id, uint64_t deadline, bool watch,
			unsigned interrupts)
{
	struct ty_children *c = r->st->children;
	for (;;) {
		if (c->child[id].ended)
			return ENDED;
		if (watch && program_ended(r))
			return DIED;
		if (c->interrupts > interrupts)
			return INTERRUPTED;
		if (ty_clock() >= deadline)
			return TOO_LONG;
		ty_children_turn(c, deadline);
	}
}

/* One shell command to its end; its status in *status. */
static int shell(struct one_run *r, const char *command, const char *log, uint64_t deadline, bool watch,
		 unsigned interrupts, enum ended *how, int *status)
{
	struct ty_children *c = r->st->children;
	char path[4300], *argv[] = { (char *)"sh", (char *)"-c", (char *)(uintptr_t)command, NULL };
	snprintf(path, sizeof path, "%s/%s", r->dir, log);
	struct ty_start s = { "/bin/sh", argv, { r->env, NULL }, path };
	int rc = ty_child_start(c, TY_CHILD_SHELL, &s);
	if (rc < 0) {
		failed(r, NULL, "sh cannot be started: %s", strerror(-rc));
		return rc;
	}
	*how = await(r, TY_CHILD_SHELL, deadline, watch, interrupts);
	ty_child_stop(c, TY_CHILD_SHELL, SIGTERM, LEFT_BEHIND, false);
	*status = c->child[TY_CHILD_SHELL].status;
	return 0;
}

/* setup or cleanup */
static bool prepare(struct one_run *r, const char *what, const char *command, unsigned interrupts)
{
	enum ended how;
	int status;
	char log[32];
	snprintf(log, sizeof log, "%s.log", what);
	if (!command)
		return true;
	if (shell(r, command, log, UINT64_MAX, false, interrupts, &how, &status) < 0 || how == INTERRUPTED)
		return false;
	return status == 0 || failed(r, log, "%s ended with status %d", what, status);
}

/* ---- the program ---- */

bool ty_stage_recorded(const struct ty_plan *p, uint32_t variant)
{
	return p->variant[variant].config || p->measured == TY_MEASURED_REQUESTS;
}

char **ty_stage_argv(const struct ty_stage *st, uint32_t variant, const char *store)
{
	const struct ty_variant *v = &st->plan->variant[variant];
	char *const *common = v->command.n ? v->command.v : st->command;
	size_t n = 0, most = v->arguments.n + 10;
	while (common && common[n])
		n++;
	char **argv = calloc(n + most, sizeof *argv), **at = argv;
	if (!argv)
		return NULL;
	if (ty_stage_recorded(st->plan, variant)) {
		const char *words[] = { st->self, "record", "-q", "-o", store, "-c", v->config, "--" };
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			if (v->config || (i != 5 && i != 6))
				*at++ = (char *)(uintptr_t)words[i];
	}
	for (size_t i = 0; i < n; i++)
		*at++ = common[i];
	for (size_t i = 0; i < v->arguments.n; i++)
		*at++ = v->arguments.v[i];
	return argv;
}

static bool start_program(struct one_run *r)
{
	char path[4300], **argv = ty_stage_argv(r->st, r->t->variant, r->store);
	snprintf(path, sizeof path, "%s/program.log", r->dir);
	if (!argv)
		return failed(r, NULL, "out of memory");
	struct ty_start s = { argv[0], argv, { r->env, r->st->plan->variant[r->t->variant].env.v }, path };
	r->began = ty_clock();
	int rc = ty_child_start(r->st->children, TY_CHILD_PROGRAM, &s);
	free(argv);
	if (rc < 0)
		return failed(r, NULL, "the program cannot be started: %s", strerror(-rc));
	if (asprintf(&r->env[ENV_PID], "TARRY_EXPERIMENT_PID=%d", r->st->children->child[TY_CHILD_PROGRAM].pid) < 0) {
		r->env[ENV_PID] = NULL;
		return failed(r, NULL, "out of memory");
	}
	return true;
}

static bool program_died(struct one_run *r, const char *when)
{
	const struct ty_child *p = &r->st->children->child[TY_CHILD_PROGRAM];
	if (p->signal)
		return failed(r, "program.log", "the program was killed by signal %d %s", p->signal, when);
	return failed(r, "program.log", "the program ended with status %d %s", p->status, when);
}

/* Asks until the answer is yes, less and less often. */
static bool await_ready(struct one_run *r)
{
	const struct ty_plan *p = r->st->plan;
	uint64_t deadline = ty_clock() + p->ready_timeout, pause = READY_FIRST;
	char time[TY_FMT];
	enum ended how;
	int status;
	for (;;) {
		if (shell(r, p->ready, "ready.log", deadline, true, 0, &how, &status) < 0 || how == INTERRUPTED)
			return false;
		if (how == DIED || program_ended(r))
			return program_died(r, "before it was ready");
		if (how == ENDED && status == 0)
			return true;
		if (ty_clock() >= deadline)
			return failed(r, "ready.log", "it was not ready after %s",
				      ty_fmt_ns(time, (double)p->ready_timeout));
		uint64_t until = ty_clock() + pause;
		how = await(r, TY_CHILD_PROGRAM, until < deadline ? until : deadline, true, 0);
		if (how == INTERRUPTED)
			return false;
		pause = 2 * pause < READY_MOST ? 2 * pause : READY_MOST;
	}
}

static bool put_load(struct one_run *r)
{
	const struct ty_plan *p = r->st->plan;
	uint64_t from = ty_clock();
	char time[TY_FMT];
	enum ended how;
	if (shell(r, p->load, "load.log", p->load_timeout ? from + p->load_timeout : UINT64_MAX, true, 0, &how,
		  &r->t->load) < 0 ||
	    how == INTERRUPTED)
		return false;
	if (how == DIED)
		return program_died(r, "during the load");
	if (how == TOO_LONG)
		return failed(r, "load.log", "the load did not end within %s",
			      ty_fmt_ns(time, (double)p->load_timeout));
	r->t->wall = (double)(r->st->children->child[TY_CHILD_SHELL].when - from) / 1e9;
	if (r->t->load != 0)
		await(r, TY_CHILD_PROGRAM, ty_clock() + DIED_FIRST, true, 0);
	if (program_ended(r))
		return program_died(r, "during the load");
	return r->t->load == 0 || failed(r, "load.log", "the load ended with status %d", r->t->load);
}

/* Without a load the program is the workload. */
static bool await_program(struct one_run *r)
{
	const struct ty_plan *p = r->st->plan;
	char time[TY_FMT];
	struct ty_child *child = &r->st->children->child[TY_CHILD_PROGRAM];
	uint64_t deadline = p->load_timeout ? r->began + p->load_timeout : UINT64_MAX;
	enum ended how = await(r, TY_CHILD_PROGRAM, deadline, false, 0);
	if (how == TOO_LONG)
		return failed(r, "program.log", "it did not end within %s", ty_fmt_ns(time, (double)p->load_timeout));
	if (how == INTERRUPTED)
		return false;
	r->t->wall = (double)(child->when - r->began) / 1e9;
	if (child->signal)
		return failed(r, "program.log", "the program was killed by signal %d", child->signal);
	return child->status == 0 || failed(r, "program.log", "the program ended with status %d", child->status);
}

static void stop_program(struct one_run *r, char *note)
{
	const struct ty_plan *p = r->st->plan;
	struct ty_child *child = &r->st->children->child[TY_CHILD_PROGRAM];
	char time[TY_FMT];
	if (!child->pid)
		return;
	bool killed = ty_child_stop(r->st->children, TY_CHILD_PROGRAM, p->stop, p->stop_timeout,
				    ty_stage_recorded(p, r->t->variant));
	r->t->program = child->status;
	if (killed)
		snprintf(note, TY_WHY_MAX, "it did not end within %s of SIG%s and was killed",
			 ty_fmt_ns(time, (double)p->stop_timeout), sigabbrev_np(p->stop));
	/* `tarry record` has the signal in its status */
	int sig = child->status > 128 ? child->status - 128 : 0;
	bool crashed = sig == SIGSEGV || sig == SIGABRT || sig == SIGBUS || sig == SIGFPE || sig == SIGILL;
	if (crashed && sig != p->stop)
		failed(r, "program.log", "the program was killed by signal %d when it was stopped", sig);
}

/* ---- what was measured ---- */

static void measure(struct one_run *r)
{
	const struct ty_plan *p = r->st->plan;
	struct ty_latencies l = { 0 };
	char err[TY_ERR_MAX] = "";
	if (p->measured == TY_MEASURED_TIME) {
		r->t->count = 1;
		r->t->value[TY_X_MEAN] = r->t->wall * 1e9;
		return;
	}
	int rc = p->measured == TY_MEASURED_REQUESTS ? ty_latencies_requests(&l, r->store, err) :
						       ty_latencies_read(&l, r->latencies, err);
	if (rc < 0) {
		failed(r, NULL, "%s", *err ? err : strerror(-rc));
	} else {
		r->t->count = l.n;
		ty_latencies_values(&l, r->t->value, &r->t->l2);
		r->t->value[TY_X_THROUGHPUT] = (double)l.n / r->t->wall;
	}
	ty_latencies_free(&l);
}

/* ---- the whole ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int open_run(struct one_run *r, char *err)
{
	const char *variant = r->st->plan->variant[r->t->variant].name;
	if (r->t->repetition)
		snprintf(r->dir, sizeof r->dir, "%s/%u-%s", r->st->dir, r->t->repetition, variant);
	else
		snprintf(r->dir, sizeof r->dir, "%s/warmup%u-%s", r->st->dir, r->t->warmup, variant);
	snprintf(r->store, sizeof r->store, "%s/run.tarry", r->dir);
	snprintf(r->latencies, sizeof r->latencies, "%s/latencies", r->dir);
	if (mkdir(r->dir, 0777) < 0)
		return ty_err(err, -errno, "%s: %s", r->dir, strerror(errno));
	int n = asprintf(&r->env[ENV_DIR], "TARRY_EXPERIMENT_DIR=%s", r->dir) < 0 ||
		asprintf(&r->env[ENV_VARIANT], "TARRY_EXPERIMENT_VARIANT=%s", variant) < 0 ||
		asprintf(&r->env[ENV_REPETITION], "TARRY_EXPERIMENT_REPETITION=%u", r->t->repetition) < 0 ||
		asprintf(&r->env[ENV_LATENCIES], "TARRY_EXPERIMENT_LATENCIES=%s", r->latencies) < 0;
	return n ? ty_err(err, -ENOMEM, "out of memory") : 0;
}

static void act(struct one_run *r, char *note)
{
	const struct ty_plan *p = r->st->plan;
	struct ty_children *c = r->st->children;
	bool good = prepare(r, "setup", p->setup, 0) && start_program(r);
	if (good && p->load)
		good = (!p->ready || await_ready(r)) && put_load(r);
	else if (good)
		good = await_program(r);
	stop_program(r, note);
	/* runs once more is left to clean, also when we are interrupted; the next interrupt ends it */
	prepare(r, "cleanup", p->cleanup, c->interrupts > 1 ? c->interrupts : 1);
	if (good && !c->interrupt && !r->t->why[0])
		measure(r);
}

int ty_trial_run(const struct ty_stage *st, struct ty_trial *t, char note[TY_WHY_MAX], char *err)
{
	struct one_run r = { .st = st, .t = t };
	struct timespec now;
	double load[1];
	for (unsigned m = 0; m < TY_X_COUNT; m++)
		t->value[m] = NAN;
	t->l2 = t->wall = NAN;
	t->program = t->load = -1;
	note[0] = 0;
	int rc = open_run(&r, err);
	if (rc == 0) {
		clock_gettime(CLOCK_REALTIME, &now);
		t->start = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		t->load_before = getloadavg(load, 1) == 1 ? load[0] : 0;
		act(&r, note);
		t->load_after = getloadavg(load, 1) == 1 ? load[0] : 0;
		rc = st->children->interrupt ? -EINTR : 0;
		if (!st->keep)
			nftw(r.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	}
	for (unsigned i = 0; i < ENV_COUNT; i++)
		free(r.env[i]);
	return rc;
}
