/* SPDX-License-Identifier: MIT
 * The one way `tarry` talks to people: a line on standard error. */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include "cli/cmd.h"

void ty_say(const char *fmt, ...)
{
	char line[2048];
	int n = snprintf(line, sizeof line, "tarry: ");
	va_list ap;
	va_start(ap, fmt);
	n += vsnprintf(line + n, sizeof line - 1 - (size_t)n, fmt, ap);
	va_end(ap);
	if (n > (int)sizeof line - 2)
		n = (int)sizeof line - 2;
	line[n] = '\n';
	/* in one piece: others write to the same terminal or pipe */
	if (write(STDERR_FILENO, line, (size_t)n + 1) < 0)
		return; /* nobody listens */
}
