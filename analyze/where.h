/* SPDX-License-Identifier: MIT
 *
 * --where: which requests a report is about.  where.c reads the expression,
 * where_bind.c looks its names up in a recording and asks it about requests.
 *
 *   expr  = both { "or" both }
 *   both  = one { "and" one }
 *   one   = "not" one | "(" expr ")" | condition
 *   condition = "site" ":" TEXT            waits where TEXT is in the operation or the call path
 *             | "class" ( "=" | ":" ) TEXT has that class; has TEXT in its class
 *             | "latency" ( "<" | "<=" | ">" | ">=" ) TIME
 *             | "thread" "=" TID | "process" "=" PID
 *             | "time" "in" T ".." T       begins and ends inside
 *   TEXT  = characters but blanks and parentheses, or "any", with \" and \\
 *   class="" is true of requests without a class */
#ifndef TY_WHERE_H
#define TY_WHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/store.h"

struct run;
struct ty_req;

enum ty_where_kind {
	TY_WHERE_OR, TY_WHERE_AND, TY_WHERE_NOT,
	TY_WHERE_SITE, TY_WHERE_CLASS, TY_WHERE_CLASS_HAS, TY_WHERE_LATENCY, TY_WHERE_THREAD, TY_WHERE_PROCESS,
	TY_WHERE_TIME,
};

struct ty_where_node {
	enum ty_where_kind kind;
	uint32_t a, b;   /* operands */
	uint32_t column; /* of its value, from 1 */
	uint64_t lo, hi; /* LATENCY, TIME: inclusive; THREAD, PROCESS: lo */
	char *text;      /* SITE, CLASS: what was asked for; TIME: first of two */
	char *text2;
	bool *path, *op; /* SITE: [npaths], [nops] TEXT occurs in it */
	int8_t *known;   /* by site or label: 0 not looked up, 1 no, 2 yes */
	size_t known_n;
};

struct ty_where {
	struct ty_where_node *v;
	size_t n, cap;
	uint32_t root;
	char *text;
};

/* 0, or -EINVAL and a line that names the column and what could stand there. */
int ty_where_parse(struct ty_where **ret, const char *text, char *err);
void ty_where_free(struct ty_where *w);

/* Looks up what the expression names; -EINVAL with the nearest names of the recording. */
int ty_where_bind(struct ty_where *w, const struct run *r, char *err);
/* Parses and binds r->opt.where into r->where. */
int ty_where_open(struct run *r, char *err);
/* Of a closed and answered request: 1 in, 0 out, or -ENOMEM. */
int ty_where_keep(struct run *r, const struct ty_req *q);

/* where_near.c: the names of a recording that are nearest to a text. */
#define TY_NEAR 3
struct ty_near {
	const char *text;
	size_t n;
	struct { unsigned distance; char name[96]; } best[TY_NEAR]; /* nearest first */
};
void ty_near_add(struct ty_near *n, const char *candidate);
/* All functions of the recording's call paths, modules of those without a name; and its operations. */
void ty_near_functions(struct ty_near *n, const struct run *r, bool operations);
void ty_near_path(struct ty_near *n, const struct run *r, uint32_t path); /* the same of one call path */
/* -EINVAL, and "WHERE: WHAT 'text' in this recording; nearest: ..." */
int ty_not_there(const char *where, const char *what, const struct ty_near *near, char *err);
/* "a, b or c"; "" if there was no candidate. */
const char *ty_near_words(const struct ty_near *n, char buf[512]);

#endif
