/* SPDX-License-Identifier: MIT
 * Description: any bytes as a configuration: no crash, no leak, and either
 * settings within their ranges or one line of complaint. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ty_settings s, d;
	char err[TY_ERR_MAX] = "";

	ty_settings_default(&s);
	ty_settings_default(&d);
	if (ty_settings_parse(&s, "fuzz", (const char *)data, size, err) < 0) {
		if (!err[0] || strchr(err, '\n') || memcmp(&s, &d, sizeof s) != 0)
			abort();
		return 0;
	}
	if (s.depth < 1 || s.depth > TY_FRAMES_MAX || !s.class_mask || s.arena_bytes < 16u << 20 ||
	    s.arena_bytes > 1u << 30 || s.drain_ns < 100000 || s.drain_ns > 1000000000 ||
	    !memchr(s.only, 0, sizeof s.only) || !memchr(s.requests, 0, sizeof s.requests) || !s.requests[0])
		abort();
	ty_settings_free(&s);
	return 0;
}
