/* SPDX-License-Identifier: MIT
 * JSON values as all commands write them.  Runs in readers. */
#include "analyze/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *ty_json_real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

json_t *ty_json_integer(uint64_t x)
{
	return json_integer((json_int_t)(x > INT64_MAX ? INT64_MAX : x));
}

json_t *ty_json_text(const char *s)
{
	json_t *j = s && *s ? json_string(s) : NULL;
	if (j || !s || !*s)
		return j ? j : json_null();
	char *copy = strdup(s);
	for (char *p = copy; p && *p; p++)
		*p = (unsigned char)*p >= 0x80 ? '?' : *p;
	j = copy ? json_string(copy) : NULL;
	free(copy);
	return j ? j : json_null();
}

void ty_json_set(json_t *o, const char *key, json_t *value)
{
	json_object_set_new(o, key, value ? value : json_null());
}
