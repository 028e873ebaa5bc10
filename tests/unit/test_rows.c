/* SPDX-License-Identifier: MIT
 *
 * Row tables against libdw.  The test evaluates what libdw says about an
 * address with made-up registers and memory and compares the outcome of the
 * rule; it shares no code with the translation.  Then files that are damaged.
 */
#include <CUnit/Basic.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/err.h"
#include "recorder/rows.h"
#include "tarry/walk.h"

struct machine {
	uint64_t reg[17];
	uint64_t cfa;
};

static uint64_t memory_at(uint64_t a) /* any function of a that does not collide */
{
	return (a * 0x9e3779b97f4a7c15ULL ^ a >> 17) & ~(uint64_t)7;
}

/* Value of a DWARF expression; *value: the expression gives a value, not a place. */
static bool eval(const struct machine *m, const Dwarf_Op *op, size_t n, uint64_t *ret, bool *value)
{
	uint64_t st[16];
	int t = 0;
	*value = false;
	for (; n; op++, n--) {
		if (t > 14)
			return false;
		if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg16)
			st[t++] = m->reg[op->atom - DW_OP_breg0] + op->number;
		else if (op->atom == DW_OP_bregx && op->number <= 16)
			st[t++] = m->reg[op->number] + op->number2;
		else if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
			st[t++] = op->atom - DW_OP_lit0;
		else if (op->atom == DW_OP_call_frame_cfa)
			st[t++] = m->cfa;
		else if (op->atom == DW_OP_plus_uconst && t)
			st[t - 1] += op->number;
		else if (op->atom == DW_OP_deref && t)
			st[t - 1] = memory_at(st[t - 1]);
		else if (op->atom == DW_OP_stack_value)
			*value = true;
		else if (t < 2)
			return false;
		else if (op->atom == DW_OP_plus)
			t--, st[t - 1] += st[t];
		else if (op->atom == DW_OP_and)
			t--, st[t - 1] &= st[t];
		else if (op->atom == DW_OP_ge)
			t--, st[t - 1] = (int64_t)st[t - 1] >= (int64_t)st[t];
		else if (op->atom == DW_OP_shl)
			t--, st[t - 1] <<= st[t];
		else
			return false;
	}
	*ret = t ? st[t - 1] : 0;
	return t > 0;
}

enum place { SAME, UNDEFINED, MEMORY, OTHER };

static enum place place_of(Dwarf_Frame *f, int reg, const struct machine *m, uint64_t *addr)
{
	Dwarf_Op mem[3], *ops;
	size_t n;
	bool value;
	if (dwarf_frame_register(f, reg, mem, &ops, &n))
		return OTHER;
	if (!n)
		return ops ? UNDEFINED : SAME;
	return eval(m, ops, n, addr, &value) && !value ? MEMORY : OTHER;
}

/* 1: rule is what libdw says at addr; 2: it is STOP though libdw knows; 0: wrong. */
static int rule_right(uint32_t rule, Dwarf_CFI *cfi, uint64_t addr)
{
	Dwarf_Frame *f = NULL;
	Dwarf_Op *ops;
	size_t n;
	bool value;
	struct machine m;
	uint64_t ra = 0, bp = 0, cfa = 0, want_bp = 0;
	enum ty_rule_kind kind = ty_rule_kind(rule);

	if (dwarf_cfi_addrframe(cfi, addr, &f))
		return kind == TY_RULE_STOP;
	for (int i = 0; i < 17; i++)
		m.reg[i] = 0x7f0000000000ULL + (uint64_t)i * 0x10000000ULL;
	m.reg[16] = addr;
	bool have_cfa = !dwarf_frame_cfa(f, &ops, &n) && eval(&m, ops, n, &m.cfa, &value);
	enum place pra = place_of(f, 16, &m, &ra), pbp = place_of(f, 6, &m, &bp);
	free(f);

	uint64_t rsp = m.reg[7], rbp = m.reg[6];
	switch (kind) {
	case TY_RULE_STOP:
		return 2;
	case TY_RULE_END:
		return pra == UNDEFINED;
	case TY_RULE_SIGNAL:
		return have_cfa && m.cfa == memory_at(rsp + TY_UC_SP) && pra == MEMORY &&
		       ra == rsp + TY_UC_PC && pbp == MEMORY && bp == rsp + TY_UC_BP;
	case TY_RULE_SP:
		cfa = rsp + (uint64_t)ty_rule_k(rule);
		want_bp = cfa + (uint64_t)ty_rule_bp(rule);
		break;
	case TY_RULE_BP:
		cfa = rbp + (uint64_t)ty_rule_k(rule);
		want_bp = cfa + (uint64_t)ty_rule_bp(rule);
		break;
	case TY_RULE_BPREF:
		cfa = memory_at(rbp + (uint64_t)ty_rule_k(rule));
		want_bp = rbp + (uint64_t)ty_rule_bp(rule);
		break;
	}
	if (!have_cfa || cfa != m.cfa || pra != MEMORY || ra != cfa - 8)
		return 0;
	if (ty_rule_bp_lost(rule)) { /* right where there is no place, or none that a rule can say */
		int64_t far = (int64_t)(bp - (kind == TY_RULE_BPREF ? rbp : cfa));
		return pbp == UNDEFINED || pbp == OTHER ||
		       (pbp == MEMORY && (far % 8 || far > 2047 * 8 || far < -2047 * 8));
	}
	return ty_rule_saved(rule) ? pbp == MEMORY && bp == want_bp : pbp == SAME;
}

static uint64_t next_random(void)
{
	static uint64_t x = 88172645463325252ULL;
	x ^= x << 13, x ^= x >> 7;
	return x ^= x << 17;
}

static bool compare_file(const char *path)
{
	struct ty_elf *e;
	struct ty_rows *t;
	size_t bytes;
	char err[TY_ERR_MAX];
	if (access(path, R_OK)) {
		printf("    %s: absent, skipped\n", path);
		return true;
	}
	if (ty_elf_open(&e, path, NULL, err) || ty_rows_build(e, &t, &bytes, err)) {
		printf("    %s\n", err);
		return false;
	}
	int fd = open(path, O_RDONLY);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
	CU_ASSERT_PTR_NOT_NULL_FATAL(cfi);
	unsigned wrong = 0, stop = 0, n = 0;
	uint32_t every = t->count / 20000 + 1;
	for (uint32_t i = 0; i < t->count + 20000; i += i < t->count ? every : 1) {
		uint64_t a = i < t->count ? ty_rows_row(t)[i].addr : t->lo + next_random() % (t->hi - t->lo);
		for (uint64_t at = a > t->lo ? a - 1 : a; at <= a; at++, n++) {
			int r = rule_right(ty_rows_find(t, at), cfi, at);
			stop += r == 2;
			if (r == 0 && wrong++ < 5)
				printf("    %s: wrong rule %08x at %#lx\n", path, ty_rows_find(t, at),
				       (unsigned long)at);
		}
	}
	printf("    %s: %u addresses of %u rows, %u wrong, %u cut, %u rows skipped\n", path, n, t->count,
	       wrong, stop, t->skipped);
	bool ok = wrong == 0 && (stop == 0 || t->skipped > 0) && stop <= n / 20 && t->count > 1 &&
		  ty_rows_find(t, t->lo - 1) == 0 && ty_rows_find(t, t->hi) == 0 &&
		  bytes == ty_rows_size(t->count, t->blocks);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	free(t);
	ty_elf_close(e);
	return ok;
}

static void test_files(void)
{
	static const char *const file[] = {
		"/proc/self/exe",
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib64/ld-linux-x86-64.so.2",
		"/bin/bash",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/sbin/mariadbd",
		"/usr/lib/postgresql/15/bin/postgres",
		"/usr/bin/python3",
		"/usr/bin/node",
	};
	for (size_t i = 0; i < sizeof file / sizeof *file; i++)
		CU_ASSERT(compare_file(file[i]));
}

/* Call frame information that compilers write rarely or never.  One function
 * of 16 bytes a case, in this order. */
/* clang-format off */
#define CFI_CASE(cfi) ".p2align 4\n.cfi_startproc\n.cfi_def_cfa_offset 24\nnop\n" cfi "\n.skip 15, 0x90\n.cfi_endproc\n"
static const struct { const char *cfi; enum ty_rule_kind kind; int64_t k; int saved; int64_t bp; } odd[] = {
	{ ".cfi_offset 6, -24", TY_RULE_SP, 24, 1, -24 },
	{ ".cfi_escape 0x10,6,2,0x77,16", TY_RULE_SP, 24, 1, -8 },           /* BP at SP + 16 */
	{ ".cfi_escape 0x10,6,2,0x76,0", TY_RULE_SP, 24, 1, TY_BP_LOST * 8 }, /* BP at BP + 0 */
	{ ".cfi_def_cfa 6, 32\n.cfi_escape 0x10,6,2,0x76,8", TY_RULE_BP, 32, 1, -24 },
	{ ".cfi_escape 0x0f,3,0x76,0x78,6\n.cfi_escape 0x10,6,2,0x76,0", TY_RULE_BPREF, -8, 1, 0 },
	{ ".cfi_escape 0x0f,3,0x76,0x78,6\n.cfi_offset 6, -16", TY_RULE_BPREF, -8, 1, TY_BP_LOST * 8 },
	{ ".cfi_undefined 6", TY_RULE_SP, 24, 1, TY_BP_LOST * 8 },
	{ ".cfi_same_value 6", TY_RULE_SP, 24, 0, 0 },
	{ ".cfi_register 6, 3", TY_RULE_SP, 24, 1, TY_BP_LOST * 8 },
	{ ".cfi_val_offset 6, -16", TY_RULE_SP, 24, 1, TY_BP_LOST * 8 },
	{ ".cfi_escape 0x10,6,2,0x77,4", TY_RULE_SP, 24, 1, TY_BP_LOST * 8 }, /* not a whole word */
	{ ".cfi_offset 6, -16376", TY_RULE_SP, 24, 1, -16376 },
	{ ".cfi_offset 6, -16384", TY_RULE_SP, 24, 1, TY_BP_LOST * 8 },     /* too far for a row */
	{ ".cfi_def_cfa_offset 262136", TY_RULE_SP, 262136, 0, 0 },
	{ ".cfi_def_cfa_offset 262144", TY_RULE_STOP, 0, 0, 0 },            /* too far for a row */
	{ ".cfi_def_cfa_offset 28", TY_RULE_STOP, 0, 0, 0 },
	{ ".cfi_def_cfa 10, 0", TY_RULE_STOP, 0, 0, 0 },
	{ ".cfi_escape 0x0f,3,0x77,8,6", TY_RULE_STOP, 0, 0, 0 },           /* CFA = *(SP + 8) */
	{ ".cfi_offset 16, -16", TY_RULE_STOP, 0, 0, 0 },                   /* return address elsewhere */
	{ ".cfi_register 16, 2", TY_RULE_STOP, 0, 0, 0 },
	{ ".cfi_same_value 16", TY_RULE_STOP, 0, 0, 0 },
	{ ".cfi_undefined 16", TY_RULE_END, 0, 0, 0 },
	{ ".cfi_signal_frame", TY_RULE_STOP, 0, 0, 0 },                     /* not laid out as the kernel's */
};
/* clang-format on */

static void test_odd(void)
{
	enum { N = sizeof odd / sizeof *odd };
	char dir[] = "/tmp/tarry-rows-XXXXXX", path[64], cmd[256], err[TY_ERR_MAX];
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/odd.s", dir);
	FILE *f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(".text\n.globl odd\nodd:\n", f);
	for (int i = 0; i < N; i++)
		fprintf(f, CFI_CASE("%s"), odd[i].cfi);
	fclose(f);
	snprintf(cmd, sizeof cmd, "cd %s && cc -shared -nostdlib -o odd.so odd.s", dir);
	CU_ASSERT_EQUAL_FATAL(system(cmd), 0);
	snprintf(path, sizeof path, "%s/odd.so", dir);
	struct ty_elf *e;
	struct ty_rows *t;
	size_t bytes;
	CU_ASSERT_EQUAL_FATAL(ty_elf_open(&e, path, NULL, err), 0);
	CU_ASSERT_EQUAL_FATAL(ty_rows_build(e, &t, &bytes, err), 0);
	int fd = open(path, O_RDONLY), stops = 0;
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
	for (int i = 0; i < N; i++) {
		uint64_t at = t->lo + (uint64_t)i * 16; /* the code segment begins with them */
		uint32_t r = ty_rows_find(t, at + 15);
		bool signal = strstr(odd[i].cfi, "signal");
		bool ok = ty_rule_kind(r) == odd[i].kind && ty_rule_k(r) == odd[i].k &&
			  ty_rule_saved(r) == odd[i].saved && ty_rule_bp(r) == odd[i].bp &&
			  ty_rows_find(t, at) == (signal ? 0 : ty_rule(TY_RULE_SP, 3, 0, 0));
		CU_ASSERT(ok && (odd[i].kind == TY_RULE_STOP) == (rule_right(r, cfi, at + 15) == 2));
		CU_ASSERT(rule_right(r, cfi, at + 15) != 0);
		if (!ok)
			printf("    case %d: %s: rule %08x\n", i, odd[i].cfi, r);
		stops += (odd[i].kind == TY_RULE_STOP) * (signal ? 2 : 1);
	}
	CU_ASSERT_EQUAL(t->skipped, (uint32_t)stops);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	free(t);
	ty_elf_close(e);
	snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	CU_ASSERT_EQUAL(system(cmd), 0);
}

static void test_none(void)
{
	char path[] = "/tmp/tarry-none-XXXXXX", cmd[256], err[TY_ERR_MAX] = "";
	struct ty_elf *e;
	struct ty_rows *t;
	size_t bytes;
	int fd = mkstemp(path);
	CU_ASSERT_FATAL(fd >= 0);
	close(fd);
	snprintf(cmd, sizeof cmd,
		 "echo 'int f(int a) { return a; }' | cc -x c -w -shared -nostdlib "
		 "-fno-asynchronous-unwind-tables -o %s -",
		 path);
	CU_ASSERT_EQUAL_FATAL(system(cmd), 0);
	CU_ASSERT_EQUAL_FATAL(ty_elf_open(&e, path, NULL, err), 0);
	CU_ASSERT_EQUAL_FATAL(ty_rows_build(e, &t, &bytes, err), 0);
	CU_ASSERT(strstr(err, "no .eh_frame") != NULL);
	CU_ASSERT_EQUAL(t->count, 1);
	CU_ASSERT_EQUAL(t->skipped, 0);
	CU_ASSERT_EQUAL(ty_rule_kind(ty_rows_find(t, t->lo)), TY_RULE_STOP);
	free(t);
	ty_elf_close(e);
	unlink(path);
}

static void test_lookup(void)
{
	/* Rows at block borders, several in one block, none in others. */
	static const uint32_t addr[] = { 0x1000, 0x1001, 0x1100, 0x11ff, 0x1200, 0x1555, 0x2000 };
	enum { N = sizeof addr / sizeof *addr, BLOCKS = (0x2080 - 0x1000 + 255) / 256 };
	struct ty_rows *t = calloc(1, ty_rows_size(N, BLOCKS));
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	*t = (struct ty_rows){ TY_ROWS_MAGIC, N, BLOCKS, 0x1000, 0x2080, 0 };
	for (uint32_t b = 0, i = 0; b <= BLOCKS; b++) {
		while (i + 1 < N && addr[i + 1] <= 0x1000 + b * 256)
			i++;
		((uint32_t *)ty_rows_index(t))[b] = i;
	}
	for (uint32_t i = 0; i < N; i++)
		((struct ty_row *)ty_rows_row(t))[i] =
			(struct ty_row){ addr[i], ty_rule(TY_RULE_SP, (int)i + 1, 0, 0) };
	for (uint32_t a = 0x1000, i = 0; a < 0x2080; a++) {
		while (i + 1 < N && addr[i + 1] <= a)
			i++;
		CU_ASSERT_EQUAL(ty_rule_k(ty_rows_find(t, a)), (i + 1) * 8);
	}
	CU_ASSERT_EQUAL(ty_rule_kind(ty_rows_find(t, 0xfff)), TY_RULE_STOP);
	CU_ASSERT_EQUAL(ty_rule_kind(ty_rows_find(t, 0x2080)), TY_RULE_STOP);
	free(t);
}

static char *slurp(const char *path, size_t *n)
{
	int fd = open(path, O_RDONLY);
	off_t size = lseek(fd, 0, SEEK_END);
	char *p = malloc((size_t)size);
	if (fd < 0 || !p || pread(fd, p, (size_t)size, 0) != size)
		exit(1);
	close(fd);
	*n = (size_t)size;
	return p;
}

static void test_damaged(void)
{
	size_t n;
	char *good = slurp("/lib/x86_64-linux-gnu/libm.so.6", &n), path[64], err[TY_ERR_MAX];
	int fd = memfd_create("damaged", MFD_CLOEXEC), outcome[3] = { 0 };
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	CU_ASSERT_FATAL(write(fd, good, n) == (ssize_t)n);
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)good;
	const Elf64_Shdr *sh = (const Elf64_Shdr *)(good + h->e_shoff);
	const char *names = good + sh[h->e_shstrndx].sh_offset;
	uint64_t off = 0, size = 0;
	for (int i = 0; i < h->e_shnum; i++)
		if (!strcmp(names + sh[i].sh_name, ".eh_frame"))
			off = sh[i].sh_offset, size = sh[i].sh_size;
	for (int round = 0; round < 400; round++) {
		struct ty_elf *e;
		struct ty_rows *t;
		size_t bytes;
		for (int i = 0; i < 1 + round % 30; i++) {
			uint64_t where =
				next_random() % 8 == 0 ? next_random() % 1024 : off + next_random() % size;
			uint8_t v = (uint8_t)next_random();
			if (pwrite(fd, &v, 1, (off_t)where) != 1)
				exit(1);
		}
		if (ty_elf_open(&e, path, NULL, err)) {
			outcome[0]++;
		} else {
			int r = ty_rows_build(e, &t, &bytes, err);
			outcome[r ? 1 : 2]++;
			CU_ASSERT(!r || err[0]);
			if (!r) {
				for (int i = 0; i < 100; i++)
					ty_rows_find(t, t->lo + next_random() % (t->hi - t->lo));
				free(t);
			}
			ty_elf_close(e);
		}
		if (round % 4 == 3 && pwrite(fd, good, n, 0) != (ssize_t)n)
			exit(1);
	}
	printf("    damaged: %d not opened, %d refused, %d built\n", outcome[0], outcome[1], outcome[2]);
	CU_ASSERT(outcome[1] > 0 && outcome[2] > 0);
	free(good);
	close(fd);
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("rows", NULL, NULL);
	CU_add_test(s, "look-up", test_lookup);
	CU_add_test(s, "rare call frame information", test_odd);
	CU_add_test(s, "no call frame information", test_none);
	CU_add_test(s, "files against libdw", test_files);
	CU_add_test(s, "damaged files", test_damaged);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed != 0;
}
