/* SPDX-License-Identifier: MIT
 * Description: any bytes as an experiment file and as a file of samples: no crash, no
 * leak, and either what can be run and judged or one line of complaint. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "experiment/judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void complaint(const char *err)
{
	if (!err[0] || strchr(err, '\n'))
		abort();
}

static void plan(const char *text, size_t size)
{
	char err[TY_ERR_MAX] = "";
	struct ty_plan p;
	if (ty_plan_parse(&p, "fuzz", text, size, err) < 0) {
		complaint(err);
		return;
	}
	if (p.nvariants < 2 || p.base >= p.nvariants || p.repetitions < 2 || !p.judged || !p.stop)
		abort();
	uint32_t *order = calloc(((size_t)p.warmup + p.repetitions) * p.nvariants, sizeof *order);
	if (order)
		ty_plan_order(&p, order);
	free(order);
	ty_plan_free(&p);
}

static void judge(const struct ty_samples *s)
{
	struct ty_judged j;
	if (ty_judge(&j, s) < 0)
		return;
	for (size_t i = 0; i < s->nvariants; i++)
		for (unsigned m = 0; i != s->base && m < TY_X_COUNT; m++) {
			const struct ty_effect *e = ty_effect(&j, i, m);
			bool told = e->verdict == TY_E_BETTER || e->verdict == TY_E_WORSE;
			if (told && !(e->p_holm <= TY_E_ALPHA && e->pairs >= TY_E_PAIRS && (e->low > 1 || e->high < 1)))
				abort();
		}
	ty_judged_free(&j);
}

static void samples(const uint8_t *data, size_t size)
{
	char err[TY_ERR_MAX] = "", path[64];
	struct ty_samples s;
	int fd = memfd_create("fuzz", 0);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (ty_samples_read(&s, path, err) < 0) {
		complaint(err);
	} else {
		judge(&s);
		ty_samples_free(&s);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	if (size && data[0] == '#')
		samples(data, size);
	else
		plan(text, size);
	free(text);
	return 0;
}
