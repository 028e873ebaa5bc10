/* SPDX-License-Identifier: MIT
 * Error texts; used by recorder and readers, never by the traced process. */
#include "common/err.h"

#include <stdarg.h>
#include <stdio.h>

int ty_err(char *err, int code, const char *fmt, ...)
{
	if (err) {
		va_list ap;
		va_start(ap, fmt);
		vsnprintf(err, TY_ERR_MAX, fmt, ap);
		va_end(ap);
	}
	return code;
}
