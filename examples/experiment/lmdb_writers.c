// SPDX-License-Identifier: MIT
// usage: lmdb_writers FOLDER PROCESSES THREADS SECONDS LATENCIES
// Every thread of every process commits to one LMDB environment as fast as it
// can.  LMDB's writer mutex is robust and shared between processes, also where
// there is only one.  The time of each transaction, from before mdb_txn_begin
// to after mdb_txn_commit, goes into the file LATENCIES in ns.
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX = 64 };
static MDB_env *env;
static MDB_dbi dbi;
static int process, out;
static uint64_t end;

static void must(int rc, const char *what)
{
	if (!rc)
		return;
	fprintf(stderr, "%s: %s\n", what, mdb_strerror(rc));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *writer(void *arg)
{
	int id[2] = {process, (int)(intptr_t)arg};
	size_t size = 0;
	char *text;
	FILE *mine = open_memstream(&text, &size);
	if (!mine)
		abort();
	for (uint64_t n = 0; now_ns() < end; n++) {
		uint64_t from = now_ns();
		MDB_txn *txn;
		MDB_val key = {sizeof id, id}, value = {sizeof n, &n};
		must(mdb_txn_begin(env, NULL, 0, &txn), "begin");
		must(mdb_put(txn, dbi, &key, &value, 0), "put");
		must(mdb_txn_commit(txn), "commit");
		fprintf(mine, "%llu\n", (unsigned long long)(now_ns() - from));
	}
	fclose(mine);
	if (write(out, text, size) != (ssize_t)size) /* O_APPEND: in one piece */
		must(errno, "latencies");
	free(text);
	return NULL;
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
	pthread_t t[MAX];
	pid_t child[MAX];
	int status, bad = 0;
	if (argc != 6)
		return 2;
	int processes = atoi(argv[2]), threads = atoi(argv[3]);
	end = now_ns() + (uint64_t)(1e9 * atof(argv[4]));
	out = open(argv[5], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (out < 0 || processes < 1 || processes > MAX || threads < 1 || threads > MAX)
		return 2;
	for (int p = 1; p < processes && !process; p++) /* before the environment is open: LMDB wants it so */
		if ((child[p] = fork()) == 0)
			process = p;
	open_env(argv[1]);
	for (intptr_t i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, writer, (void *)i))
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	for (int p = 1; p < processes && !process; p++)
		bad |= waitpid(child[p], &status, 0) != child[p] || status;
	mdb_env_close(env);
	return bad;
}
