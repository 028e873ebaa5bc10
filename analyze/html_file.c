/* SPDX-License-Identifier: MIT
 *
 * Writes the page.  Runs in readers.  Must stay true: what stood under the
 * file's name stays until the new page is whole; nothing from a recording can
 * end the element that the data stand in. */
#include "analyze/html.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/output.h"

static bool standard_output(const char *file)
{
	return !strcmp(file, "-");
}

int ty_html_check(const struct ty_html *h, const char *store, char *err)
{
	struct stat file, other;
	if (!*h->file)
		return ty_err(err, -EINVAL, "--html: a file without a name");
	if (standard_output(h->file))
		return isatty(STDOUT_FILENO) ? ty_err(err, -EINVAL, "a page is not for a terminal: --html FILE") : 0;
	if (stat(h->file, &file))
		return 0; /* there is none yet */
	if (S_ISDIR(file.st_mode))
		return ty_err(err, -EISDIR, "cannot write %s: it is a folder", h->file);
	if (!stat(store, &other) && other.st_dev == file.st_dev && other.st_ino == file.st_ino)
		return ty_err(err, -EINVAL, "%s is the store itself", h->file);
	return 0;
}

/* JSON with these three as \u00.. is the same JSON, since they stand in texts only. */
static int put_escaped(const char *text, size_t n, void *arg)
{
	FILE *out = arg;
	for (size_t i = 0, from = 0; i <= n; i++) {
		if (i < n && text[i] != '<' && text[i] != '>' && text[i] != '&')
			continue;
		if (fwrite(text + from, 1, i - from, out) != i - from)
			return -1;
		if (i < n && fprintf(out, "\\u%04x", (unsigned char)text[i]) < 0)
			return -1;
		from = i + 1;
	}
	return 0;
}

/* ASCII only: what a name from a recording has beyond it is \u.... */
static int put_page(FILE *out, const json_t *data)
{
	const size_t flags = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17);
	struct ty_html_text before, after;
	ty_html_page(&before, &after);
	if (fwrite(before.text, 1, before.length, out) != before.length ||
	    json_dump_callback(data, put_escaped, out, flags) ||
	    fwrite(after.text, 1, after.length, out) != after.length)
		return -EIO;
	return 0;
}

/* shown: the name that the user knows. */
static int write_to(const char *file, const char *shown, const json_t *data, char *err)
{
	FILE *out = fopen(file, "we");
	if (!out)
		return ty_err(err, -errno, "cannot write %s: %s", shown, strerror(errno));
	errno = 0;
	bool bad = put_page(out, data) || fflush(out);
	int why = errno;
	if (fclose(out) && !bad) {
		bad = true;
		why = errno;
	}
	return bad ? ty_err(err, -EIO, "cannot write %s: %s", shown, strerror(why ? why : EIO)) : 0;
}

/* Modes of a file that did not exist are those that creating it would have given. */
static mode_t mode_of(const char *file)
{
	struct stat st;
	mode_t mask = umask(0);
	umask(mask);
	return stat(file, &st) ? 0666 & ~mask : st.st_mode & 0777;
}

static int write_and_rename(const char *file, const json_t *data, char *err)
{
	char *name = NULL;
	if (asprintf(&name, "%s.XXXXXX", file) < 0)
		return ty_err(err, -ENOMEM, "out of memory");
	int fd = mkostemp(name, O_CLOEXEC), e = 0;
	if (fd < 0) {
		e = ty_err(err, -errno, "cannot write %s: %s", file, strerror(errno));
	} else {
		fchmod(fd, mode_of(file));
		close(fd);
		e = write_to(name, file, data, err);
		if (!e && rename(name, file))
			e = ty_err(err, -errno, "cannot write %s: %s", file, strerror(errno));
		if (e)
			unlink(name);
	}
	free(name);
	return e;
}

int ty_html_file(const char *file, const json_t *data, char *err)
{
	char real[PATH_MAX]; /* a link stays one */
	struct stat st;
	if (standard_output(file)) {
		errno = 0;
		if (put_page(stdout, data))
			return ty_err(err, -EIO, "cannot write: %s", strerror(errno ? errno : EIO));
		return ty_output_end(0, err);
	}
	if (stat(file, &st) == 0 && !S_ISREG(st.st_mode))
		return write_to(file, file, data, err); /* a pipe, a device */
	return write_and_rename(realpath(file, real) ? real : file, data, err);
}
