/* SPDX-License-Identifier: MIT
 * The end of what a command writes to standard output.  Runs in readers. */
#include "analyze/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"

int ty_output_end(int failed, char *err)
{
	/* The flush comes first: it meets the same error again and says why, which
	 * errno no longer does for one that was met long ago. */
	if (fflush(stdout))
		return ty_err(err, -EIO, "cannot write: %s", strerror(errno));
	return failed || ferror(stdout) ? ty_err(err, -EIO, "cannot write all of the output") : 0;
}
