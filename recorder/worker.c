/* SPDX-License-Identifier: MIT
 *
 * The worker thread and its queue; see worker.h.  Runs in the recorder.  What
 * must stay true: an open ELF file is used by this thread alone until
 * ty_worker_stop() returned; a stack is checked after the maps and files it
 * needs, because the queue is in order.
 */
#include "recorder/worker.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/err.h"
#include "common/reserve.h"
#include "recorder/rows.h"
#include "recorder/selfcheck.h"

#define CHECKS_MAX 1024u /* stacks waiting; more are skipped and counted */

enum kind { BUILD, CHECK, MATCH };

struct job {
	struct job *next;
	enum kind kind;
	uint32_t module, pid;
	struct ty_module_id id;
	uint64_t start;
	struct ty_stack *stack;
	struct ty_match *match;
	char *root;
	char path[];
};

struct ty_worker {
	pthread_t thread;
	pthread_mutex_t lock; /* all down to stop */
	pthread_cond_t wake;
	struct job *head, **tail;
	struct ty_built *done, **done_tail;
	struct ty_checks checks;
	uint32_t checks_queued;
	bool stop, running;
	int answer_fd;
	/* the thread's own */
	struct ty_elf **elf; /* by module */
	size_t elfs;
	struct ty_selfcheck *check;
	struct ty_matcher *matcher; /* set before the first job */
};

static struct job *new_job(enum kind kind, const char *path)
{
	struct job *j = calloc(1, sizeof *j + (path ? strlen(path) : 0) + 1);
	if (j) {
		j->kind = kind;
		strcpy(j->path, path ? path : "");
	}
	return j;
}

static void push(struct ty_worker *w, struct job *j)
{
	pthread_mutex_lock(&w->lock);
	*w->tail = j;
	w->tail = &j->next;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

void ty_worker_build(struct ty_worker *w, uint32_t module, const struct ty_module_id *id, const char *path,
		     const char *root, uint32_t pid, uint64_t start)
{
	struct job *j = new_job(BUILD, path);
	if (!j)
		return;
	j->module = module;
	j->id = *id;
	j->pid = pid;
	j->start = start;
	j->root = strdup(root);
	push(w, j);
}

void ty_worker_orders(struct ty_worker *w, struct ty_matcher *m)
{
	w->matcher = m;
}

void ty_worker_match(struct ty_worker *w, struct ty_match *p)
{
	struct job *j = new_job(MATCH, NULL);
	if (!j) {
		free(p);
		return;
	}
	j->match = p;
	push(w, j);
}

void ty_stack_free(struct ty_stack *s)
{
	if (s)
		free(s->range);
	free(s);
}

void ty_worker_check(struct ty_worker *w, struct ty_stack *s)
{
	pthread_mutex_lock(&w->lock);
	bool full = w->checks_queued >= CHECKS_MAX;
	w->checks_queued += !full;
	pthread_mutex_unlock(&w->lock);
	struct job *j = full ? NULL : new_job(CHECK, NULL);
	if (!j) {
		pthread_mutex_lock(&w->lock);
		w->checks.skipped++;
		w->checks_queued -= !full;
		pthread_mutex_unlock(&w->lock);
		ty_stack_free(s);
		return;
	}
	j->stack = s;
	push(w, j);
}

struct ty_built *ty_worker_answer(struct ty_worker *w)
{
	pthread_mutex_lock(&w->lock);
	struct ty_built *b = w->done;
	if (b) {
		w->done = b->next;
		if (!w->done)
			w->done_tail = &w->done;
	}
	pthread_mutex_unlock(&w->lock);
	return b;
}

void ty_worker_checks(struct ty_worker *w, struct ty_checks *out)
{
	pthread_mutex_lock(&w->lock);
	*out = w->checks;
	pthread_mutex_unlock(&w->lock);
}

/* ---- the thread ---- */

/* "/proc/PID/map_files/START-END" of the mapping that begins at start. */
static void find_map_file(const struct job *j, char *path, size_t size)
{
	char dir[64], want[32];
	snprintf(dir, sizeof dir, "/proc/%u/map_files", j->pid);
	int n = snprintf(want, sizeof want, "%llx-", (unsigned long long)j->start);
	path[0] = 0;
	DIR *d = opendir(dir);
	for (struct dirent *e; d && (e = readdir(d));)
		if (strncmp(e->d_name, want, (size_t)n) == 0) {
			snprintf(path, size, "%s/%.40s", dir, e->d_name);
			break;
		}
	if (d)
		closedir(d);
}

/* The file as the process sees it; if that is gone or another build by now,
 * what the process still has mapped, as far as we may look. */
static int open_module(const struct job *j, struct ty_elf **e, char *err)
{
	char other[128], *path;
	if (asprintf(&path, "%s%s", j->root && j->path[0] == '/' ? j->root : "", j->path) < 0)
		return ty_err(err, -ENOMEM, "out of memory");
	int rc = ty_elf_open(e, path, &j->id, err);
	free(path);
	if (rc == 0 || j->path[0] != '/')
		return rc;
	snprintf(other, sizeof other, "/proc/%u/exe", j->pid);
	if (ty_elf_open(e, other, &j->id, NULL) == 0)
		return 0;
	find_map_file(j, other, sizeof other);
	return *other && ty_elf_open(e, other, &j->id, NULL) == 0 ? 0 : rc;
}

static void keep(struct ty_worker *w, uint32_t module, struct ty_elf *e)
{
	size_t had = w->elfs;
	if (ty_reserve(&w->elf, &w->elfs, module + 1, sizeof *w->elf) < 0)
		return;
	memset(w->elf + had, 0, (w->elfs - had) * sizeof *w->elf);
	w->elf[module] = e;
}

static void build(struct ty_worker *w, const struct job *j)
{
	struct ty_built *b = calloc(1, sizeof *b);
	if (!b)
		return;
	b->module = j->module;
	b->id = j->id;
	if (open_module(j, &b->elf, b->err) == 0) {
		ty_coverage_imports(b->elf, j->path, &b->imports);
		keep(w, j->module, b->elf);
		if (w->matcher)
			b->variables = ty_matcher_variables(w->matcher, b->elf, &b->variable);
		ty_rows_build(b->elf, &b->rows, &b->bytes, b->err);
	}
	pthread_mutex_lock(&w->lock);
	*w->done_tail = b;
	w->done_tail = &b->next;
	pthread_mutex_unlock(&w->lock);
	uint64_t one = 1;
	if (write(w->answer_fd, &one, sizeof one) < 0)
		return; /* the counter is full: it is readable anyway */
}

static int compare(struct ty_worker *w, const struct ty_stack *s)
{
	if (!w->check && ty_selfcheck_new(&w->check) < 0)
		return TY_CHECK_SKIPPED;
	struct ty_mapping *map = malloc((s->ranges + 1) * sizeof *map);
	if (!map)
		return TY_CHECK_SKIPPED;
	size_t n = 0;
	for (size_t i = 0; i < s->ranges; i++) {
		const struct ty_range *g = &s->range[i];
		if (g->module < w->elfs && w->elf[g->module])
			map[n++] = (struct ty_mapping){ g->start, g->end, g->base, w->elf[g->module] };
	}
	int rc = ty_selfcheck_run(w->check, map, n, s->pc, s->sp, s->bp, s->data, s->total, s->frame, s->frames,
				  s->flags);
	free(map);
	return rc;
}

static void check(struct ty_worker *w, struct ty_stack *s)
{
	int rc = s->frames ? compare(w, s) : TY_CHECK_SKIPPED;
	ty_stack_free(s);
	pthread_mutex_lock(&w->lock);
	w->checks_queued--;
	++*(rc == TY_CHECK_AGREE ? &w->checks.agree : rc == TY_CHECK_SHORTER ? &w->checks.shorter :
	    rc == TY_CHECK_DIFFER ? &w->checks.differ : &w->checks.skipped);
	pthread_mutex_unlock(&w->lock);
}

static void *run(void *arg)
{
	struct ty_worker *w = arg;
	for (;;) {
		pthread_mutex_lock(&w->lock);
		while (!w->head && !w->stop)
			pthread_cond_wait(&w->wake, &w->lock);
		struct job *j = w->head;
		if (j && !(w->head = j->next))
			w->tail = &w->head;
		pthread_mutex_unlock(&w->lock);
		if (!j)
			return NULL;
		if (j->kind == BUILD)
			build(w, j);
		else if (j->kind == MATCH)
			ty_matcher_path(w->matcher, w->elf, w->elfs, j->match);
		else
			check(w, j->stack);
		free(j->match);
		free(j->root);
		free(j);
	}
}

int ty_worker_start(struct ty_worker **ret, int answer_fd)
{
	struct ty_worker *w = calloc(1, sizeof *w);
	if (!w)
		return -ENOMEM;
	w->tail = &w->head;
	w->done_tail = &w->done;
	w->answer_fd = answer_fd;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	int rc = pthread_create(&w->thread, NULL, run, w);
	if (rc) {
		free(w);
		return -rc;
	}
	w->running = true;
	*ret = w;
	return 0;
}

void ty_worker_stop(struct ty_worker *w)
{
	if (!w->running)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	w->running = false;
}

void ty_worker_free(struct ty_worker *w)
{
	ty_worker_stop(w);
	for (struct ty_built *b; (b = ty_worker_answer(w)); free(b)) {
		ty_elf_close(b->elf);
		free(b->rows);
		free(b->variable);
	}
	ty_matcher_free(w->matcher);
	if (w->check)
		ty_selfcheck_free(w->check);
	free(w->elf);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->wake);
	free(w);
}
