/* SPDX-License-Identifier: MIT
 * Writing protocol buffers: varints and length-delimited fields into a growing
 * buffer, and whole fields of the outermost message through gzip. */
#ifndef TY_PPROF_H
#define TY_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

struct ty_pb {
	uint8_t *v;
	size_t n, cap;
	bool bad; /* no memory: what is in it is not whole */
};
void ty_pb_varint(struct ty_pb *b, uint64_t x);
void ty_pb_int(struct ty_pb *b, unsigned field, uint64_t x); /* 0 is left out, it is the default */
void ty_pb_bytes(struct ty_pb *b, unsigned field, const void *p, size_t n);
void ty_pb_free(struct ty_pb *b);

struct ty_pb_out {
	FILE *to;
	z_stream z;
	int e; /* first failure that is not the file's own (ferror) */
};
int ty_pb_open(struct ty_pb_out *o, FILE *to);
void ty_pb_field(struct ty_pb_out *o, unsigned field, uint64_t x);
void ty_pb_text(struct ty_pb_out *o, unsigned field, const void *p, size_t n);
void ty_pb_message(struct ty_pb_out *o, unsigned field, const struct ty_pb *m);
int ty_pb_close(struct ty_pb_out *o);

#endif
