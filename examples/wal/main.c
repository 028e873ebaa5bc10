/* SPDX-License-Identifier: MIT
 *
 * Transactions that commit to a write-ahead log, in one of several ways, and how
 * long that takes them.  At the end the log is read back.  Exit status 0 when
 * every commit went well and is in the log, 1 if not, 2 on wrong usage.
 */
#include "../load/load.h"
#include "wal.h"
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <unistd.h>

#define THREADS_MAX 1024

static struct {
	struct load load;
	enum wal_mode mode;
	size_t block, bytes;
	uint64_t interval_ns;
	const char *dir, *log, *acks, *check;
} o = {
	.load = {.threads = 16, .rate = 400, .seconds = 5},
	.mode = WAL_EAGER, .block = 8192, .bytes = 2000, .interval_ns = 1000000000,
};

static struct wal wal;
static int acks = -1;
static uint64_t committed[THREADS_MAX]; /* by thread, its own */

static void usage(FILE *f)
{
	fprintf(f, "usage: wal [OPTION]...\n"
		   "       wal --check LOG --acks FILE\n"
		   "  --mode each|eager|lazy-flush|lazy-write   (default eager)\n"
		   "  --interval MS    of the lazy ones (default 1000)\n"
		   "  --block BYTES    the log is written in whole blocks (default 8192; not in mode each)\n"
		   "  --bytes N        of a record, on average (default 2000)\n"
		   "  --threads N      (default 16)\n"
		   "  --rate R         transactions a second that arrive, of all threads together (default 400)\n"
		   "  --seconds S, --requests N   for so long, or so many by each thread (default 5 s)\n"
		   "  --seed N         (default 1, or 1 + $TARRY_EXPERIMENT_REPETITION)\n"
		   "  --dir DIR        where the log lies (default $TMPDIR or /tmp); removed at the end\n"
		   "  --log FILE       the log, which is left there\n"
		   "  --acks FILE      what has been committed, one a line: sequence, place, CLOCK_MONOTONIC ns\n"
		   "  --check LOG      is every record of --acks FILE in this log?  Prints those that are not\n"
		   "  --latencies FILE in ns, one a line (default $TARRY_EXPERIMENT_LATENCIES)\n");
}

static enum wal_mode parse_mode(const char *text)
{
	for (enum wal_mode m = 0; m < WAL_MODES; m++)
		if (strcmp(text, wal_mode_name[m]) == 0)
			return m;
	fprintf(stderr, "wal: no mode '%s'\n", text);
	exit(2);
}

static void parse_options(int argc, char **argv)
{
	static const struct option names[] = {
		{"mode", 1, 0, 'm'}, {"interval", 1, 0, 'i'}, {"block", 1, 0, 'b'}, {"bytes", 1, 0, 'n'},
		{"threads", 1, 0, 't'}, {"rate", 1, 0, 'r'}, {"seconds", 1, 0, 's'}, {"requests", 1, 0, 'q'},
		{"seed", 1, 0, 'e'}, {"dir", 1, 0, 'd'}, {"log", 1, 0, 'l'}, {"acks", 1, 0, 'a'},
		{"check", 1, 0, 'c'}, {"latencies", 1, 0, 'f'}, {"help", 0, 0, 'h'}, {0, 0, 0, 0}};
	for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
		switch (c) {
		case 'm': o.mode = parse_mode(optarg); break;
		case 'i': o.interval_ns = (uint64_t)(load_number("wal", optarg, 0.1, 1e6) * 1e6); break;
		case 'b': o.block = (size_t)load_number("wal", optarg, 512, 1 << 20); break;
		case 'n': o.bytes = (size_t)load_number("wal", optarg, 1, 1 << 16); break;
		case 't': o.load.threads = (unsigned)load_number("wal", optarg, 1, THREADS_MAX); break;
		case 'r': o.load.rate = load_number("wal", optarg, 0.01, 1e7); break;
		case 's': o.load.seconds = load_number("wal", optarg, 0, 1e6); break;
		case 'q': o.load.requests = (uint64_t)load_number("wal", optarg, 1, 1e9); break;
		case 'e': o.load.seed = (uint64_t)load_number("wal", optarg, 0, 1e15); break;
		case 'd': o.dir = optarg; break;
		case 'l': o.log = optarg; break;
		case 'a': o.acks = optarg; break;
		case 'c': o.check = optarg; break;
		case 'f': o.load.latencies = optarg; break;
		case 'h': usage(stdout); exit(0);
		default: usage(stderr); exit(2);
		}
	}
	if (optind != argc || (o.check && !o.acks)) {
		usage(stderr);
		exit(2);
	}
}

/* ---- transactions ---- */

static bool acknowledge(uint64_t sequence, uint64_t at)
{
	char line[80];
	int n = snprintf(line, sizeof line, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sequence, at, now_ns());
	return write(acks, line, (size_t)n) == n; /* appended, so whole */
}

static bool transaction(unsigned thread, uint64_t number, uint64_t *random)
{
	size_t bytes = (size_t)rnd_exp(random, (double)o.bytes);
	uint64_t sequence = number * THREADS_MAX + thread, at;
	if (wal_commit(&wal, sequence, bytes < 1 << 18 ? bytes : 1 << 18, &at) != 0)
		return false;
	committed[thread]++;
	return acks < 0 || acknowledge(sequence, at);
}

/* ---- what is in the log ---- */

struct seen {
	uint64_t of[THREADS_MAX];
	bool odd;
};

/* Each thread's records stand in its own order. */
static void look(void *context, uint64_t sequence)
{
	struct seen *s = context;
	if (sequence / THREADS_MAX != s->of[sequence % THREADS_MAX]++)
		s->odd = true;
}

static bool all_there(const char *path)
{
	static struct seen s;
	int64_t n = wal_read(path, look, &s);
	bool good = n >= 0 && !s.odd && memcmp(s.of, committed, sizeof committed) == 0;
	printf("log: %lld records%s\n", (long long)n, good ? "" : ", which is not what was committed");
	return good;
}

static int check(void)
{
	FILE *f = fopen(o.acks, "r");
	int fd = open(o.check, O_RDONLY | O_CLOEXEC);
	uint64_t sequence, at, when, n = 0, lost = 0;
	if (!f || fd < 0) {
		perror(f ? o.check : o.acks);
		return 1;
	}
	for (; fscanf(f, "%" SCNu64 " %" SCNu64 " %" SCNu64, &sequence, &at, &when) == 3; n++)
		if (!wal_has(fd, at, sequence) && ++lost)
			printf("lost %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sequence, at, when);
	printf("%" PRIu64 " acknowledged, %" PRIu64 " lost\n", n, lost);
	fclose(f);
	close(fd);
	return lost != 0 || n == 0;
}

int main(int argc, char **argv)
{
	char path[4096];
	struct load_result r;
	const char *tmp = getenv("TMPDIR");
	o.dir = tmp && *tmp ? tmp : "/tmp";
	load_from_environment(&o.load);
	o.load.request = transaction;
	parse_options(argc, argv);
	if (o.check)
		return check();
	snprintf(path, sizeof path, "%s/wal.%d", o.dir, (int)getpid());
	if (o.acks && (acks = open(o.acks, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600)) < 0) {
		perror(o.acks);
		return 1;
	}
	if (wal_open(&wal, o.log ? o.log : path, o.mode, o.block, o.interval_ns) != 0) {
		perror(o.log ? o.log : path);
		return 1;
	}
	bool good = load_run(&o.load, &r);
	if (wal_close(&wal) != 0)
		good = false;
	if (good)
		load_print(&r);
	good = all_there(o.log ? o.log : path) && good;
	if (!o.log)
		unlink(path);
	return !good;
}
