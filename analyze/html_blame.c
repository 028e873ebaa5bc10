/* SPDX-License-Identifier: MIT
 *
 * Blame for the page.  It looks at the events while the requests are cut for
 * the report, so that they are read once for both.  Runs in readers.  Must stay
 * true: it says what `tarry blame` says with the same options, which has its
 * own sites, requests and order of events. */
#include "analyze/html.h"

#include <stdio.h>

#include "analyze/objects.h"
#include "analyze/where_options.h"

#define LIMIT ((size_t)96 << 20) /* of packed times; the report's and the tail's are in memory beside them */

/* For the rule that the cut is about to use; the second time what was found by the first one is dropped. */
static int begin(void *arg, bool whole, char *err)
{
	struct ty_html *h = arg;
	struct run *r = &h->blame.run;
	ty_html_blame_free(h);
	r->opt = h->run->opt;
	r->opt.top = TY_HTML_LINKS;
	r->rows.limit = LIMIT;
	int e = ty_pass_load(r, err);
	if (!e)
		e = ty_pass_names(r, err);
	r->rule = h->run->rule;
	h->blame.whole = whole;
	return !e && whole ? ty_blame_begin(&h->blame.blame, r, err) : e;
}

static int events(void *arg, const struct ty_ev *ev, size_t n, char *err)
{
	struct ty_html *h = arg;
	int e = h->blame.whole ? ty_blame_events(&h->blame.blame, ev, n) : 0;
	return e ? ty_err(err, e, TY_BLAME_FAILED, strerror(-e)) : 0;
}

void ty_html_blame_watch(struct ty_html *h)
{
	h->run->also = (struct ty_also){ begin, events, h };
}

/* Wakes before the window count, too, and the cut did not need them: all events again. */
static int read_again(struct ty_html *h, char *err)
{
	struct run *r = &h->blame.run;
	struct ty_progress progress;
	ty_progress_start(&progress, "who ended waits");
	r->progress = ty_progress_show;
	/* cppcheck-suppress autoVariables ; taken back below */
	r->progress_arg = &progress;
	int e = ty_blame_read(&h->blame.blame, r, err);
	r->progress = NULL;
	r->progress_arg = NULL;
	ty_progress_end(&progress);
	return e;
}

int ty_html_blame(struct ty_html *h, json_t **ret, char *err)
{
	struct ty_blame *b = &h->blame.blame;
	int e;
	if (!h->blame.whole) {
		e = read_again(h, err);
	} else if ((e = ty_blame_end(b)) || (e = ty_blame_finish(b))) {
		ty_err(err, e, TY_BLAME_FAILED, strerror(-e));
	}
	if (!e)
		*ret = ty_blame_object(b);
	return e;
}

void ty_html_blame_free(struct ty_html *h)
{
	ty_blame_free(&h->blame.blame);
	ty_run_free(&h->blame.run);
}
