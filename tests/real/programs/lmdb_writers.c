// SPDX-License-Identifier: MIT
// usage: lmdb_writers FOLDER PROCESSES THREADS COMMITS
// Every thread of every process commits so often to one LMDB environment, each
// time one more to its own counter; at the end process 0 prints the sum of all
// counters.  LMDB's writer mutex is robust and shared between the processes.
#include <lmdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX = 8 };
static MDB_env *env;
static MDB_dbi dbi;
static int process, commits;

static void must(int rc, const char *what)
{
	if (!rc)
		return;
	fprintf(stderr, "%s: %s\n", what, mdb_strerror(rc));
	exit(1);
}

static void *writer(void *arg)
{
	int id[2] = {process, (int)(long)arg};
	MDB_val key = {sizeof id, id}, value;
	for (int i = 0; i < commits; i++) {
		MDB_txn *txn;
		long n = 0;
		must(mdb_txn_begin(env, NULL, 0, &txn), "begin");
		if (!mdb_get(txn, dbi, &key, &value))
			memcpy(&n, value.mv_data, sizeof n);
		n++;
		value = (MDB_val){sizeof n, &n};
		must(mdb_put(txn, dbi, &key, &value, 0), "put");
		must(mdb_txn_commit(txn), "commit");
	}
	return NULL;
}

static long sum(void)
{
	MDB_txn *txn;
	MDB_cursor *cursor;
	MDB_val key, value;
	long total = 0, n;
	must(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), "begin");
	must(mdb_cursor_open(txn, dbi, &cursor), "cursor");
	while (!mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
		memcpy(&n, value.mv_data, sizeof n);
		total += n;
	}
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	return total;
}

static void open_env(const char *path)
{
	MDB_txn *txn;
	must(mdb_env_create(&env), "create");
	must(mdb_env_set_mapsize(env, 64 << 20), "mapsize");
	must(mdb_env_open(env, path, 0, 0644), path);
	must(mdb_txn_begin(env, NULL, 0, &txn), "begin");
	must(mdb_dbi_open(txn, NULL, MDB_CREATE, &dbi), "dbi");
	must(mdb_txn_commit(txn), "commit");
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	int processes = atoi(argv[2]), threads = atoi(argv[3]), status, bad = 0;
	pthread_t t[MAX];
	pid_t child[MAX];
	commits = atoi(argv[4]);
	if (processes < 1 || processes > MAX || threads < 1 || threads > MAX)
		return 2;
	for (int p = 1; p < processes && !process; p++) // before the environment is open: LMDB wants it so
		if ((child[p] = fork()) == 0)
			process = p;
	open_env(argv[1]);
	for (long i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, writer, (void *)i))
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	if (!process) {
		for (int p = 1; p < processes; p++)
			bad |= waitpid(child[p], &status, 0) != child[p] || status;
		printf("%d processes, %d threads each: %ld commits\n", processes, threads, sum());
	}
	mdb_env_close(env);
	return bad;
}
