/* SPDX-License-Identifier: MIT
 * Description: a disk that can lose power, as a library preloaded below tarry's: of the file POWER_LOG only
 * that is in POWER_PLATTER which had been written before a flush began that went well.  A flush takes a random
 * time (POWER_SEED).  In flush number POWER_CUT the power goes: the process is killed before anything of that
 * flush is on the platter.  From flush number POWER_DEAD on each one fails with EIO and leaves nothing there.
 * Only pwrite, fsync and fdatasync are known to it. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RANGES 65536
struct range {
	off_t at;
	size_t bytes;
};

static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int platter = -1;
static unsigned long flushes, cut, dead;
static unsigned seed;
static pthread_mutex_t writes = PTHREAD_MUTEX_INITIALIZER, flush = PTHREAD_MUTEX_INITIALIZER;
static struct range dirty[RANGES];
static size_t dirty_count;

static unsigned long number(const char *name)
{
	const char *s = getenv(name);
	return s ? strtoul(s, NULL, 10) : 0;
}

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("POWER_PLATTER");
	real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
	cut = number("POWER_CUT");
	dead = number("POWER_DEAD");
	seed = (unsigned)number("POWER_SEED");
	if (path)
		platter = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static int is_log(int fd)
{
	struct stat a, b;
	const char *path = getenv("POWER_LOG");
	return path && platter >= 0 && stat(path, &a) == 0 && fstat(fd, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static ssize_t written(int fd, const void *p, size_t n, off_t at)
{
	ssize_t r = real_pwrite(fd, p, n, at);
	if (r > 0 && is_log(fd)) {
		pthread_mutex_lock(&writes);
		if (dirty_count == RANGES)
			_exit(99);
		dirty[dirty_count++] = (struct range){at, (size_t)r};
		pthread_mutex_unlock(&writes);
	}
	return r;
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at) { return written(fd, p, n, at); }
ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at) { return written(fd, p, n, at); }

static void onto_platter(int fd, const struct range *r)
{
	char *copy = malloc(r->bytes);
	if (!copy || pread(fd, copy, r->bytes, r->at) != (ssize_t)r->bytes ||
	    real_pwrite(platter, copy, r->bytes, r->at) != (ssize_t)r->bytes)
		_exit(99);
	free(copy);
}

/* One at a time, as a later flush waits for what an earlier one has begun to write. */
static int flushed(int fd)
{
	static struct range taken[RANGES];
	pthread_mutex_lock(&flush);
	unsigned long n = ++flushes;
	pthread_mutex_lock(&writes);
	size_t count = dirty_count;
	memcpy(taken, dirty, count * sizeof *taken);
	if (!dead || n < dead)
		dirty_count = 0;
	pthread_mutex_unlock(&writes);
	nanosleep(&(struct timespec){0, 100000 + rand_r(&seed) % 2000000}, NULL);
	if (n == cut)
		syscall(SYS_kill, getpid(), SIGKILL);
	int bad = dead && n >= dead;
	for (size_t i = 0; i < count && !bad; i++)
		onto_platter(fd, &taken[i]);
	pthread_mutex_unlock(&flush);
	if (bad)
		errno = EIO;
	return bad ? -1 : 0;
}

int fsync(int fd) { return is_log(fd) ? flushed(fd) : (int)syscall(SYS_fsync, fd); }
int fdatasync(int fd) { return is_log(fd) ? flushed(fd) : (int)syscall(SYS_fdatasync, fd); }
