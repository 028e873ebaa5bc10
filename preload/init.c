/* SPDX-License-Identifier: MIT
 * The constructor: real functions, arena, registration.  The only place that
 * opens, maps and allocates address space, and the only one that waits: a
 * bounded time for the recorder to publish the rows of what is mapped, so that
 * the first paths are whole.  With neither TARRY_ARENA nor TARRY_STORE in the
 * environment, or on any doubt, the library stays off for good. */
#include "policies/queue.h"
#include "preload/accepted.h"
#include "preload/grant.h"
#include "preload/init.h"
#include "preload/path.h"

#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>

static int (*clock_real)(clockid_t, struct timespec *);

int ty_clock(clockid_t clock, struct timespec *t)
{
	return clock_real && clock_real(clock, t) == 0;
}

TY_HOT uint64_t ty_now(void)
{
	struct timespec t;
	if (TY_UNLIKELY(!clock_real) || clock_real(CLOCK_MONOTONIC, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- locator ---- */

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "PATH:32 hex digits" */
static int parse_locator(const char *s, char path[64], uint8_t token[16])
{
	size_t len = strnlen(s, 128);
	if (len < 34 || len >= 64 + 33 || s[len - 33] != ':')
		return 0;
	memcpy(path, s, len - 33);
	path[len - 33] = 0;
	for (int i = 0; i < 16; i++) {
		int hi = hex(s[len - 32 + 2 * i]), lo = hex(s[len - 31 + 2 * i]);
		if (hi < 0 || lo < 0)
			return 0;
		token[i] = (uint8_t)(hi << 4 | lo);
	}
	return strncmp(path, "/proc/", 6) == 0;
}

/* Another version's arena: let its recorder count us. */
static void refuse(int fd)
{
	struct ty_arena *a = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (a == MAP_FAILED)
		return;
	atomic_store_explicit(&a->refused_abi, TY_ABI, memory_order_relaxed);
	atomic_fetch_add_explicit(&a->refused, 1, memory_order_relaxed);
	munmap(a, 4096);
}

/* With a limit on address space the program comes first: what we reserve may
 * be a small part of it only, or its own threads would find no stacks. */
static int room_for(uint64_t reserve)
{
	struct rlimit r;
	return getrlimit(RLIMIT_AS, &r) == 0 && (r.rlim_cur == RLIM_INFINITY || r.rlim_cur / 8 >= reserve);
}

/* The arena behind fd, if its head says that it is this build's and ours. */
static struct ty_arena *map_checked(int fd, const uint8_t token[16])
{
	struct stat st;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < TY_PAGE)
		return NULL;
	/* one page of it: the whole struct would not fit a small stack either */
	const struct ty_arena *head = mmap(NULL, TY_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED)
		return NULL;
	struct ty_arena *a = NULL;
	uint64_t size = (uint64_t)st.st_size, reserve = head->reserve;
	if (head->magic == TY_MAGIC && memcmp(head->token, token, 16) == 0) {
		if (head->abi != TY_ABI || head->fingerprint != ty_fingerprint() || head->word_size != sizeof(void *))
			refuse(fd);
		else if (head->threads_off >= sizeof *a && head->chunk_off <= size && reserve >= size &&
			 head->threads_off + TY_THREADS * sizeof(struct ty_thread) <= head->chunk_off &&
			 (reserve - head->chunk_off) / TY_CHUNK <= TY_CHUNKS_MAX && room_for(reserve))
			a = mmap(NULL, reserve, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	}
	munmap((void *)(uintptr_t)head, TY_PAGE);
	if (!a || a == MAP_FAILED)
		return NULL;
	if (mmap(&ty_head, sizeof ty_head, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) != (void *)&ty_head) {
		munmap(a, reserve);
		return NULL;
	}
	madvise(a, reserve, MADV_DONTDUMP);
	return a;
}

static struct ty_arena *map_arena(const char *locator)
{
	char path[64];
	uint8_t token[16];
	if (!parse_locator(locator, path, token))
		return NULL;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	struct ty_arena *a = map_checked(fd, token);
	ty_real.close(fd);
	return a;
}

/* ---- this process ---- */

static int read_exe(void)
{
	ssize_t n = readlink("/proc/self/exe", ty_proc.exe, sizeof ty_proc.exe - 1);
	ty_proc.exe[n < 0 ? 0 : n] = 0;
	return n > 0;
}

/* In a PID namespace of its own a process does not know the number that the
 * recorder would have to watch.  /proc says it, if it is the recorder's /proc. */
static int known_by_pid(void)
{
	char link[16];
	ssize_t n = readlink("/proc/self", link, sizeof link - 1);
	link[n < 0 ? 0 : n] = 0;
	return atoi(link) == getpid();
}

static int wanted(const struct ty_conf *c)
{
	const char *slash = strrchr(ty_proc.exe, '/');
	if (c->only[0] && strncmp(slash ? slash + 1 : ty_proc.exe, c->only, sizeof c->only) != 0)
		return 0;
	return c->children || c->first_pid == 0 || c->first_pid == getpid();
}

static void main_stack(void)
{
	struct rlimit r;
	void *const *end = ty_real_symbol("__libc_stack_end");
	if (!end || getrlimit(RLIMIT_STACK, &r))
		return;
	uint64_t size = r.rlim_cur == RLIM_INFINITY || r.rlim_cur > 1ull << 40 ? 8u << 20 : r.rlim_cur;
	ty_proc.main_hi = ((uint64_t)(uintptr_t)*end + 16) & ~7ull;
	ty_proc.main_lo = ty_proc.main_hi - size;
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	if (here >= ty_proc.main_lo && here < ty_proc.main_hi) {
		ty_tls.lo = ty_proc.main_lo;
		ty_tls.hi = ty_proc.main_hi;
	}
}

static uint64_t new_image(void)
{
	uint64_t seed = 0;
	const void *random = (const void *)getauxval(AT_RANDOM);
	if (random)
		memcpy(&seed, random, sizeof seed);
	return ty_mix(seed ^ ty_now() ^ (uint64_t)getpid() << 40) | 1;
}

/* Wrapped names that somebody else's symbol answers: calls that pass us by. */
static uint64_t foreign_names(void)
{
	static const char *const names[] = {
#define TY_W(ret, name, ver, need, cls, body, params, args, obj, try) #name,
#include "tarry/wrap.def"
	};
	uint64_t n = 0;
	Dl_info me, it;
	if (!dladdr((void *)(uintptr_t)ty_now, &me))
		return 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *p = dlsym(RTLD_DEFAULT, names[i]);
		n += !p || !dladdr(p, &it) || it.dli_fbase != me.dli_fbase;
	}
	return n;
}

void ty_say_process(uint32_t flags, uint32_t parent)
{
	size_t len = flags & TY_P_EXEC ? strlen(ty_proc.exe) : 0;
	uint32_t bytes = (uint32_t)((sizeof(struct ty_rec_process) + len + 8) & ~(size_t)7);
	struct ty_rec_process *r = ty_ring_reserve(ty_proc.arena, ty_tls.t, &ty_tls.cursor, bytes);
	if (!r)
		return;
	memset(r, 0, bytes);
	r->w0 = TY_WORD0(TY_REC_PROCESS, 0, 0, flags, 0);
	r->words = bytes / 8;
	r->when = flags & TY_P_FORK && ty_tls.fork_at ? ty_tls.fork_at : ty_now();
	r->image = ty_proc.image;
	r->parent = parent;
	r->foreign = flags & TY_P_EXEC ? foreign_names() : 0;
	memcpy(r->exe, ty_proc.exe, len);
	ty_ring_commit(ty_proc.arena, &ty_tls.cursor, r, bytes);
}

/* Until the rows of what is mapped are there; not if nobody is at work. */
static void wait_for_rows(const struct ty_arena *a)
{
	uint64_t start = ty_now(), limit = a->conf.start_wait_ms;
	limit = (limit > 2000 ? 2000 : limit) * 1000000u;
	while (ty_module_pending()) {
		uint64_t beat = atomic_load_explicit(&a->heartbeat, memory_order_relaxed), now = ty_now();
		if (now - start > limit || now - beat > 200000000u)
			return;
		ty_real.nanosleep(&(struct timespec){ 0, 200000 }, NULL);
	}
}

static int go_live(struct ty_arena *a)
{
	struct ty_self *self = &ty_self;
	if (sysconf(_SC_PAGESIZE) != TY_PAGE || madvise(self, sizeof *self, MADV_WIPEONFORK))
		return 0;
	ty_proc.image = new_image();
	atomic_store_explicit(&ty_proc.map, ty_proc.image, memory_order_relaxed);
	ty_proc.min_path_ns = a->conf.min_path_ns;
	ty_proc.class_mask = a->conf.class_mask;
	ty_proc.self_check = a->conf.self_check;
	ty_proc.depth = a->conf.depth >= 1 && a->conf.depth <= TY_FRAMES_MAX ? a->conf.depth : TY_FRAMES_MAX;
	ty_proc.capture_bytes = a->conf.capture_bytes <= TY_BYTES_MAX ? a->conf.capture_bytes : 0;
	ty_accepted_start();
	ty_proc.pid = (uint32_t)getpid();
	ty_proc.serial = 1;
	self->serial = 1;
	self->busy = 1; /* nobody registers a child until this process is through */
	ty_proc.arena = a;
	atomic_fetch_add_explicit(&a->attached, 1, memory_order_relaxed);
	ty_thread_defaults();
	main_stack();
	struct ty_thread *t = ty_thread_claim(ty_proc.pid, (uint32_t)ty_real.syscall(SYS_gettid));
	if (t) {
		ty_say_process(TY_P_EXEC, (uint32_t)getppid());
		ty_module_startup(t);
		wait_for_rows(a);
	}
	ty_orders_start(&a->orders);
	self->arena = a;
	return 1;
}

__attribute__((constructor)) static void start(void)
{
	int saved = errno;
	ty_real_resolve();
	ty_grant_start();
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	clock_real = (int (*)(clockid_t, struct timespec *))(libc ? dlsym(libc, "clock_gettime") : NULL);
	const char *locator = secure_getenv(TY_ENV_ARENA);
	struct ty_arena *a = NULL;
	if (clock_real && read_exe()) {
		if (locator)
			a = map_arena(locator);
		else if ((locator = ty_start_recorder(secure_getenv(TY_ENV_STORE), secure_getenv(TY_ENV_CONFIG))))
			a = map_arena(locator);
		if (a && (!wanted(&a->conf) || !known_by_pid() || !go_live(a)))
			munmap(a, a->reserve);
	}
	errno = saved;
}
