/* SPDX-License-Identifier: MIT
 * Description: puts what a terminal obeys, and what ends a JSON string, behind every
 * text of a store, with checksums that are right: what nobody's tarry wrote.
 *   hostile STORE [class]    (with class also the names of classes)
 */
#include <jansson.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define BAD "\"\033]0;owned\007\r\n\x7f\xc2\x9b" "31m"
#define SUM 8

/* In the order of common/store_priv.h: checksums have the number in them. */
static const char *const names[] = { "meta", "ops", "losses", "processes", "threads", "modules", "descriptors",
	"labels", "paths", "symbols", "counters", "blocks", "objects" };
enum { META = 0, LABELS = 7, PATHS = 8, COUNTERS = 10, BLOCKS = 11, OBJECTS = 12, DBS = 13 };
static int classes;

static json_t *worse(json_t *j)
{
	const char *key;
	json_t *v, *to = j;
	size_t i;
	if (json_is_string(j))
		return json_sprintf("%s" BAD, json_string_value(j));
	if (json_is_array(j)) {
		to = json_array();
		json_array_foreach(j, i, v)
			json_array_append_new(to, worse(v));
	} else if (json_is_object(j)) {
		to = json_object();
		json_object_foreach(j, key, v)
			json_object_set_new(to, key, strcmp(key, "class") || classes ? worse(v) : json_incref(v));
	} else {
		json_incref(j);
	}
	return to;
}

/* The value of a row without its checksum -> a new one with room for one. */
static char *changed(int db, const MDB_val *v, size_t bytes, size_t *ret)
{
	char *text = NULL;
	json_t *j = NULL, *to;
	if (db == LABELS || db == OBJECTS) {
		if (asprintf(&text, "%.*s" BAD "%8s", (int)bytes, (const char *)v->mv_data, "") < 0)
			return NULL;
		*ret = strlen(text) - SUM;
		return text;
	}
	j = json_loadb(v->mv_data, bytes, JSON_DECODE_ANY, NULL);
	to = j ? worse(j) : NULL;
	char *dump = to ? json_dumps(to, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	json_decref(j);
	json_decref(to);
	if (!dump || asprintf(&text, "%s%8s", dump, "") < 0)
		return NULL;
	*ret = strlen(dump);
	free(dump);
	return text;
}

static int table(MDB_txn *t, int db)
{
	MDB_dbi d;
	MDB_cursor *c;
	MDB_val k, v;
	int rc = mdb_dbi_open(t, names[db], 0, &d);
	if (rc)
		return rc == MDB_NOTFOUND ? 0 : rc;
	rc = mdb_cursor_open(t, d, &c);
	while (!rc && !(rc = mdb_cursor_get(c, &k, &v, MDB_NEXT))) {
		char key[512];
		size_t n;
		if (db == META && k.mv_size == 8 && !memcmp(k.mv_data, "requests", 8))
			continue; /* with another rule there would be little to show */
		char *text = changed(db, &v, v.mv_size - (db == META ? 0 : SUM), &n);
		if (!text) /* a number or no JSON */
			continue;
		memcpy(key, k.mv_data, k.mv_size);
		k.mv_data = key;
		v = (MDB_val){ n + (db == META ? 0 : SUM), text };
		unsigned long long x = XXH3_64bits_withSeed(text, n, XXH3_64bits_withSeed(key, k.mv_size, (XXH64_hash_t)db));
		for (int i = 0; db != META && i < SUM; i++)
			text[n + (size_t)i] = (char)(x >> 8 * i);
		rc = mdb_cursor_put(c, &k, &v, MDB_CURRENT);
		free(text);
	}
	mdb_cursor_close(c);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

/* What the recorder lost: its own names. */
static int recorder_losses(MDB_txn *t)
{
	MDB_dbi d;
	json_t *o = json_pack("{sI}", "bad_record" BAD, (json_int_t)1234567);
	char *text = json_dumps(o, 0), key[] = "losses.recorder";
	MDB_val k = { strlen(key), key }, v = { strlen(text), text };
	int rc = mdb_dbi_open(t, "meta", 0, &d);
	rc = rc ? rc : mdb_put(t, d, &k, &v, 0);
	free(text);
	json_decref(o);
	return rc;
}

int main(int argc, char **argv)
{
	MDB_env *e;
	MDB_txn *t;
	classes = argc > 2;
	int rc = argc < 2 || mdb_env_create(&e) || mdb_env_set_maxdbs(e, 32) || mdb_env_set_mapsize(e, 1 << 28) ||
		 mdb_env_open(e, argv[1], MDB_NOSUBDIR, 0644) || mdb_txn_begin(e, NULL, 0, &t);
	for (int i = 0; !rc && i < DBS; i++)
		rc = i == PATHS || i == COUNTERS || i == BLOCKS ? 0 : table(t, i);
	rc = rc ? rc : recorder_losses(t);
	rc = rc ? rc : mdb_txn_commit(t);
	if (rc)
		fprintf(stderr, "hostile: %d %s\n", rc, mdb_strerror(rc));
	return rc != 0;
}
