/* SPDX-License-Identifier: MIT
 * Opening ELF files: identity, imports, reading, and files that are none. */
#include <CUnit/Basic.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/err.h"
#include "recorder/elf.h"
#include "tarry/module_id.h"

static char dir[] = "/tmp/tarry-elf-XXXXXX";
static const char source[] = "const char marked[] = \"a string\"; int pthread_once(); void qsort(); "
			     "int f() { qsort(); return pthread_once(); }";

static void test_identity(void)
{
	struct ty_elf *e;
	struct ty_module_id id, other;
	char err[TY_ERR_MAX] = "";
	CU_ASSERT_EQUAL_FATAL(ty_elf_open(&e, "/lib/x86_64-linux-gnu/libc.so.6", NULL, err), 0);
	ty_elf_id(e, &id);
	CU_ASSERT_EQUAL(id.kind, 1);
	CU_ASSERT_EQUAL(strlen(ty_elf_build_id(e)), 2 * (size_t)id.len);
	ty_elf_close(e);
	e = NULL;
	CU_ASSERT_EQUAL_FATAL(ty_elf_open(&e, "/lib/x86_64-linux-gnu/libc.so.6", &id, err), 0);
	ty_elf_close(e);
	other = id;
	other.id[3] ^= 1;
	e = NULL;
	CU_ASSERT_EQUAL(ty_elf_open(&e, "/lib/x86_64-linux-gnu/libc.so.6", &other, err), -ESTALE);
	CU_ASSERT(e == NULL && strstr(err, "another build"));
	CU_ASSERT_EQUAL(ty_elf_open(&e, "/etc/passwd", NULL, err), -ENOEXEC);
	CU_ASSERT_EQUAL(ty_elf_open(&e, "/tmp", NULL, err), -ENOEXEC);
	CU_ASSERT_EQUAL(ty_elf_open(&e, "/nonexistent", NULL, err), -ENOENT);
	CU_ASSERT(e == NULL);
}

/* Without a build-id the file's hash must be that of the mapped image. */
static int find_libcases(struct dl_phdr_info *i, size_t size, void *arg)
{
	struct ty_module_id *id = arg;
	if (!strstr(i->dlpi_name, "/noid.so"))
		return 0;
	const void *eh = NULL;
	size_t n = 0;
	for (int k = 0; k < i->dlpi_phnum; k++)
		if (i->dlpi_phdr[k].p_type == PT_GNU_EH_FRAME) {
			eh = (const void *)(i->dlpi_addr + i->dlpi_phdr[k].p_vaddr);
			n = i->dlpi_phdr[k].p_filesz;
		}
	ty_module_hash(id, i->dlpi_phdr, i->dlpi_phnum * sizeof(ElfW(Phdr)), eh, n);
	return 1;
}

static int count_name(void *arg, const char *name)
{
	*(int *)arg += !strcmp(name, "pthread_once") || !strcmp(name, "qsort");
	return 0;
}

static void test_hash_and_imports(void)
{
	struct ty_elf *e;
	struct ty_module_id id = { 0 };
	char path[128], err[TY_ERR_MAX] = "";
	int names = 0;
	char cmd[512];
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/noid.so", dir);
	snprintf(cmd, sizeof cmd, "echo '%s' | cc -x c -w -shared -fPIC -Wl,--build-id=none -o %s -", source,
		 path);
	CU_ASSERT_EQUAL_FATAL(system(cmd), 0);
	void *h = dlopen(path, RTLD_NOW);
	CU_ASSERT_PTR_NOT_NULL_FATAL(h);
	CU_ASSERT_EQUAL_FATAL(dl_iterate_phdr(find_libcases, &id), 1);
	snprintf(path, sizeof path, "%s/noid.so", dir);
	id.id[0] ^= 1;
	CU_ASSERT_EQUAL(ty_elf_open(&e, path, &id, err), -ESTALE);
	id.id[0] ^= 1;
	CU_ASSERT_EQUAL_FATAL(ty_elf_open(&e, path, &id, err), 0);
	CU_ASSERT_STRING_EQUAL(ty_elf_build_id(e), "");
	CU_ASSERT_EQUAL(ty_elf_imports(e, count_name, &names), 0);
	CU_ASSERT_EQUAL(names, 2);
	CU_ASSERT(!ty_elf_has_loader(e) && !ty_elf_changed(e));
	/* What is read is what is mapped; not beyond a segment. */
	const struct link_map *map = h;
	uint64_t vaddr = (uint64_t)(uintptr_t)dlsym(h, "marked") - map->l_addr;
	char text[16] = "";
	CU_ASSERT_EQUAL(ty_elf_read(e, vaddr, text, 9), 0);
	CU_ASSERT_STRING_EQUAL(text, "a string");
	CU_ASSERT_EQUAL(ty_elf_read(e, vaddr, cmd, (size_t)1 << 40), -EFAULT);
	CU_ASSERT_EQUAL(ty_elf_read(e, UINT64_MAX - 3, cmd, 8), -EFAULT);
	dlclose(h);
	CU_ASSERT_EQUAL(truncate(path, 64), 0);
	CU_ASSERT(ty_elf_changed(e));
	CU_ASSERT_EQUAL(ty_elf_read(e, vaddr, text, 9), -EFAULT);
	ty_elf_close(e);
	CU_ASSERT_EQUAL(ty_elf_open(&e, path, &id, err), -ENOEXEC);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("elf", NULL, NULL);
	CU_add_test(s, "identity", test_identity);
	CU_add_test(s, "hash, imports, reading", test_hash_and_imports);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed != 0;
}
