/* SPDX-License-Identifier: MIT
 *
 * Transactions on the pages of a file that is larger than the buffer pool, with
 * a plain LRU mutex or with lazy updates of the list.  Each access checks that it
 * got the page that it asked for, and some add one to the page's counter; at the
 * end the counters in the file must say how many did.  Exit status 0 if so, 1 if
 * not, 2 on wrong usage.
 */
#include "../load/load.h"
#include "pool.h"
#include <fcntl.h>
#include <getopt.h>
#include <unistd.h>

static struct {
	struct load load;
	bool lazy, cached;
	uint64_t bound_ns;
	uint32_t pages, frames, accesses, scan;
	double writes;
	const char *dir;
} o = {
	.load = {.threads = 32, .rate = 500, .seconds = 5},
	.bound_ns = LLU_BOUND_NS, .pages = 8192, .frames = 4096, .accesses = 20, .scan = 256, .writes = 0.1,
};

static struct pool pool;
static __thread struct llu_backlog backlog;
static uint64_t added, deferred, dropped; /* atomic */

static void usage(FILE *f)
{
	fprintf(f, "usage: lru [OPTION]...\n"
		   "  --lazy           a hit waits at most the bound for the LRU mutex\n"
		   "  --bound US       (default 10)\n"
		   "  --pages N        of the file, 4 KiB each (default 8192)\n"
		   "  --frames N       of the pool (default 4096)\n"
		   "  --scan N         of the oldest pages, a miss looks at so many for one that is not dirty (default 256)\n"
		   "  --cached         let the kernel cache the file; without, it is asked not to\n"
		   "  --accesses N     of a transaction (default 20)\n"
		   "  --writes PART    of them that change the page (default 0.1)\n"
		   "  --threads N      (default 32)\n"
		   "  --rate R         transactions a second that arrive, of all threads together (default 500)\n"
		   "  --seconds S, --requests N   for so long, or so many by each thread (default 5 s)\n"
		   "  --seed N         (default 1, or 1 + $TARRY_EXPERIMENT_REPETITION)\n"
		   "  --dir DIR        where the file lies (default $TMPDIR or /tmp); removed at once\n"
		   "  --latencies FILE in ns, one a line (default $TARRY_EXPERIMENT_LATENCIES)\n");
}

static void parse_options(int argc, char **argv)
{
	static const struct option names[] = {
		{"lazy", 0, 0, 'z'}, {"bound", 1, 0, 'b'}, {"pages", 1, 0, 'p'}, {"frames", 1, 0, 'm'},
		{"scan", 1, 0, 'c'}, {"cached", 0, 0, 'k'}, {"accesses", 1, 0, 'a'}, {"writes", 1, 0, 'w'}, {"threads", 1, 0, 't'},
		{"rate", 1, 0, 'r'}, {"seconds", 1, 0, 's'}, {"requests", 1, 0, 'q'}, {"seed", 1, 0, 'e'},
		{"dir", 1, 0, 'd'}, {"latencies", 1, 0, 'f'}, {"help", 0, 0, 'h'}, {0, 0, 0, 0}};
	for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
		switch (c) {
		case 'z': o.lazy = true; break;
		case 'b': o.bound_ns = (uint64_t)(load_number("lru", optarg, 0, 1e6) * 1e3); break;
		case 'p': o.pages = (uint32_t)load_number("lru", optarg, 1, 1 << 24); break;
		case 'm': o.frames = (uint32_t)load_number("lru", optarg, 2, 1 << 22); break;
		case 'c': o.scan = (uint32_t)load_number("lru", optarg, 0, 1 << 22); break;
		case 'k': o.cached = true; break;
		case 'a': o.accesses = (uint32_t)load_number("lru", optarg, 1, 1e6); break;
		case 'w': o.writes = load_number("lru", optarg, 0, 1); break;
		case 't': o.load.threads = (unsigned)load_number("lru", optarg, 1, 1024); break;
		case 'r': o.load.rate = load_number("lru", optarg, 0.01, 1e7); break;
		case 's': o.load.seconds = load_number("lru", optarg, 0, 1e6); break;
		case 'q': o.load.requests = (uint64_t)load_number("lru", optarg, 1, 1e9); break;
		case 'e': o.load.seed = (uint64_t)load_number("lru", optarg, 0, 1e15); break;
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
	if (o.frames < o.load.threads + 1) { /* each has one page pinned */
		fprintf(stderr, "lru: more frames than threads are needed\n");
		exit(2);
	}
}

/* ---- pages: their number, a counter, and filling that follows from both ---- */

static void fill_page(uint64_t *words, uint32_t page, uint64_t counter)
{
	words[0] = page + 1;
	words[1] = counter;
	for (unsigned i = 2; i < PAGE_WORDS; i++)
		words[i] = (page + 1) * 0x9e3779b97f4a7c15u + counter;
}

static bool page_good(const uint64_t *words, uint32_t page)
{
	return words[0] == page + 1 && words[2] == (page + 1) * 0x9e3779b97f4a7c15u + words[1] &&
	       words[PAGE_WORDS - 1] == words[2];
}

static bool access_page(uint32_t page, bool change)
{
	struct frame *f = pool_get(&pool, page, &backlog);
	if (!f)
		return false;
	bool good = page_good(f->words, page);
	if (good && change) {
		fill_page(f->words, page, f->words[1] + 1);
		__atomic_fetch_add(&added, 1, __ATOMIC_RELAXED);
	}
	pool_put(&pool, f, good && change);
	return good;
}

static bool transaction(unsigned thread, uint64_t number, uint64_t *random)
{
	uint64_t deferred_before = backlog.deferred, dropped_before = backlog.dropped;
	bool good = true;
	(void)thread;
	(void)number;
	for (uint32_t i = 0; i < o.accesses && good; i++) {
		double u = rnd_unit(random);
		uint32_t page = (uint32_t)((double)o.pages * u * u * 0.999999); /* the first ones are hot */
		good = access_page(page, rnd_unit(random) <= o.writes);
	}
	__atomic_fetch_add(&deferred, backlog.deferred - deferred_before, __ATOMIC_RELAXED);
	__atomic_fetch_add(&dropped, backlog.dropped - dropped_before, __ATOMIC_RELAXED);
	return good;
}

/* ---- the file ---- */

static int make_file(void)
{
	char path[4096];
	static uint64_t words[PAGE_WORDS];
	snprintf(path, sizeof path, "%s/lru.%d", o.dir, (int)getpid());
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	for (uint32_t i = 0; i < o.pages; i++) {
		fill_page(words, i, 0);
		if (pwrite(fd, words, PAGE_BYTES, (off_t)i * PAGE_BYTES) != PAGE_BYTES)
			return -1;
	}
	if (fsync(fd) != 0)
		return -1;
	int direct = o.cached ? -1 : open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (direct < 0 && !o.cached)
		fprintf(stderr, "lru: %s cannot be read without the kernel's cache\n", o.dir);
	unlink(path);
	if (direct < 0)
		return fd;
	close(fd);
	return direct;
}

static bool counters_right(int fd)
{
	uint64_t *words = aligned_alloc(PAGE_BYTES, PAGE_BYTES), sum = 0;
	bool good = words != NULL;
	for (uint32_t i = 0; i < o.pages && good; i++) {
		good = pread(fd, words, PAGE_BYTES, (off_t)i * PAGE_BYTES) == PAGE_BYTES && page_good(words, i);
		sum += good ? words[1] : 0;
	}
	free(words);
	printf("file: %s, %llu added\n", good && sum == added ? "as it should be" : "not what was written",
	       (unsigned long long)sum);
	return good && sum == added;
}

int main(int argc, char **argv)
{
	struct load_result r;
	const char *tmp = getenv("TMPDIR");
	o.dir = tmp && *tmp ? tmp : "/tmp";
	load_from_environment(&o.load);
	o.load.request = transaction;
	parse_options(argc, argv);
	int fd = make_file();
	if (fd < 0 || pool_open(&pool, fd, o.frames, o.scan, o.lazy ? o.bound_ns : UINT64_MAX) != 0) {
		perror("lru");
		return 1;
	}
	for (uint32_t i = o.pages; i-- > 0;) /* the hot ones are in the pool */
		if (!access_page(i, false))
			return 1;
	pool.hits = pool.misses = pool.written = 0;
	bool good = load_run(&o.load, &r);
	if (good)
		load_print(&r);
	printf("pool: %llu hits, %llu misses, %llu written back; %llu moves deferred, %llu dropped\n",
	       (unsigned long long)pool.hits, (unsigned long long)pool.misses, (unsigned long long)pool.written,
	       (unsigned long long)deferred, (unsigned long long)dropped);
	if (!pool_close(&pool)) {
		fprintf(stderr, "lru: the pool is not whole\n");
		good = false;
	}
	good = counters_right(fd) && good;
	close(fd);
	return !good;
}
