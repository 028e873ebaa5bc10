/* SPDX-License-Identifier: MIT
 * Title, headings and the end of what a command writes to standard output.  Runs in readers. */
#include "analyze/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "analyze/fmt.h"
#include "common/err.h"

void ty_output_title(const char *what, const char *store, bool recording)
{
	printf("tarry %s of ", what);
	ty_fmt_put(stdout, store);
	puts(recording ? " (still being recorded)" : "");
}

void ty_output_heading(const char *text)
{
	bool bold = isatty(STDOUT_FILENO);
	printf("\n%s%s%s\n", bold ? "\033[1m" : "", text, bold ? "\033[0m" : "");
}

int ty_output_end(int failed, char *err)
{
	/* The flush comes first: it meets the same error again and says why, which
	 * errno no longer does for one that was met long ago. */
	if (fflush(stdout))
		return ty_err(err, -EIO, "cannot write: %s", strerror(errno));
	return failed || ferror(stdout) ? ty_err(err, -EIO, "cannot write all of the output") : 0;
}
