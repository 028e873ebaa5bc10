/* SPDX-License-Identifier: MIT
 *
 * Names and lines of addresses: own functions, inlined calls, C++ and Rust
 * names, separate debug files; and no name where no symbol covers the address.
 */
#include <CUnit/Basic.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/err.h"
#include "recorder/symbols.h"

static char dir[] = "/tmp/tarry-symbols-XXXXXX";

static int shell(const char *fmt, const char *a)
{
	char cmd[1024], full[1200];
	snprintf(cmd, sizeof cmd, fmt, a);
	snprintf(full, sizeof full, "cd %s && %s", dir, cmd);
	int r = system(full);
	return WIFEXITED(r) ? WEXITSTATUS(r) : -1;
}

static bool have(const char *cmd)
{
	if (!shell("command -v %s >/dev/null", cmd))
		return true;
	printf("    %s: absent, skipped\n", cmd);
	return false;
}

static void put_file(const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		exit(1);
}

static struct ty_elf *open_file(const char *name)
{
	char path[256], err[TY_ERR_MAX] = "";
	struct ty_elf *e = NULL;
	snprintf(path, sizeof path, "%s/%s", dir, name);
	if (ty_elf_open(&e, path, NULL, err))
		printf("    %s\n", err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e);
	return e;
}

/* ELF address and size of a symbol of the section of this type, read by hand. */
static uint64_t symbol_of(const char *name, const char *want, uint64_t *size)
{
	char path[256], *p;
	struct stat st;
	snprintf(path, sizeof path, "%s/%s", dir, name);
	int fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) || !(p = malloc((size_t)st.st_size)) ||
	    read(fd, p, (size_t)st.st_size) != st.st_size)
		exit(1);
	close(fd);
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)p;
	const Elf64_Shdr *sh = (const Elf64_Shdr *)(p + h->e_shoff);
	uint64_t found = 0;
	for (int i = 0; i < h->e_shnum; i++) {
		if (sh[i].sh_type != SHT_SYMTAB && sh[i].sh_type != SHT_DYNSYM)
			continue;
		const Elf64_Sym *s = (const Elf64_Sym *)(p + sh[i].sh_offset);
		const char *str = p + sh[sh[i].sh_link].sh_offset;
		for (size_t k = 0; k < sh[i].sh_size / sizeof *s; k++)
			if (!strcmp(str + s[k].st_name, want) && s[k].st_value) {
				found = s[k].st_value;
				*size = s[k].st_size;
			}
	}
	free(p);
	return found;
}

/* clang-format off */
static const char c_source[] =
"extern volatile int sink; volatile int sink;\n"                                  /* 1 */
"static inline __attribute__((always_inline)) int inner(int a)\n"                 /* 2 */
"{\n"                                                                             /* 3 */
"	__asm__ volatile(\"mark_inner: nop\" ::: \"memory\"); sink = a;\n"            /* 4 */
"	return sink * 3;\n"                                                           /* 5 */
"}\n"                                                                             /* 6 */
"static inline __attribute__((always_inline)) int middle(int a)\n"                /* 7 */
"{\n"                                                                             /* 8 */
"	return inner(a + 1) + 2;\n"                                                   /* 9 */
"}\n"                                                                             /* 10 */
"static __attribute__((noinline)) int hidden(int a) { sink = a; return a * sink; }\n" /* 11 */
"int outer(int a);\n"                                                             /* 12 */
"int outer(int a)\n"                                                              /* 13 */
"{\n"                                                                             /* 14 */
"	int r = middle(a) + hidden(a);\n"                                             /* 15 */
"	return r;\n"                                                                  /* 16 */
"}\n"
"int legacy(int a) __asm__(\"_ZN4shop4till4ring17h0123456789abcdefE\");\n"
"int legacy(int a) { sink = a; return a + sink; }\n"
"__asm__(\".text; .p2align 4; nosize: .skip 64, 0x90; .globl nosize; .p2align 4\");\n";
/* clang-format on */

static bool ends_with(const char *s, const char *end)
{
	size_t n = s ? strlen(s) : 0, m = strlen(end);
	return n >= m && !strcmp(s + n - m, end);
}

/* The frames at the marked instruction of outer in this file. */
static void check_inlined(const char *name, uint64_t mark)
{
	struct ty_elf *e = open_file(name);
	struct ty_elf_symbol s[8];
	CU_ASSERT_EQUAL_FATAL(ty_symbols_at(e, mark, true, s, 8), 3);
	CU_ASSERT_STRING_EQUAL(s[0].name, "inner");
	CU_ASSERT_STRING_EQUAL(s[1].name, "middle");
	CU_ASSERT_STRING_EQUAL(s[2].name, "outer");
	CU_ASSERT(s[0].inlined && s[1].inlined && !s[2].inlined);
	CU_ASSERT(ends_with(s[0].file, "case.c") && s[0].line == 4);
	CU_ASSERT(ends_with(s[1].file, "case.c") && s[1].line == 9);
	CU_ASSERT(ends_with(s[2].file, "case.c") && s[2].line == 15);
	/* A return address is looked up at the call before it. */
	CU_ASSERT_EQUAL(ty_symbols_at(e, mark + 1, false, s, 8), 3);
	CU_ASSERT_EQUAL(s[0].line, 4);
	/* No room for all: the function itself and the calls next to it stay. */
	CU_ASSERT_EQUAL(ty_symbols_at(e, mark, true, s, 2), 2);
	CU_ASSERT_STRING_EQUAL(s[0].name, "middle");
	CU_ASSERT_STRING_EQUAL(s[1].name, "outer");
	ty_elf_close(e);
}

static void test_inlined(void)
{
	static const char *const cc[] = { "cc -gdwarf-5", "cc -gdwarf-4", "clang -gdwarf-5" };
	uint64_t mark, size;
	for (int i = 0; i < 3; i++) {
		if (i == 2 && !have("clang"))
			continue;
		CU_ASSERT_EQUAL_FATAL(shell("%s -w -O2 -shared -fPIC -Wl,--build-id -o c.so case.c", cc[i]),
				      0);
		mark = symbol_of("c.so", "mark_inner", &size);
		CU_ASSERT_FATAL(mark != 0);
		check_inlined("c.so", mark);
	}
	/* The debug information in a file beside it, by name and checksum. */
	CU_ASSERT_EQUAL_FATAL(
		shell("%s -w -g -O2 -shared -fPIC -Wl,--build-id=none -o c.so case.c && "
		      "mark=1 && mkdir -p .debug && objcopy --only-keep-debug c.so .debug/c.debug && "
		      "cp c.so full.so && strip c.so && objcopy --add-gnu-debuglink=.debug/c.debug c.so",
		      "cc"),
		0);
	mark = symbol_of("full.so", "mark_inner", &size);
	check_inlined("c.so", mark);
	/* The same name with other contents is not believed. */
	CU_ASSERT_EQUAL_FATAL(shell("%s x >> .debug/c.debug", "echo"), 0);
	struct ty_elf *e = open_file("c.so");
	struct ty_elf_symbol s[8];
	CU_ASSERT_EQUAL(ty_symbols_at(e, mark, true, s, 8), 1);
	CU_ASSERT(!strcmp(s[0].name, "outer") && !s[0].file && !s[0].line && !s[0].inlined);
	ty_elf_close(e);
}

static void test_ranges(void)
{
	struct ty_elf_symbol s[8];
	uint64_t hidden, outer, nosize, rust, n, size, ignore;
	CU_ASSERT_EQUAL_FATAL(
		shell("%s -w -O2 -shared -fPIC -o plain.so case.c && cp plain.so bare.so && strip bare.so",
		      "cc"),
		0);
	hidden = symbol_of("plain.so", "hidden", &n);
	nosize = symbol_of("plain.so", "nosize", &ignore);
	rust = symbol_of("plain.so", "_ZN4shop4till4ring17h0123456789abcdefE", &ignore);
	outer = symbol_of("plain.so", "outer", &size);
	CU_ASSERT_FATAL(hidden && nosize && rust && outer && n && size);

	struct ty_elf *e = open_file("plain.so");
	CU_ASSERT_EQUAL(ty_symbols_at(e, hidden, true, s, 8), 1);
	CU_ASSERT_STRING_EQUAL(s[0].name, "hidden");
	CU_ASSERT_EQUAL(ty_symbols_at(e, hidden + n, false, s, 8), 1);
	CU_ASSERT_STRING_EQUAL(s[0].name, "hidden");
	CU_ASSERT_EQUAL(ty_symbols_at(e, hidden, false, s, 8), 0);    /* before its first byte */
	CU_ASSERT_EQUAL(ty_symbols_at(e, nosize + 8, true, s, 8), 0); /* no size: covers nothing */
	CU_ASSERT_EQUAL(ty_symbols_at(e, rust, true, s, 8), 1);
	CU_ASSERT_STRING_EQUAL(s[0].name, "shop::till::ring"); /* older Rust's names, without the hash */
	CU_ASSERT_EQUAL(ty_symbols_at(e, 0, true, s, 8), 0);
	CU_ASSERT_EQUAL(ty_symbols_at(e, 0, false, s, 8), 0);
	CU_ASSERT_EQUAL(ty_symbols_at(e, UINT64_MAX, true, s, 8), 0);
	ty_elf_close(e);

	e = open_file("bare.so"); /* stripped: exported names only, never a neighbour's */
	CU_ASSERT_EQUAL(ty_symbols_at(e, outer + size - 1, true, s, 8), 1);
	CU_ASSERT_STRING_EQUAL(s[0].name, "outer");
	CU_ASSERT_EQUAL(ty_symbols_at(e, hidden, true, s, 8), 0);
	CU_ASSERT_EQUAL(ty_symbols_at(e, outer + size, true, s, 8), 0);
	ty_elf_close(e);

	e = open_file("plain.so"); /* written over since it was opened */
	CU_ASSERT_EQUAL_FATAL(shell("%s x >> plain.so", "echo"), 0);
	CU_ASSERT_EQUAL(ty_symbols_at(e, hidden, true, s, 8), 0);
	ty_elf_close(e);
}

static void test_libc(void)
{
	struct ty_elf *e;
	struct ty_elf_symbol s[8];
	char err[TY_ERR_MAX];
	Dl_info info;
	CU_ASSERT_FATAL(dladdr((void *)(uintptr_t)dlsym(RTLD_DEFAULT, "poll"), &info) != 0);
	CU_ASSERT_EQUAL_FATAL(ty_elf_open(&e, info.dli_fname, NULL, err), 0);
	uint64_t at = (uint64_t)(uintptr_t)info.dli_saddr - (uint64_t)(uintptr_t)info.dli_fbase;
	int n = ty_symbols_at(e, at, true, s, 8);
	CU_ASSERT_FATAL(n > 0);
	CU_ASSERT_STRING_EQUAL(s[n - 1].name, "poll"); /* not __poll, not __GI___poll */
	ty_elf_close(e);
}

static void test_cplusplus(void)
{
	struct ty_elf_symbol s[8];
	uint64_t at, size;
	if (!have("c++"))
		return;
	put_file("case.cc", "namespace shop { template <class T> struct till { int ring(T, int); };\n"
			    "template <class T> int till<T>::ring(T a, int b) { return a * b; }\n"
			    "template struct till<long>; }\n");
	for (int g = 0; g < 2; g++) {
		CU_ASSERT_EQUAL_FATAL(shell("c++ -O2 %s -shared -fPIC -o cc.so case.cc", g ? "-g" : ""), 0);
		at = symbol_of("cc.so", "_ZN4shop4tillIlE4ringEli", &size);
		struct ty_elf *e = open_file("cc.so");
		CU_ASSERT_EQUAL_FATAL(ty_symbols_at(e, at + size, false, s, 8), 1);
		CU_ASSERT_STRING_EQUAL(s[0].name, "shop::till<long>::ring");
		CU_ASSERT(g ? ends_with(s[0].file, "case.cc") && s[0].line == 2 : !s[0].file);
		ty_elf_close(e);
	}
}

static void test_rust(void)
{
	static const char *const mangling[] = { "", "-C symbol-mangling-version=v0" };
	struct ty_elf_symbol s[8];
	uint64_t mark, size;
	if (!have("rustc"))
		return;
	put_file("shop.rs",
		 "#![no_std] #![allow(named_asm_labels)]\n"                                         /* 1 */
		 "#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n"         /* 2 */
		 "pub mod till {\n"                                                                 /* 3 */
		 "    #[inline(always)] pub fn add(a: u32) -> u32 {\n"                              /* 4 */
		 "        unsafe { core::arch::asm!(\".globl mark_rust\", \"mark_rust: nop\") };\n" /* 5 */
		 "        a.wrapping_mul(3)\n"                                                      /* 6 */
		 "    }\n"                                                                          /* 7 */
		 "    #[inline(never)] pub fn ring(a: u32) -> u32 {\n"                              /* 8 */
		 "        add(a) + 1\n"                                                             /* 9 */
		 "    }\n"                                                                          /* 10 */
		 "}\n"
		 "#[no_mangle] pub extern \"C\" fn entry(a: u32) -> u32 { till::ring(a) }\n");
	for (int i = 0; i < 2; i++) {
		if (shell("rustc -g -O -C panic=abort %s --crate-type cdylib "
			  "-o rs.so shop.rs 2>rs.log",
			  mangling[i])) {
			shell("%s rs.log", "cat");
			CU_FAIL_FATAL("rustc failed");
		}
		mark = symbol_of("rs.so", "mark_rust", &size);
		CU_ASSERT_FATAL(mark != 0);
		struct ty_elf *e = open_file("rs.so");
		CU_ASSERT_EQUAL_FATAL(ty_symbols_at(e, mark, true, s, 8), 2);
		CU_ASSERT_STRING_EQUAL(s[0].name, "shop::till::add");
		CU_ASSERT(s[0].inlined && ends_with(s[0].file, "shop.rs") && s[0].line == 5);
		CU_ASSERT_STRING_EQUAL(s[1].name, "shop::till::ring");
		CU_ASSERT(!s[1].inlined && s[1].line == 9);
		ty_elf_close(e);
	}
}

/* Debug information may be as damaged as the rest of a file. */
static void test_damaged(void)
{
	struct ty_elf_symbol s[8];
	uint64_t x = 88172645463325252ULL, mark, size;
	CU_ASSERT_EQUAL_FATAL(shell("%s -w -g -O2 -shared -fPIC -o good.so case.c", "cc"), 0);
	mark = symbol_of("good.so", "mark_inner", &size);
	char path[256];
	struct stat st;
	snprintf(path, sizeof path, "%s/bad.so", dir);
	for (int round = 0; round < 150; round++) {
		CU_ASSERT_EQUAL_FATAL(shell("%s good.so bad.so", "cp"), 0);
		int fd = open(path, O_RDWR);
		if (fd < 0 || fstat(fd, &st))
			exit(1);
		for (int i = 0; i < 40; i++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			uint64_t at = 0x2000 + x % ((uint64_t)st.st_size - 0x2000 - 64 * 40);
			if (pwrite(fd, &x, 1, (off_t)at) != 1)
				exit(1);
		}
		close(fd);
		struct ty_elf *e = NULL;
		char err[TY_ERR_MAX];
		if (ty_elf_open(&e, path, NULL, err))
			continue;
		for (uint64_t a = mark - 64; a < mark + 64; a++) {
			int n = ty_symbols_at(e, a, true, s, 8);
			CU_ASSERT(n >= 0 && n <= 8);
		}
		ty_elf_close(e);
	}
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	if (!mkdtemp(dir))
		return 1;
	put_file("case.c", c_source);
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("symbols", NULL, NULL);
	CU_add_test(s, "inlined calls and lines", test_inlined);
	CU_add_test(s, "ranges", test_ranges);
	CU_add_test(s, "names of libc", test_libc);
	CU_add_test(s, "C++", test_cplusplus);
	CU_add_test(s, "Rust", test_rust);
	CU_add_test(s, "damaged debug information", test_damaged);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	if (shell("rm -rf %s", dir))
		fprintf(stderr, "could not remove %s\n", dir);
	return failed != 0;
}
