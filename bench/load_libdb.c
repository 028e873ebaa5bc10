/* SPDX-License-Identifier: MIT
 * Berkeley DB under load: 8 threads, a B-tree of 200 keys, transactions that
 * read two and change two of them; a request is one that was committed.
 *   load_libdb FOLDER COUNTER */
#include <db.h>
#include <string.h>

#include "bench/load.h"

#define KEYS 200

static DB_ENV *env;
static DB *db;

static int touch(DB_TXN *txn, uint32_t n, int change)
{
	char value[100];
	DBT k = { .data = &n, .size = sizeof n }, v = { .data = value, .ulen = sizeof value, .flags = DB_DBT_USERMEM };
	int r = db->get(db, txn, &k, &v, change ? DB_RMW : 0);
	if (r != 0 || !change)
		return r;
	value[n % sizeof value]++;
	return db->put(db, txn, &k, &v, 0);
}

static int transaction(uint64_t r)
{
	DB_TXN *txn;
	int e = env->txn_begin(env, NULL, &txn, 0);
	for (int i = 0; e == 0 && i < 4; i++)
		e = touch(txn, (uint32_t)(r >> (8 * i)) % KEYS, i >= 2);
	if (e == 0)
		return txn->commit(txn, 0);
	txn->abort(txn);
	return e;
}

static void *work(void *arg)
{
	uint64_t state = (uintptr_t)arg * 0x9e3779b97f4a7c15u;
	while (!load_over) {
		int e = transaction(load_random(&state));
		if (e == 0)
			load_done();
		else
			load_check(e == DB_LOCK_DEADLOCK, db_strerror(e));
	}
	return NULL;
}

static void fill(void)
{
	char value[100] = "";
	for (uint32_t n = 0; n < KEYS; n++) {
		DBT k = { .data = &n, .size = sizeof n }, v = { .data = value, .size = sizeof value };
		load_check(db->put(db, NULL, &k, &v, 0) == 0, "put");
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	load_check(db_env_create(&env, 0) == 0, "db_env_create");
	env->set_lk_detect(env, DB_LOCK_DEFAULT);
	load_check(env->open(env, argv[1], DB_CREATE | DB_INIT_MPOOL | DB_INIT_LOCK | DB_INIT_LOG | DB_INIT_TXN |
			     DB_THREAD | DB_PRIVATE, 0600) == 0, argv[1]);
	load_check(db_create(&db, env, 0) == 0, "db_create");
	load_check(db->open(db, NULL, "keys.db", NULL, DB_BTREE, DB_CREATE | DB_THREAD | DB_AUTO_COMMIT, 0600) == 0,
		   "open");
	fill();
	load_run(argv[2], work);
	db->close(db, 0);
	env->close(env, 0);
	return 0;
}
