/* SPDX-License-Identifier: MIT
 *
 * Transactions that commit to one log, or to that one of two logs before which
 * fewer wait.  Each log is a file of its own that flushes for itself; a number
 * that all records share puts them into one order when they are read.  Exit
 * status 0 when every commit went well and is in a log, 1 if not, 2 on wrong
 * usage.
 */
#include "../load/load.h"
#include "../wal/wal.h"
#include <getopt.h>
#include <unistd.h>

#define LOGS_MAX 8

static struct {
	struct load load;
	unsigned logs;
	size_t block, bytes;
	const char *dir;
} o = {.load = {.threads = 32, .rate = 1000, .seconds = 5}, .logs = 2, .block = 8192, .bytes = 4000};

static struct wal wal[LOGS_MAX];
static uint64_t next_sequence, committed; /* atomic */

static void usage(FILE *f)
{
	fprintf(f, "usage: twologs [OPTION]...\n"
		   "  --logs N         1 to 8 (default 2)\n"
		   "  --block BYTES    a log is written in whole blocks (default 8192)\n"
		   "  --bytes N        of a record, on average (default 4000)\n"
		   "  --threads N      (default 32)\n"
		   "  --rate R         transactions a second that arrive, of all threads together (default 1000)\n"
		   "  --seconds S, --requests N   for so long, or so many by each thread (default 5 s)\n"
		   "  --seed N         (default 1, or 1 + $TARRY_EXPERIMENT_REPETITION)\n"
		   "  --dir DIR        where the logs lie (default $TMPDIR or /tmp); removed at the end\n"
		   "  --latencies FILE in ns, one a line (default $TARRY_EXPERIMENT_LATENCIES)\n");
}

static void parse_options(int argc, char **argv)
{
	static const struct option names[] = {
		{"logs", 1, 0, 'l'}, {"block", 1, 0, 'b'}, {"bytes", 1, 0, 'n'}, {"threads", 1, 0, 't'},
		{"rate", 1, 0, 'r'}, {"seconds", 1, 0, 's'}, {"requests", 1, 0, 'q'}, {"seed", 1, 0, 'e'},
		{"dir", 1, 0, 'd'}, {"latencies", 1, 0, 'f'}, {"help", 0, 0, 'h'}, {0, 0, 0, 0}};
	for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
		switch (c) {
		case 'l': o.logs = (unsigned)load_number("twologs", optarg, 1, LOGS_MAX); break;
		case 'b': o.block = (size_t)load_number("twologs", optarg, 512, 1 << 20); break;
		case 'n': o.bytes = (size_t)load_number("twologs", optarg, 1, 1 << 16); break;
		case 't': o.load.threads = (unsigned)load_number("twologs", optarg, 1, 1024); break;
		case 'r': o.load.rate = load_number("twologs", optarg, 0.01, 1e7); break;
		case 's': o.load.seconds = load_number("twologs", optarg, 0, 1e6); break;
		case 'q': o.load.requests = (uint64_t)load_number("twologs", optarg, 1, 1e9); break;
		case 'e': o.load.seed = (uint64_t)load_number("twologs", optarg, 0, 1e15); break;
		case 'd': o.dir = optarg; break;
		case 'f': o.load.latencies = optarg; break;
		case 'h': usage(stdout); exit(0);
		default: usage(stderr); exit(2);
		}
	}
	if (optind != argc) {
		usage(stderr);
		exit(2);
	}
}

/* Of several with as few, the one that is this thread's first. */
static struct wal *shortest(unsigned thread)
{
	struct wal *best = &wal[thread % o.logs];
	for (unsigned i = 1; i < o.logs; i++) {
		struct wal *w = &wal[(thread + i) % o.logs];
		if (__atomic_load_n(&w->waiting, __ATOMIC_RELAXED) < __atomic_load_n(&best->waiting, __ATOMIC_RELAXED))
			best = w;
	}
	return best;
}

static bool transaction(unsigned thread, uint64_t number, uint64_t *random)
{
	size_t bytes = (size_t)rnd_exp(random, (double)o.bytes);
	uint64_t sequence = __atomic_fetch_add(&next_sequence, 1, __ATOMIC_RELAXED), at;
	(void)number;
	if (wal_commit(shortest(thread), sequence, bytes < 1 << 18 ? bytes : 1 << 18, &at) != 0)
		return false;
	__atomic_fetch_add(&committed, 1, __ATOMIC_RELAXED);
	return true;
}

/* ---- what is in the logs ---- */

struct seen {
	unsigned char *times; /* by sequence */
	uint64_t count;
	bool odd;
};

static void look(void *context, uint64_t sequence)
{
	struct seen *s = context;
	if (sequence >= s->count || s->times[sequence]++)
		s->odd = true;
}

static bool all_there(char path[][4096])
{
	struct seen s = {.times = calloc(1, next_sequence + 1), .count = next_sequence};
	uint64_t total = 0;
	for (unsigned i = 0; s.times && i < o.logs; i++) {
		int64_t n = wal_read(path[i], look, &s);
		printf("log %u: %lld records\n", i, (long long)n);
		total += n > 0 ? (uint64_t)n : 0;
	}
	bool good = s.times && !s.odd && total == committed && committed == next_sequence;
	if (!good)
		printf("which is not what was committed\n");
	free(s.times);
	return good;
}

int main(int argc, char **argv)
{
	static char path[LOGS_MAX][4096];
	struct load_result r;
	const char *tmp = getenv("TMPDIR");
	o.dir = tmp && *tmp ? tmp : "/tmp";
	load_from_environment(&o.load);
	o.load.request = transaction;
	parse_options(argc, argv);
	for (unsigned i = 0; i < o.logs; i++) {
		snprintf(path[i], sizeof path[i], "%s/twologs.%d.%u", o.dir, (int)getpid(), i);
		if (wal_open(&wal[i], path[i], WAL_EAGER, o.block, 0) != 0) {
			perror(path[i]);
			return 1;
		}
	}
	bool good = load_run(&o.load, &r);
	for (unsigned i = 0; i < o.logs; i++)
		if (wal_close(&wal[i]) != 0)
			good = false;
	if (good)
		load_print(&r);
	good = all_there(path) && good;
	for (unsigned i = 0; i < o.logs; i++)
		unlink(path[i]);
	return !good;
}
