/* SPDX-License-Identifier: MIT
 *
 * Reads the variants of an experiment file.  Runs in `tarry experiment`, before
 * anything is started.  Must stay true: a variant has a name that no other one
 * has, and a configuration that can be read. */
#include "experiment/plan_read.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/conf.h"
#include "common/units.h"

static const char *const variant_keys[] = { "name", "env", "arguments", "command", "config" };
#define VARIANT_KEYS (sizeof variant_keys / sizeof *variant_keys)

const char *ty_variant_key(size_t i)
{
	return i < VARIANT_KEYS ? variant_keys[i] : NULL;
}

struct reader {
	struct ty_yaml *yaml;
	struct ty_plan *plan;
	struct ty_variant *variant; /* the one being read, the plan's last */
	uint32_t seen;              /* bit per key of it */
};

static int read_words(struct reader *r, const char *what, struct ty_words *w)
{
	const char *text;
	int rc = ty_yaml_list(r->yaml, what);
	while (rc == 0 && (rc = ty_yaml_item(r->yaml, what, "a word", &text)) > 0)
		rc = ty_words_add(w, text) < 0 ? ty_plan_no_memory(r->yaml) : 0;
	return rc;
}

static int read_variable(void *arg, const char *key)
{
	struct reader *r = arg;
	struct ty_words *env = &r->variant->env;
	char q[TY_QUOTE], *pair, *name;
	size_t len = strlen(key);
	if (len == 0 || strchr(key, '='))
		return FAIL(r, "env: '%s' is no name of a variable", ty_quote(q, key));
	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], key, len) == 0 && env->v[i][len] == '=')
			return FAIL(r, "env: '%s' is given twice", ty_quote(q, key));
	int rc = ty_plan_copy(r->yaml, key, &name);
	if (rc == 0)
		rc = ty_yaml_next(r->yaml);
	const char *value = rc < 0 ? NULL : ty_yaml_text(r->yaml, "env", "text, \"\" if it is empty");
	if (rc == 0 && !value)
		rc = -EINVAL;
	if (rc == 0 && asprintf(&pair, "%s=%s", name, value) < 0)
		rc = ty_plan_no_memory(r->yaml);
	free(name);
	if (rc == 0) {
		rc = ty_words_add(env, pair) < 0 ? ty_plan_no_memory(r->yaml) : 0;
		free(pair);
	}
	return rc;
}

bool ty_plan_name_good(const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			return false;
	return n > 0 && n <= TY_PLAN_NAME_MAX;
}

static int read_name(struct reader *r)
{
	char q[TY_QUOTE];
	const char *text = ty_yaml_text(r->yaml, "name", "the name of a variant");
	if (!text)
		return -EINVAL;
	if (!ty_plan_name_good(text))
		return FAIL(r, "name: expected letters, digits, '.', '_' and '-', at most %u, not '%s'",
			    TY_PLAN_NAME_MAX, ty_quote(q, text));
	for (size_t i = 0; i + 1 < r->plan->nvariants; i++)
		if (strcmp(r->plan->variant[i].name, text) == 0)
			return FAIL(r, "name: there are two variants '%s'", text);
	return ty_plan_copy(r->yaml, text, &r->variant->name);
}

/* The file that tarry record will get, read now so that its mistakes are found now. */
static int read_config(struct reader *r)
{
	struct ty_settings s;
	char err[TY_ERR_MAX];
	const char *text = ty_yaml_text(r->yaml, "config", "the name of a configuration for tarry record");
	if (!text)
		return -EINVAL;
	ty_settings_default(&s);
	if (ty_settings_read(&s, text, err) < 0)
		return FAIL(r, "config: %s", err);
	ty_settings_free(&s);
	return ty_plan_copy(r->yaml, text, &r->variant->config);
}

static int read_variant_pair(void *arg, const char *key)
{
	struct reader *r = arg;
	size_t k = 0;
	while (k < VARIANT_KEYS && strcmp(key, variant_keys[k]) != 0)
		k++;
	if (k == VARIANT_KEYS)
		return ty_plan_unknown(r->yaml, "key of a variant", key, true);
	if (r->seen & 1u << k)
		return FAIL(r, "%s: given twice", variant_keys[k]);
	r->seen |= 1u << k;
	int rc = ty_yaml_next(r->yaml);
	if (rc < 0)
		return rc;
	struct ty_yaml_place at = ty_yaml_here(r->yaml);
	switch (k) {
	case 0:
		return read_name(r);
	case 1:
		return ty_yaml_mapping(r->yaml, "env", read_variable, r);
	case 2:
		return read_words(r, "arguments", &r->variant->arguments);
	case 3:
		rc = read_words(r, "command", &r->variant->command);
		if (rc == 0 && r->variant->command.n == 0)
			return ty_yaml_fail_at(r->yaml, at, "command: expected a program and its arguments");
		return rc;
	default:
		return read_config(r);
	}
}

int ty_plan_variants(struct ty_plan *p, struct ty_yaml *y)
{
	struct reader reader = { .yaml = y, .plan = p }, *r = &reader;
	int rc = ty_yaml_list(r->yaml, "variants");
	while (rc == 0) {
		rc = ty_yaml_next(r->yaml);
		if (rc < 0 || ty_yaml_is_list_end(r->yaml))
			break;
		if (r->plan->nvariants == TY_PLAN_VARIANTS_MAX)
			return FAIL(r, "variants: more than %u", TY_PLAN_VARIANTS_MAX);
		struct ty_yaml_place at = ty_yaml_here(r->yaml);
		void *more = realloc(r->plan->variant, (r->plan->nvariants + 1) * sizeof *r->plan->variant);
		if (!more)
			return ty_plan_no_memory(r->yaml);
		r->plan->variant = more;
		r->variant = &r->plan->variant[r->plan->nvariants++];
		memset(r->variant, 0, sizeof *r->variant);
		r->seen = 0;
		rc = ty_yaml_mapping(r->yaml, "variants", read_variant_pair, r);
		if (rc == 0 && !r->variant->name)
			return ty_yaml_fail_at(r->yaml, at, "variants: one has no name");
	}
	return rc;
}

void ty_variant_free(struct ty_variant *v)
{
	free(v->name);
	free(v->config);
	ty_words_free(&v->env);
	ty_words_free(&v->arguments);
	ty_words_free(&v->command);
}
