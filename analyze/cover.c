/* SPDX-License-Identifier: MIT
 *
 * What the recording could not see, as a number: for every thread whose CPU
 * and run-queue time was sampled, the wall time that neither those nor its
 * recorded waits cover.  Runs in readers. */
#include "analyze/run.h"

int ty_pass_cover(struct run *r, char *err)
{
	struct ty_unseen *u = &r->unseen;
	for (size_t i = 0; i < r->t.nthreads; i++) {
		const struct ty_thread_info *t = &r->t.threads[i];
		if (!t->sampled_ns || (r->opt.thread && t->tid != r->opt.thread) || t->process >= r->t.nprocesses ||
		    (r->opt.process && r->t.processes[t->process].pid != r->opt.process))
			continue;
		uint64_t known = t->cpu_ns + t->runq_ns + t->waits_ns;
		u->threads++;
		u->wall += t->sampled_ns;
		u->cpu += t->cpu_ns;
		u->runq += t->runq_ns;
		u->waits += t->waits_ns;
		u->unseen += t->sampled_ns > known ? t->sampled_ns - known : 0;
	}
	return 0;
}
