/* SPDX-License-Identifier: MIT
 *
 * Moments and quantiles of one run's latencies, and the file that a load writes
 * them into (see measure.h).  Runs in `tarry experiment`.  Must stay true:
 * memory is constant, whatever the file's length; a line that is no latency is
 * never left out silently. */
#include "experiment/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "common/err.h"
#include "common/units.h"

#define PIECE (1u << 16)
#define LINE_MAX_BYTES 64u
#define NS_MAX (1ull << 62)

int ty_latencies_add(struct ty_latencies *l, uint64_t ns)
{
	if (l->n == 0)
		l->first = ns;
	/* Differences to one of them keep the digits that the squares of large numbers would take. */
	long double d = (long double)ns - (long double)l->first;
	l->n++;
	l->sum += d;
	l->squares += d * d;
	l->own_squares += (long double)ns * (long double)ns;
	l->max = ns > l->max ? ns : l->max;
	return ty_sketch_add(&l->sketch, ns);
}

void ty_latencies_free(struct ty_latencies *l)
{
	ty_sketch_free(&l->sketch);
	memset(l, 0, sizeof *l);
}

void ty_latencies_values(const struct ty_latencies *l, double value[TY_X_COUNT], double *l2)
{
	long double n = (long double)l->n, d = l->sum / n;
	value[TY_X_MEAN] = (double)(d + (long double)l->first);
	value[TY_X_VARIANCE] = (double)fmaxl(0, l->squares / n - d * d);
	/* the sketch answers with the middle of a bucket, which may be above all that is in it */
	value[TY_X_P50] = fmin((double)ty_sketch_quantile(&l->sketch, 0.5), (double)l->max);
	value[TY_X_P99] = fmin((double)ty_sketch_quantile(&l->sketch, 0.99), (double)l->max);
	value[TY_X_P999] = fmin((double)ty_sketch_quantile(&l->sketch, 0.999), (double)l->max);
	value[TY_X_MAX] = (double)l->max;
	*l2 = (double)sqrtl(l->own_squares);
	value[TY_X_RMS] = *l2 / sqrt((double)l->n); /* as whoever reads the file of samples computes it */
}

/* ---- the file ---- */

static uint64_t unit(const char *text, size_t len)
{
	static const struct { const char *name; uint64_t ns; } units[] = {
		{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
	};
	if (len && *text == ' ')
		text++, len--;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (len == strlen(units[i].name) && memcmp(text, units[i].name, len) == 0)
			return units[i].ns;
	return 0;
}

int ty_latency_parse(const char *text, size_t len, uint64_t *ns)
{
	uint64_t whole = 0, part = 0, scale = 1, factor = 1;
	size_t i = 0, digits;
	for (; i < len && text[i] >= '0' && text[i] <= '9'; i++)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, (uint64_t)(text[i] - '0'), &whole))
			return -EINVAL;
	if (i == 0)
		return -EINVAL;
	if (i < len && text[i] == '.') {
		for (digits = ++i; i < len && text[i] >= '0' && text[i] <= '9'; i++)
			if (scale < 1000000000000000000u) { /* more digits are below what a double holds */
				part = part * 10 + (uint64_t)(text[i] - '0');
				scale *= 10;
			}
		if (i == digits)
			return -EINVAL;
	}
	if (i < len && !(factor = unit(text + i, len - i)))
		return -EINVAL;
	if (__builtin_mul_overflow(whole, factor, &whole) || whole > NS_MAX)
		return -EINVAL;
	*ns = whole + (uint64_t)llround((double)part / (double)scale * (double)factor);
	return 0;
}

static int add_line(struct ty_latencies *l, const char *text, size_t len, const char *name, char *err)
{
	uint64_t ns;
	if (len > LINE_MAX_BYTES || ty_latency_parse(text, len, &ns) < 0) {
		char line[LINE_MAX_BYTES + 1], q[TY_QUOTE];
		size_t n = len < LINE_MAX_BYTES ? len : LINE_MAX_BYTES;
		memcpy(line, text, n);
		line[n] = 0;
		return ty_err(err, -EINVAL, "%s:%llu: not a latency: '%s'", name, (unsigned long long)l->n + 1,
			      ty_quote(q, line));
	}
	return ty_latencies_add(l, ns) < 0 ? ty_err(err, -ENOMEM, "out of memory") : 0;
}

/* The whole lines of text[0, *len); what is left of it is moved to the front. */
static int add_lines(struct ty_latencies *l, char *text, size_t *len, bool last, const char *name, char *err)
{
	size_t at = 0;
	int rc = 0;
	while (rc == 0 && at < *len) {
		char *end = memchr(text + at, '\n', *len - at);
		if (!end && !last && *len - at <= LINE_MAX_BYTES)
			break;
		size_t n = end ? (size_t)(end - text) - at : *len - at;
		rc = add_line(l, text + at, n, name, err);
		at += n + 1;
	}
	*len = at < *len ? *len - at : 0;
	memmove(text, text + at, *len);
	return rc;
}

int ty_latencies_read(struct ty_latencies *l, const char *path, char *err)
{
	static char text[PIECE];
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	size_t len = 0;
	ssize_t n = 1;
	if (fd < 0 && errno == ENOENT)
		return ty_err(err, -ENOENT, "no latencies: nothing was written to TARRY_EXPERIMENT_LATENCIES");
	if (fd < 0)
		return ty_err(err, -errno, "%s: %s", name, strerror(errno));
	while (rc == 0 && n != 0) {
		n = read(fd, text + len, sizeof text - len);
		if (n < 0 && errno != EINTR)
			rc = ty_err(err, -errno, "%s: %s", name, strerror(errno));
		if (n < 0)
			continue;
		len += (size_t)n;
		rc = add_lines(l, text, &len, n == 0, name, err);
	}
	close(fd);
	if (rc == 0 && l->n == 0)
		return ty_err(err, -ENODATA, "no latencies: the file is empty");
	return rc;
}
