/* SPDX-License-Identifier: MIT
 * Description: any bytes as an expression of --where: no crash, no leak, and
 * either a tree without cycles or one line of complaint that names a column
 * inside the text. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/run.h"

/* Only sub-commands print, but the library has them too. */
void ty_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void ty_say(const char *fmt, ...)
{
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ty_op_info op = { .name = "fsync", .class_name = "sync" };
	static const struct ty_module_info module = { .path = "/x/app" };
	static const struct ty_frame frame = { .offset = 16 };
	static const struct ty_path path = { .count = 1, .frames = &frame };
	static const struct ty_thread_info thread = { .tid = 7, .name = "t" };
	static const struct ty_process process = { .pid = 6 };
	struct run r = { .start = 5, .t = { .ops = &op, .nops = 1, .modules = &module, .nmodules = 1, .paths = &path,
		.npaths = 1, .threads = &thread, .nthreads = 1, .processes = &process, .nprocesses = 1 } };
	struct ty_where *w = NULL;
	char err[TY_ERR_MAX] = "";
	char *text = malloc(size + 1);
	unsigned column;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	int e = ty_where_parse(&w, text, err);
	if (e < 0) {
		if (w || strchr(err, '\n') || sscanf(err, "--where, column %u", &column) != 1 || column < 1 ||
		    column > strlen(text) + 1)
			abort();
	} else {
		if (w->root >= w->n)
			abort();
		for (size_t i = 0; i < w->n; i++) { /* operands were read before their operator */
			const struct ty_where_node *n = &w->v[i];
			if (n->kind <= TY_WHERE_NOT && (n->a >= i || (n->kind != TY_WHERE_NOT && n->b >= i)))
				abort();
		}
		err[0] = 0;
		if (ty_where_bind(w, &r, err) < 0 && (!err[0] || strchr(err, '\n')))
			abort();
	}
	ty_where_free(w);
	free(text);
	return 0;
}
