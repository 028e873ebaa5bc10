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

struct machine { uint64_t reg[17]; uint64_t cfa; };

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
		return have_cfa && m.cfa == memory_at(rsp + TY_UC_SP) && pra == MEMORY && ra == rsp + TY_UC_PC &&
		       pbp == MEMORY && bp == rsp + TY_UC_BP;
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
	if (ty_rule_bp_lost(rule))
		return pbp == UNDEFINED || pbp == OTHER || (pbp == MEMORY && (bp < rsp ? rsp - bp : bp - rsp) > 16376);
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
				printf("    %s: wrong rule %08x at %#lx\n", path, ty_rows_find(t, at), (unsigned long)at);
		}
	}
	printf("    %s: %u addresses of %u rows, %u wrong, %u cut, %u rows skipped\n", path, n, t->count, wrong, stop,
	       t->skipped);
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
		"/proc/self/exe", "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "/bin/bash",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/sbin/mariadbd", "/usr/lib/postgresql/15/bin/postgres", "/usr/bin/python3", "/usr/bin/node",
	};
	for (size_t i = 0; i < sizeof file / sizeof *file; i++)
		CU_ASSERT(compare_file(file[i]));
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
		((struct ty_row *)ty_rows_row(t))[i] = (struct ty_row){ addr[i], ty_rule(TY_RULE_SP, (int)i + 1, 0, 0) };
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
			uint64_t where = next_random() % 8 == 0 ? next_random() % 1024 : off + next_random() % size;
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
	CU_add_test(s, "files against libdw", test_files);
	CU_add_test(s, "damaged files", test_damaged);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed != 0;
}
