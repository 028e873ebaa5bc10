/* SPDX-License-Identifier: MIT
 *
 * The variance tree: a node is a call path from the outermost frame to some
 * function (or on to the wait itself), X_node the time that a request waited
 * under it.  tree_build.c makes the nodes, tree_sums.c says which have
 * sums, tree_gather.c adds them up, tree_check.c proves them, factor.c picks functions, tree_text.c
 * and tree_json.c print.  docs/ARITHMETIC.md has the formulae. */
#ifndef TY_TREE_H
#define TY_TREE_H

#include "analyze/blocks.h"
#include "analyze/run.h"

enum ty_node_kind {
	TY_NODE_ROOT,     /* the request, or --root FUNCTION */
	TY_NODE_FUNCTION,
	TY_NODE_WAIT,     /* operation; always a leaf */
	TY_NODE_RUNNING,  /* the root's body */
	TY_NODE_HELD,
	TY_NODE_NO_PATH,  /* parent of waits whose path was not taken */
	TY_NODE_CUT,      /* parent of paths whose outer frames are not known */
	TY_NODE_GONE,     /* folded away */
};

struct ty_node {
	uint32_t parent, child, next; /* first child, next sibling; 0: none, the root is 0 */
	uint32_t kids;
	uint32_t name;    /* what it is called here */
	uint32_t same;    /* what it is called wherever it occurs: function, or "function: operation" */
	uint32_t acc;     /* its sums; a node with one child has its child's */
	uint32_t site;    /* one site under it, TY_NONE: none */
	uint32_t sites;   /* that wait exactly here */
	uint16_t height;
	uint8_t kind;
	double mean, share, se; /* ns a request; Var(X) / Var(root) */
};

typedef __int128 ty_sum;

#define TY_TABLE_KIDS 4096u /* more children than that: products in a hash table */

/* Exact sums: x and x^2 of one accumulator over the requests of one block. */
struct ty_acc { ty_sum xx; int64_t x; };

/* Sums of products of siblings that are too many for a table. */
struct ty_pair_slot { ty_sum xy; uint32_t a, b; }; /* accs, a < b; b 0: free */

struct ty_pair_error { uint32_t a, b; double share, se; }; /* accs */

struct ty_tree {
	struct ty_node *v;
	size_t n, cap;
	uint32_t *slot; /* (parent, same, kind) -> node, open addressing */
	size_t slots;
	char **name;    /* [names] */
	uint64_t *hash;
	size_t names, name_cap, hash_cap;
	uint32_t *name_slot;
	size_t name_slots;
	const char *root;      /* --root as found, NULL: the request */
	char *folded;          /* "clone3 > start_thread", NULL: nothing was */
	uint32_t *leaf;        /* [nleaf] by site: its leaf's node, once laid out its acc, + 1; 0: not in the tree */
	size_t nleaf;
	uint32_t running;      /* acc, 0 when re-rooted */

	/* accumulators; 0 is the root's */
	size_t accs;
	uint32_t *up, *rank, *kids, *top; /* [accs] parent, number among siblings, children, outermost node */
	uint64_t *base;        /* [accs] first of its children's products in pair, UINT64_MAX: in pair_slot */
	ty_sum *pair;
	uint64_t pairs;
	struct ty_pair_slot *pair_slot;
	size_t pair_slots, pair_used;
	struct ty_acc *acc;    /* [blocks * accs] */
	uint32_t blocks;
	double widen;
	uint64_t n_requests;

	struct ty_pair_error *listed; /* the largest pairs first (tree_errors.c) */
	size_t nlisted, listed_cap;

	void (*progress)(void *arg, double done); /* while requests are added up; NULL: nobody looks */
	void *progress_arg;

	/* results */
	double var;            /* of the root, ns^2 */
	double mean;
	double latency_share;  /* var over the variance of latency; 1 unless re-rooted */
	double residual;       /* largest |V(parent) - V(children) - 2 C(pairs)| / V(root) */
	uint64_t checked;      /* parents */
};

/* Nodes of the sites that are in r; root: --root or NULL; fold: leave idle frames out. */
int ty_tree_build(struct ty_tree *t, const struct run *r, const char *root, bool fold, char *err);
/* Sums over the rows of r. */
int ty_tree_sums(struct ty_tree *t, struct ty_ledger *rows, char *err);
/* Shares from the sums. */
void ty_tree_shares(struct ty_tree *t);
/* Proves parent = children + 2 pairs for every parent; -EPROTO if not. */
int ty_tree_check(struct ty_tree *t, char *err);
/* Standard errors of pairs of at least that share, after ty_tree_shares. */
int ty_tree_errors(struct ty_tree *t, struct ty_ledger *rows, double least);
double ty_tree_pair_error(const struct ty_tree *t, uint32_t a, uint32_t b); /* NAN: not known */
void ty_tree_free(struct ty_tree *t);

/* n * n * Var, exact but for its last rounding. */
long double ty_moment(ty_sum xy, int64_t x, int64_t y, uint64_t n);
struct ty_acc ty_tree_acc(const struct ty_tree *t, uint32_t acc); /* over all blocks */
/* 2 Cov(a, b) / Var(root) of siblings. */
double ty_tree_pair(const struct ty_tree *t, uint32_t a, uint32_t b);
ty_sum ty_tree_products(const struct ty_tree *t, uint32_t a, uint32_t b); /* sum of x_a x_b */
/* All pairs under acc that were seen together. */
int ty_tree_each_pair(const struct ty_tree *t, int (*cb)(void *arg, uint32_t a, uint32_t b, double share), void *arg);

/* ---- factors ---- */
struct ty_place { uint32_t a, b; double share; }; /* nodes; b TY_NONE: a function */
struct ty_factor {
	uint32_t a, b;     /* names ("same"); b TY_NONE: a function */
	double share, se;  /* se NAN: not known */
	uint32_t height;
	double specificity, score;
	struct ty_place *place; /* largest first */
	size_t places;
};
struct ty_factors { struct ty_factor *v; size_t n; uint32_t height; /* of the root */ };
/* The k best whose share is at least d; all: those, too, that hold hardly more than a better one under them. */
int ty_factors(const struct ty_tree *t, size_t k, double d, bool all, struct ty_factors *ret);
void ty_factors_free(struct ty_factors *f);

/* ---- all of it ---- */
struct ty_tree_wanted {
	const char *root; /* a function, NULL: the request */
	uint32_t k;       /* factors */
	double d;         /* the least share of a factor; pairs and their errors from a fifth of that on */
	bool no_fold, all;
};
/* Tree and factors of a run whose requests are cut; both are the caller's to free, also on failure. */
int ty_tree_make(struct ty_tree *t, struct ty_factors *f, struct run *r, const struct ty_tree_wanted *a, char *err);

/* ---- output ---- */
struct ty_tree_show { uint32_t depth; double least; };
int ty_tree_text(const struct ty_tree *t, const struct ty_factors *f, const struct run *r,
		 const struct ty_tree_show *show, char *err);
int ty_tree_json(const struct ty_tree *t, const struct ty_factors *f, const struct run *r,
		 const struct ty_tree_show *show, char *err);
/* The file or peer that a site waits for; NULL: none, or none that says more than the operation. */
const char *ty_site_target(const struct run *r, uint32_t site, char buf[512]);
/* "X waits for Y in Z" */
const char *ty_factor_sentence(const struct ty_tree *t, const struct ty_factor *f, const struct run *r,
			       char *buf, size_t size);

int ty_tree_gather(struct ty_tree *t, struct ty_ledger *rows, const struct ty_blocks *blocks); /* tree_gather.c */
int ty_tree_add_product(struct ty_tree *t, uint32_t a, uint32_t b, ty_sum xy); /* of siblings whose pairs are hashed */

/* "outermost > ... > caller" of the i-th place, without what the largest places have in common. */
#define TY_PLACES 3 /* shown */
#define TY_PLACE_LEAST 0.001
const char *ty_factor_place(const struct ty_tree *t, const struct ty_factor *f, size_t i, char *buf, size_t size);

#endif
