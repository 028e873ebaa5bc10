/* SPDX-License-Identifier: MIT
 * One line for people: libraries write it, main prints it. */
#ifndef TY_ERR_H
#define TY_ERR_H

#include "common/store.h" /* TY_ERR_MAX */

/* Formats into err (TY_ERR_MAX bytes, may be NULL) and returns code unchanged. */
int ty_err(char *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
