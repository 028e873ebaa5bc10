/* SPDX-License-Identifier: MIT
 * The one way `tarry` talks to people: a line on standard error. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "analyze/fmt.h"
#include "cli/cmd.h"

/* Names of files, commands and what they say are any bytes: it stays one line, and
 * the terminal obeys none of it.  Returns the length. */
static int plain(char *line)
{
	char *to = line, *start = line;
	bool shown;
	for (size_t n; *line; line += n) {
		n = ty_fmt_character(line, &shown);
		if (shown)
			memmove(to, line, n);
		else
			*to = '?';
		to += shown ? n : 1;
	}
	*to = 0;
	return (int)(to - start);
}

void ty_say(const char *fmt, ...)
{
	char line[2048];
	int n = snprintf(line, sizeof line, "tarry: ");
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line + n, sizeof line - 1 - (size_t)n, fmt, ap);
	va_end(ap);
	n = plain(line);
	line[n] = '\n';
	/* in one piece: others write to the same terminal or pipe */
	if (write(STDERR_FILENO, line, (size_t)n + 1) < 0)
		return; /* nobody listens */
}
