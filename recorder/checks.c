/* SPDX-License-Identifier: MIT
 * Sampled stacks of the self-check wait here until the frames of their path
 * have been drained, at most for a few passes; then the worker compares.
 * Recorder's main thread. */
#include <stdlib.h>
#include <string.h>
#include "recorder/recorder.h"

#define PASSES 4u

void ty_checks_add(struct ty_recorder *r, struct ty_stack *s)
{
	s->next = r->stacks;
	r->stacks = s;
}

void ty_checks_pass_end(struct ty_recorder *r)
{
	struct ty_stack *s = r->stacks, *next;
	r->stacks = NULL;
	for (; s; s = next) {
		next = s->next;
		const struct ty_raw_path *p = ty_path_raw(r, s->path);
		/* modules that a worker has not opened yet could not be unwound */
		struct ty_image *im = p && p->frame ? ty_image_get(r, p->image) : NULL;
		bool ready = im && !r->modules.pending;
		if (!ready && s->age++ < PASSES * (r->modules.pending ? 100u : 1u)) {
			ty_checks_add(r, s);
			continue;
		}
		if (ready) {
			s->ranges = ty_module_ranges(im, &s->range);
			s->frames = p->count;
			s->flags = p->flags;
			memcpy(s->frame, p->frame, p->count * sizeof *p->frame);
		}
		ty_worker_check(r->worker, s); /* without frames it counts as skipped */
	}
}

void ty_checks_free(struct ty_recorder *r)
{
	for (struct ty_stack *s = r->stacks, *next; s; s = next) {
		next = s->next;
		ty_stack_free(s);
	}
}
