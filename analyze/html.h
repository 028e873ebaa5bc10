/* SPDX-License-Identifier: MIT
 *
 * `tarry report --html`: one file with all that report, tree, tail and blame
 * say, and a sample of the requests.  html.c gathers, html_sample.c chooses
 * requests, html_blame.c has who ended waits, html_file.c writes, html_page.c holds the page that the build made
 * of analyze/html/. */
#ifndef TY_HTML_H
#define TY_HTML_H

#include <jansson.h>

#include "analyze/blame.h"
#include "analyze/tail.h"

#define TY_HTML_SLOWEST 12    /* timelines */
#define TY_HTML_WHOLE 400u    /* slowest requests that the sample has all of */
#define TY_HTML_SAMPLE 3600u  /* of the others */
#define TY_HTML_SITES 24u     /* rows of the sample; what is left is one row more */
#define TY_HTML_LINKS 300u    /* pairs, root causes and chains of blame, each */
#define TY_HTML_LISTED 500u   /* sites with their call paths; what is left is summed up */

struct ty_html {
	const char *file; /* "-": standard output; NULL: no page is wanted */
	struct run *run;
	struct ty_tail tail;
	struct ty_html_blame {
		struct run run; /* links are keys of their own among the sites, hence another one */
		struct ty_blame blame;
		bool whole;     /* it has seen all the events that it needs */
	} blame;
};

/* Says early what would fail late; -EINVAL: the name makes no sense. */
int ty_html_check(const struct ty_html *h, const char *store, char *err);
/* To be called before the requests are cut; h and r must stay. */
void ty_html_watch(struct ty_html *h, struct run *r);
/* After the passes of the report. */
int ty_html_write(struct ty_html *h, struct run *r, char *err);
void ty_html_free(struct ty_html *h);

/* What a site says about requests: its part of the variance or of the time, whichever is more. */
double ty_html_weight(const struct run *r, uint32_t site);
/* Latencies of all requests: histogram and quantiles; NULL: no memory. */
json_t *ty_html_latency(const struct ty_ledger *rows);
/* Requests by latency with their times and waits by site; counts: waits, row by row as r->rows. */
int ty_html_sample(struct run *r, struct ty_ledger *counts, json_t **ret);

/* Who ended waits, from the events that the cut reads (html_blame.c). */
void ty_html_blame_watch(struct ty_html *h);
int ty_html_blame(struct ty_html *h, json_t **ret, char *err);
void ty_html_blame_free(struct ty_html *h);

/* The page around the data. */
struct ty_html_text { const char *text; size_t length; };
void ty_html_page(struct ty_html_text *before, struct ty_html_text *after);
/* Writes the page with the data to a file that appears when it is whole, or to standard output. */
int ty_html_file(const char *file, const json_t *data, char *err);

#endif
