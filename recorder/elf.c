/* SPDX-License-Identifier: MIT
 *
 * Opening ELF files and telling whether a file is the one a process mapped.
 * Runs in the recorder.  What must stay true: nothing here trusts the file
 * (a traced process may map anything), and reads of a file that shrinks
 * meanwhile fail instead of killing the recorder.
 */
#include "recorder/elf_int.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/err.h"
#include "tarry/module_id.h"

/* The vDSO has no file; a memfd with its image makes it one. */
static int open_vdso(void)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	if (!h)
		return -ENOENT;
	size_t size = h->e_shoff + (size_t)h->e_shnum * h->e_shentsize;
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, h, size) != (ssize_t)size) {
		close(fd);
		return -EIO;
	}
	return fd;
}

static int read_all(int fd, uint64_t offset, void *buf, size_t n)
{
	for (char *p = buf; n;) {
		ssize_t r = pread(fd, p, n, (off_t)offset);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r < 0 ? -errno : -EFAULT;
		p += r;
		offset += (uint64_t)r;
		n -= (size_t)r;
	}
	return 0;
}

const GElf_Phdr *ty_elf_phdr(const struct ty_elf *e, uint32_t type)
{
	for (size_t i = 0; i < e->phnum; i++)
		if (e->phdr[i].p_type == type)
			return &e->phdr[i];
	return NULL;
}

static int read_headers(struct ty_elf *e, char *err)
{
	if (elf_kind(e->elf) != ELF_K_ELF || !gelf_getehdr(e->elf, &e->ehdr))
		return ty_err(err, -ENOEXEC, "%s: not an ELF file", e->path);
	if (gelf_getclass(e->elf) != ELFCLASS64 || e->ehdr.e_machine != EM_X86_64 ||
	    e->ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
		return ty_err(err, -ENOTSUP, "%s: not for 64-bit x86", e->path);
	if (e->ehdr.e_type != ET_EXEC && e->ehdr.e_type != ET_DYN)
		return ty_err(err, -ENOTSUP, "%s: neither a program nor a shared library", e->path);
	if (elf_getphdrnum(e->elf, &e->phnum) || e->phnum == 0 || e->phnum > 4096 ||
	    e->ehdr.e_phentsize != sizeof(Elf64_Phdr))
		return ty_err(err, -ENOEXEC, "%s: no usable program headers", e->path);
	e->phdr = calloc(e->phnum, sizeof *e->phdr);
	if (!e->phdr)
		return ty_err(err, -ENOMEM, "%s: out of memory", e->path);
	for (size_t i = 0; i < e->phnum; i++)
		if (!gelf_getphdr(e->elf, (int)i, &e->phdr[i]))
			return ty_err(err, -ENOEXEC, "%s: damaged program headers", e->path);
	return 0;
}

static int hash_id(struct ty_elf *e, struct ty_module_id *id)
{
	size_t bytes = e->phnum * e->ehdr.e_phentsize;
	uint8_t eh[64];
	size_t eh_bytes = 0;
	void *raw = malloc(bytes);
	if (!raw)
		return -ENOMEM;
	int r = read_all(e->fd, e->ehdr.e_phoff, raw, bytes);
	const GElf_Phdr *h = ty_elf_phdr(e, PT_GNU_EH_FRAME);
	if (!r && h) {
		eh_bytes = h->p_filesz < sizeof eh ? h->p_filesz : sizeof eh;
		r = read_all(e->fd, h->p_offset, eh, eh_bytes);
	}
	if (!r)
		ty_module_hash(id, raw, bytes, eh, eh_bytes);
	free(raw);
	return r;
}

static int read_identity(struct ty_elf *e, const struct ty_module_id *want, char *err)
{
	const void *p;
	ssize_t n = dwelf_elf_gnu_build_id(e->elf, &p);
	if (n > 0 && n <= 64) {
		for (ssize_t i = 0; i < n; i++)
			sprintf(e->build_id + 2 * i, "%02x", ((const uint8_t *)p)[i]);
		e->id.kind = 1;
		e->id.len = n < TY_ID_MAX ? (uint8_t)n : TY_ID_MAX;
		memcpy(e->id.id, p, e->id.len);
	} else if (hash_id(e, &e->id)) {
		return ty_err(err, -ENOEXEC, "%s: damaged program headers", e->path);
	}
	if (!want || !want->kind)
		return 0;
	struct ty_module_id id = e->id;
	/* A process that could not find the note sends the hash all the same. */
	if (want->kind == 2 && id.kind == 1 && hash_id(e, &id))
		return ty_err(err, -ENOEXEC, "%s: damaged program headers", e->path);
	if (id.kind != want->kind || id.len != want->len || memcmp(id.id, want->id, id.len))
		return ty_err(err, -ESTALE, "%s: the process runs another build of this file", e->path);
	return 0;
}

int ty_elf_open(struct ty_elf **ret, const char *path, const struct ty_module_id *want, char *err)
{
	struct stat st;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return ty_err(err, -ENOTSUP, "libelf is too old");
	struct ty_elf *e = calloc(1, sizeof *e);
	if (!e || !(e->path = strdup(path))) {
		free(e);
		return ty_err(err, -ENOMEM, "%s: out of memory", path);
	}
	/* O_NONBLOCK: the path comes from the process and may name a FIFO. */
	e->fd = strcmp(path, "[vdso]") ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : open_vdso();
	int r = e->fd >= 0 ? 0 : e->fd == -1 ? -errno : e->fd;
	if (!r && fstat(e->fd, &st))
		r = -errno;
	if (r) {
		ty_err(err, r, "%s: cannot open: %s", path, strerror(-r));
	} else if (!S_ISREG(st.st_mode)) {
		r = ty_err(err, -ENOEXEC, "%s: not a regular file", path);
	} else {
		e->size = (uint64_t)st.st_size;
		e->mtime = st.st_mtim;
		e->elf = elf_begin(e->fd, ELF_C_READ, NULL);
		if (!e->elf)
			r = ty_err(err, -ENOEXEC, "%s: %s", path, elf_errmsg(-1));
	}
	if (!r)
		r = read_headers(e, err);
	if (!r)
		r = read_identity(e, want, err);
	if (r) {
		ty_elf_close(e);
		return r;
	}
	*ret = e;
	return 0;
}

void ty_elf_close(struct ty_elf *e)
{
	if (!e)
		return;
	ty_symbols_free(e->symbols);
	elf_end(e->elf);
	if (e->fd >= 0)
		close(e->fd);
	free(e->phdr);
	free(e->path);
	free(e);
}

const char *ty_elf_build_id(const struct ty_elf *e)
{
	return e->build_id;
}

void ty_elf_id(const struct ty_elf *e, struct ty_module_id *id)
{
	*id = e->id;
}

const char *ty_elf_path(const struct ty_elf *e)
{
	return e->path;
}

bool ty_elf_has_loader(const struct ty_elf *e)
{
	return ty_elf_phdr(e, PT_INTERP) != NULL;
}

bool ty_elf_changed(const struct ty_elf *e)
{
	struct stat st;
	return fstat(e->fd, &st) || (uint64_t)st.st_size != e->size || st.st_mtim.tv_sec != e->mtime.tv_sec ||
	       st.st_mtim.tv_nsec != e->mtime.tv_nsec;
}

int ty_elf_imports(struct ty_elf *e, int (*cb)(void *arg, const char *name), void *arg)
{
	for (Elf_Scn *scn = elf_nextscn(e->elf, NULL); scn; scn = elf_nextscn(e->elf, scn)) {
		GElf_Shdr sh;
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNSYM || !sh.sh_entsize)
			continue;
		Elf_Data *d = elf_getdata(scn, NULL);
		for (size_t i = 1; d && i < d->d_size / sh.sh_entsize; i++) {
			GElf_Sym sym;
			if (!gelf_getsym(d, (int)i, &sym) || sym.st_shndx != SHN_UNDEF)
				continue;
			const char *name = elf_strptr(e->elf, sh.sh_link, sym.st_name);
			if (!name || !*name)
				continue;
			int r = cb(arg, name);
			if (r)
				return r;
		}
	}
	return 0;
}

int ty_elf_read(struct ty_elf *e, uint64_t vaddr, void *buf, size_t n)
{
	for (size_t i = 0; i < e->phnum; i++) {
		const GElf_Phdr *p = &e->phdr[i];
		if (p->p_type != PT_LOAD || vaddr < p->p_vaddr || vaddr - p->p_vaddr > p->p_memsz ||
		    n > p->p_memsz - (vaddr - p->p_vaddr))
			continue;
		uint64_t off = vaddr - p->p_vaddr;
		size_t in_file = off >= p->p_filesz ? 0 : p->p_filesz - off < n ? p->p_filesz - off : n;
		memset((char *)buf + in_file, 0, n - in_file);
		return read_all(e->fd, p->p_offset + off, buf, in_file) ? -EFAULT : 0;
	}
	return -EFAULT;
}

static bool eh_frame_by_section(struct ty_elf *e, uint64_t *vaddr, uint64_t *offset, uint64_t *size)
{
	size_t strs;
	if (elf_getshdrstrndx(e->elf, &strs))
		return false;
	for (Elf_Scn *scn = elf_nextscn(e->elf, NULL); scn; scn = elf_nextscn(e->elf, scn)) {
		GElf_Shdr sh;
		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_ALLOC) || sh.sh_type == SHT_NOBITS)
			continue;
		const char *name = elf_strptr(e->elf, strs, sh.sh_name);
		if (!name || strcmp(name, ".eh_frame"))
			continue;
		*vaddr = sh.sh_addr, *offset = sh.sh_offset, *size = sh.sh_size;
		return sh.sh_size > 0;
	}
	return false;
}

bool ty_elf_eh_frame(struct ty_elf *e, uint64_t *vaddr, uint64_t *offset, uint64_t *size)
{
	if (eh_frame_by_section(e, vaddr, offset, size))
		return true;
	/* .eh_frame_hdr: version, three encodings, then the pointer to .eh_frame,
	 * in practice always 4 bytes relative to itself. */
	const GElf_Phdr *h = ty_elf_phdr(e, PT_GNU_EH_FRAME);
	struct {
		uint8_t version, ptr_enc, count_enc, table_enc;
		int32_t ptr;
	} hdr;
	if (!h || ty_elf_read(e, h->p_vaddr, &hdr, sizeof hdr) || hdr.version != 1 || hdr.ptr_enc != 0x1b)
		return false;
	*vaddr = h->p_vaddr + 4 + (uint64_t)(int64_t)hdr.ptr;
	for (size_t i = 0; i < e->phnum; i++) {
		const GElf_Phdr *p = &e->phdr[i];
		if (p->p_type != PT_LOAD || *vaddr < p->p_vaddr || *vaddr - p->p_vaddr >= p->p_filesz)
			continue;
		*offset = p->p_offset + (*vaddr - p->p_vaddr);
		*size = p->p_filesz - (*vaddr - p->p_vaddr);
		return true;
	}
	return false;
}
