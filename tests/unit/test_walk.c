/* SPDX-License-Identifier: MIT
 *
 * The walk of include/tarry/walk.h against libgcc's unwinder, on stacks of code
 * compiled here in several ways: alloca, VLA, realigned frames, signals,
 * threads, callbacks from libc; and code interrupted anywhere.
 */
#include <errno.h>
#include <CUnit/Basic.h>
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include "tests/unit/walk_self.h"

/* One step: every bound. */
static __attribute__((noinline)) int step(uint32_t rule, uint64_t *st, uint64_t *sp, uint64_t *bp, int *known,
					  int exact, unsigned words)
{
	uint64_t pc = 0x1234;
	return ty_walk_step(rule, &pc, sp, bp, known, &exact, (uint64_t)(uintptr_t)st,
			    (uint64_t)(uintptr_t)(st + words));
}

static void test_step(void)
{
	static uint64_t st[64];
	uint64_t at = (uint64_t)(uintptr_t)st, sp = at, bp = 5;
	int known = 1;
	st[1] = 77, st[2] = 88;
	CU_ASSERT_EQUAL(step(ty_rule(TY_RULE_SP, 3, 1, -2), st, &sp, &bp, &known, 0, 64), TY_WALK_NEXT);
	CU_ASSERT(sp == at + 24 && bp == 77 && known);
#define REFUSED(rule, sp0, bp0, known0, words, why)                                                          \
	sp = (sp0), bp = (bp0), known = (known0);                                                            \
	CU_ASSERT_EQUAL(step((rule), st, &sp, &bp, &known, 0, (words)), (why));                              \
	CU_ASSERT(sp == (sp0) && bp == (bp0) && known == (known0))
	REFUSED(ty_rule(TY_RULE_SP, 9, 0, 0), at, 5, 1, 8, TY_WALK_BOUNDS);        /* CFA above the stack */
	REFUSED(ty_rule(TY_RULE_SP, 0, 0, 0), at + 8, 5, 1, 64, TY_WALK_BOUNDS);   /* no progress */
	REFUSED(ty_rule(TY_RULE_SP, -1, 0, 0), at + 16, 5, 1, 64, TY_WALK_BOUNDS); /* downwards */
	REFUSED(ty_rule(TY_RULE_SP, 1, 0, 0), at + 4, 5, 1, 64, TY_WALK_BOUNDS);   /* unaligned */
	REFUSED(ty_rule(TY_RULE_SP, 2, 1, 1), at, 5, 1, 3, TY_WALK_BOUNDS);   /* BP saved above the stack */
	REFUSED(ty_rule(TY_RULE_SP, 2, 1, -3), at, 5, 1, 64, TY_WALK_BOUNDS); /* BP saved below it */
	REFUSED(ty_rule(TY_RULE_BP, 2, 0, 0), at, at, 0, 64, TY_WALK_NO_BP);
	REFUSED(ty_rule(TY_RULE_BPREF, 0, 0, 0), at, at, 0, 64, TY_WALK_NO_BP);
	REFUSED(ty_rule(TY_RULE_BP, 2, 0, 0), at, at + 8 * 63, 1, 64, TY_WALK_BOUNDS);
	REFUSED(ty_rule(TY_RULE_BPREF, 0, 0, 0), at, at + 8 * 64, 1, 64, TY_WALK_BOUNDS);
	REFUSED(ty_rule(TY_RULE_BPREF, 0, 0, 0), at, 0x10, 1, 64, TY_WALK_BOUNDS);
	REFUSED(ty_rule(TY_RULE_SIGNAL, 0, 0, 0), at, 5, 1, 21, TY_WALK_BOUNDS); /* frame cut off */
	st[0xa0 / 8] = at + 8 * 64; /* the interrupted code ran on another stack */
	REFUSED(ty_rule(TY_RULE_SIGNAL, 0, 0, 0), at, 5, 1, 64, TY_WALK_BOUNDS);
	REFUSED(ty_rule(TY_RULE_STOP, 0, 0, 0), at, 5, 1, 64, TY_WALK_NO_RULE);
	REFUSED(ty_rule(TY_RULE_END, 0, 0, 0), at, 5, 1, 64, TY_WALK_END);
	sp = at, bp = 5, known = 1;
	CU_ASSERT_EQUAL(step(ty_rule(TY_RULE_SP, 2, 1, TY_BP_LOST), st, &sp, &bp, &known, 0, 64),
			TY_WALK_NEXT);
	CU_ASSERT_EQUAL(known, 0);
}

/* clang-format off */
static const char cases[] =
"#include <alloca.h>\n#include <pthread.h>\n#include <signal.h>\n#include <stdlib.h>\n#include <string.h>\n"
"typedef void leaf_fn(void);\n"
"static leaf_fn *leaf; static volatile int sink;\n"
"#define NI __attribute__((noinline))\n"
"#define CALL(n) static NI int c_##n(int k) { volatile char b[n]; b[0] = k; leaf(); return b[0] + sink; }\n"
"CALL(8) CALL(200) CALL(4000)\n"
"static NI int plain(int k) { return c_8(k) + c_200(k) + c_4000(k); }\n"
"static NI int use_alloca(int k) { char *p = alloca(k * 24 + 1); memset(p, k, k * 24 + 1); leaf();\n"
"	return p[k] + (k > 1 ? use_alloca(k - 1) : 0); }\n"
"static NI int vla(int k) { int a[k * 3 + 1]; memset(a, 1, sizeof a); leaf(); return a[k] + (k > 1 ? vla(k - 2) : 0); }\n"
"static NI int realigned(int k) { __attribute__((aligned(64))) char v[64]; char *p = alloca(k * 8 + 1);\n"
"	memset(v, k, 64); memset(p, 1, k * 8 + 1); leaf(); c_200(v[3]); return v[1] + p[k] + (k > 1 ? realigned(k - 1) : 0); }\n"
"static NI int deep(int k) { volatile int x = k; int r = k ? deep(k - 1) : (leaf(), 1); return r + x; }\n"
"static NI int many(int a, int b, int c, int d, int e, int f, long g, long h, long i) {\n"
"	leaf(); return a + b * c + d * e + f + sink + (int)(g * h + i); }\n"
"static int cmp(const void *a, const void *b) { leaf(); return *(const int *)a - *(const int *)b; }\n"
"static NI void sorted(void) { int v[] = { 5, 3, 9, 1 }; qsort(v, 4, sizeof *v, cmp); sink = v[0]; }\n"
"static void on_signal(int n) { leaf(); use_alloca(3); }\n"
"static NI void signalled(void) { signal(SIGUSR1, on_signal); raise(SIGUSR1); sink++; }\n"
"static void once(void) { plain(2); realigned(2); }\n"
"static void *thread(void *p) { static pthread_once_t o = PTHREAD_ONCE_INIT;"
" pthread_once(&o, once); vla(5); signalled(); return p; }\n"
"int cases(leaf_fn *f) { pthread_t t; leaf = f; plain(1); use_alloca(6); vla(9); realigned(5); deep(90); deep(1000);\n"
"	many(1, 2, 3, 4, 5, 6, 7, 8, 9); sorted(); signalled();"
" pthread_create(&t, 0, thread, 0); pthread_join(t, 0); return sink; }\n"
"int busy(int n) { volatile int r = 0;"
" for (int i = 0; i < n; i++) r += use_alloca(4) + vla(5) + deep(12) + plain(i); sorted(); return r; }\n"
"void set_leaf(leaf_fn *f) { leaf = f; }\n";
/* clang-format on */

struct truth {
	uint64_t frame[SELF_FRAMES];
	int count;
};

/* libgcc's own: libunwind, which the recorder links, exports the same names. */
static _Unwind_Reason_Code (*gcc_backtrace)(_Unwind_Trace_Fn, void *);
static _Unwind_Word (*gcc_get_ip)(struct _Unwind_Context *, int *);

static bool find_libgcc(void)
{
	void *h = dlopen("libgcc_s.so.1", RTLD_NOW);
	if (!h)
		return false;
	*(void **)&gcc_backtrace = dlsym(h, "_Unwind_Backtrace");
	*(void **)&gcc_get_ip = dlsym(h, "_Unwind_GetIPInfo");
	return gcc_backtrace && gcc_get_ip;
}

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *c, void *arg)
{
	struct truth *t = arg;
	int exact = 0;
	uint64_t ip = gcc_get_ip(c, &exact);
	if (t->count == SELF_FRAMES)
		return _URC_END_OF_STACK;
	t->frame[t->count++] = ip | (exact ? TY_FRAME_EXACT : 0);
	return _URC_NO_REASON;
}

static struct {
	unsigned stacks, frames, wrong, cut, deepest;
} seen;

/* Both walks of the stack above the function that calls it; allocates nothing. */
static void judge(const struct self_walk *w, struct truth *t)
{
	int skip = 0; /* frames of this test's own */
	while (skip < t->count && t->frame[skip] != w->frame[0])
		skip++;
	int n = t->count - skip;
	if (n > 0 && t->frame[t->count - 1] == 0)
		n--; /* libgcc shows the undefined return address of the outermost frame */
	bool same = w->count <= n && !memcmp(w->frame, t->frame + skip, (size_t)w->count * sizeof *w->frame);
	bool complete = same && w->count == n && w->end == TY_WALK_END;
	seen.stacks++;
	seen.frames += (unsigned)w->count;
	seen.cut += same && !complete && w->end == TY_WALK_NO_RULE;
	if ((unsigned)w->count > seen.deepest)
		seen.deepest = (unsigned)w->count;
	if (!complete && !(same && w->end == TY_WALK_NO_RULE) && seen.wrong++ < 2)
		for (int i = 0; i < n || i < w->count; i++)
			fprintf(stderr, "    %d: walk %lx libgcc %lx end %d\n", i,
				i < w->count ? w->frame[i] : 0, i < n ? t->frame[i + skip] : 0, w->end);
}

static __thread uint64_t top;

static __attribute__((noinline, no_sanitize("address"))) void leaf(void)
{
	static __thread struct self_walk w;
	static __thread struct truth t;
	if (!top)
		top = self_stack_top();
	SELF_WALK(&w, top);
	t.count = 0;
	gcc_backtrace(note_frame, &t);
	judge(&w, &t);
}

static char dir[] = "/tmp/tarry-rows-XXXXXX";

/* Compiles the cases and loads them; NULL if the compiler is not there. */
static void *load(const char *cc, const char *flags, int n)
{
	char cmd[512], so[128];
	snprintf(so, sizeof so, "%s/cases%d.so", dir, n);
	snprintf(cmd, sizeof cmd,
		 "command -v %s >/dev/null || exit 77; %s -w -shared -fPIC %s -o %s %s/cases.c -lpthread", cc,
		 cc, flags, so, dir);
	int r = system(cmd);
	if (WIFEXITED(r) && WEXITSTATUS(r) == 77) {
		printf("    %s: absent, skipped\n", cc);
		return NULL;
	}
	CU_ASSERT_EQUAL_FATAL(r, 0);
	void *h = dlopen(so, RTLD_NOW);
	CU_ASSERT_PTR_NOT_NULL_FATAL(h);
	return h;
}

static void test_walks(void)
{
	static const char *const build[][2] = {
		{ "cc", "-O0" },
		{ "cc", "-O2" },
		{ "cc", "-Os" },
		{ "cc", "-O2 -fno-omit-frame-pointer" },
		{ "cc", "-O3 -mavx2 -fstack-protector-all -fcf-protection=full" },
		{ "cc", "-O1 -fno-plt" },
		{ "clang", "-O0" },
		{ "clang", "-O2" },
		{ "clang", "-O2 -fno-omit-frame-pointer" },
	};
	for (int i = 0; i < (int)(sizeof build / sizeof *build); i++) {
		void *h = load(build[i][0], build[i][1], i);
		if (!h)
			continue;
		int (*run)(void (*)(void)) = (int (*)(void (*)(void)))(uintptr_t)dlsym(h, "cases");
		self_modules();
		memset(&seen, 0, sizeof seen);
		run(leaf);
		printf("    %s %s: %u stacks, %u frames, deepest %u, %u wrong, %u cut\n", build[i][0],
		       build[i][1], seen.stacks, seen.frames, seen.deepest, seen.wrong, seen.cut);
		CU_ASSERT(seen.stacks > 40 && seen.deepest > 1000);
		CU_ASSERT_EQUAL(seen.wrong, 0);
		CU_ASSERT_EQUAL(seen.cut, 0);
	}
}

/* A signal may stop the code between any two instructions: prologues,
 * epilogues, PLT entries.  (Not realigned frames: gcc's .eh_frame is wrong
 * between the last two instructions of those, and libgcc's walk with it.)  Another thread sends them; each is
 * answered by one walk before the next is sent. */
enum { SIGNALS = 3000 };
static _Atomic int handled, stop_busy; /* between the two threads; lock-free, so also in the handler */

static __attribute__((noinline)) void on_usr2(int sig)
{
	int saved = errno;
	leaf();
	handled++;
	errno = saved;
}

static void *sender(void *arg)
{
	pthread_t to = *(pthread_t *)arg;
	for (int i = 0; i < SIGNALS; i++) {
		int before = handled;
		pthread_kill(to, SIGUSR2);
		for (unsigned spin = 0; handled == before; spin++)
			if (spin % 1024 == 0)
				sched_yield();
		for (volatile unsigned k = (unsigned)(i * 7919) % 500; k; k--)
			;
	}
	stop_busy = 1;
	return NULL;
}

static void nothing(void) {}

static void test_interrupted(void)
{
	void *h = load("cc", "-O2", 100);
	CU_ASSERT_PTR_NOT_NULL_FATAL(h);
	int (*busy)(int) = (int (*)(int))(uintptr_t)dlsym(h, "busy");
	void (*set)(void (*)(void)) = (void (*)(void (*)(void)))(uintptr_t)dlsym(h, "set_leaf");
	pthread_t self = pthread_self(), t;
	self_modules();
	memset(&seen, 0, sizeof seen);
	set(nothing);
	signal(SIGUSR2, on_usr2);
	leaf(); /* the thread's own storage must exist before a handler uses it */
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t, NULL, sender, &self), 0);
	while (!stop_busy)
		busy(10);
	pthread_join(t, NULL);
	printf("    interrupted: %u stacks, %u frames, %u wrong, %u cut\n", seen.stacks, seen.frames,
	       seen.wrong, seen.cut);
	CU_ASSERT_EQUAL(seen.stacks, SIGNALS + 1);
	CU_ASSERT_EQUAL(seen.wrong, 0);
	CU_ASSERT(seen.cut <= SIGNALS / 100);
}

static void write_cases(void)
{
	char path[128];
	if (!mkdtemp(dir))
		exit(1);
	snprintf(path, sizeof path, "%s/cases.c", dir);
	FILE *f = fopen(path, "w");
	if (!f || fputs(cases, f) < 0 || fclose(f))
		exit(1);
}

static void remove_cases(void)
{
	char cmd[128];
	snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	if (system(cmd))
		fprintf(stderr, "could not remove %s\n", dir);
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	if (!find_libgcc()) {
		fprintf(stderr, "libgcc_s.so.1 cannot be loaded\n");
		return 1;
	}
	write_cases();
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("walk", NULL, NULL);
	CU_add_test(s, "one step", test_step);
	CU_add_test(s, "walks against libgcc", test_walks);
	CU_add_test(s, "interrupted code", test_interrupted);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	self_modules_free();
	remove_cases();
	return failed != 0;
}
