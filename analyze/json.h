/* SPDX-License-Identifier: MIT
 * JSON values as all commands write them (jansson). */
#ifndef TY_JSON_H
#define TY_JSON_H

#include <jansson.h>
#include <stdint.h>

json_t *ty_json_real(double x);      /* JSON has no NaN: a number that does not exist is null */
json_t *ty_json_integer(uint64_t x); /* at most INT64_MAX */
json_t *ty_json_text(const char *s); /* any bytes: what is not UTF-8 becomes '?'; NULL and "": null */
/* Takes value over; NULL (no memory) becomes null. */
void ty_json_set(json_t *o, const char *key, json_t *value);

#endif
