/* SPDX-License-Identifier: MIT
 *
 * Looks at a command before it is started: is it there, may it be run, and
 * does LD_PRELOAD reach it.  Runs in `tarry record` only.  A recording that
 * stays empty for a reason that could be known beforehand is a bad answer, so
 * such programs are refused, with what to do instead.
 */
#include "recorder/program.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "common/err.h"

#define SCRIPTS_MAX 4 /* interpreters of interpreters; the kernel's own limit */

/* ---- finding it ---- */

static int usable(const char *path)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return access(path, X_OK) < 0 ? -errno : 0;
}

static int not_usable(const char *command, int rc, char *err)
{
	if (rc == -ENOENT || rc == -ENOTDIR)
		return ty_err(err, -ENOENT, "%s: no such command", command);
	return ty_err(err, -EACCES, "%s: cannot be executed: %s", command, strerror(-rc));
}

static int find_command(const char *command, char *path, size_t size, char *err)
{
	const char *dirs = getenv("PATH");
	int rc = -ENOENT;
	if (strchr(command, '/')) {
		rc = usable(command);
		snprintf(path, size, "%s", command);
		return rc < 0 ? not_usable(command, rc, err) : 0;
	}
	for (const char *d = dirs ? dirs : "/usr/local/bin:/usr/bin:/bin"; *command; d++) {
		size_t n = strcspn(d, ":");
		if (snprintf(path, size, "%.*s%s%s", (int)n, d, n ? "/" : "", command) < (int)size) {
			int one = usable(path);
			if (one == 0)
				return 0;
			rc = one == -EACCES ? one : rc;
		}
		d += n;
		if (!*d)
			break;
	}
	return not_usable(command, rc, err);
}

/* ---- what it is ---- */

/* "#!INTERPRETER [ARG]" */
static bool script(int fd, char *interpreter, size_t size)
{
	char line[256];
	ssize_t n = pread(fd, line, sizeof line - 1, 0);
	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = 0;
	char *p = line + 2 + strspn(line + 2, " \t");
	p[strcspn(p, " \t\r\n")] = 0;
	snprintf(interpreter, size, "%s", p);
	return *p != 0;
}

static const char *sanitizer_of(Elf *e)
{
	static const struct { const char *symbol, *lib, *what; } known[] = {
		{ "__asan_init", "libasan.so", "AddressSanitizer" },
		{ "__tsan_init", "libtsan.so", "ThreadSanitizer" },
		{ "__msan_init", "libmsan.so", "MemorySanitizer" },
	};
	for (Elf_Scn *s = NULL; (s = elf_nextscn(e, s));) {
		GElf_Shdr h;
		Elf_Data *d;
		if (!gelf_getshdr(s, &h) || (h.sh_type != SHT_DYNSYM && h.sh_type != SHT_DYNAMIC) || !h.sh_entsize ||
		    !(d = elf_getdata(s, NULL)))
			continue;
		for (size_t i = 0; i < h.sh_size / h.sh_entsize; i++) {
			const char *name = NULL;
			GElf_Sym y;
			GElf_Dyn dyn;
			if (h.sh_type == SHT_DYNSYM && gelf_getsym(d, (int)i, &y))
				name = elf_strptr(e, h.sh_link, y.st_name);
			else if (h.sh_type == SHT_DYNAMIC && gelf_getdyn(d, (int)i, &dyn) && dyn.d_tag == DT_NEEDED)
				name = elf_strptr(e, h.sh_link, dyn.d_un.d_val);
			for (size_t k = 0; name && k < sizeof known / sizeof *known; k++)
				if (strcmp(name, known[k].symbol) == 0 ||
				    strncmp(name, known[k].lib, strlen(known[k].lib)) == 0)
					return known[k].what;
		}
	}
	return NULL;
}

static bool has_interpreter(Elf *e)
{
	size_t n = 0;
	elf_getphdrnum(e, &n);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;
		if (gelf_getphdr(e, (int)i, &p) && p.p_type == PT_INTERP)
			return true;
	}
	return false;
}

/* The loader can be run as a program; it preloads for what it starts. */
static bool is_loader(const char *path)
{
	const char *slash = strrchr(path, '/');
	return strncmp(slash ? slash + 1 : path, "ld-", 3) == 0;
}

/* EM_NONE: cannot be found out here. */
static int own_machine(void)
{
	Elf64_Ehdr h = { 0 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, &h, sizeof h, 0) != sizeof h)
		h.e_machine = EM_NONE;
	if (fd >= 0)
		close(fd);
	return h.e_machine;
}

static int check_elf(Elf *e, const char *path, char *err)
{
	GElf_Ehdr h;
	const char *sanitizer;
	if (!gelf_getehdr(e, &h))
		return ty_err(err, -EACCES, "%s: damaged ELF file", path);
	if (gelf_getclass(e) != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
		return ty_err(err, -ENOTSUP, "%s is a %d-bit program; tarry records %d-bit programs only", path,
			      sizeof(void *) == 8 ? 32 : 64, (int)sizeof(void *) * 8);
	int own = own_machine();
	if (own != EM_NONE && h.e_machine != own)
		return ty_err(err, -ENOTSUP, "%s is built for another processor (ELF machine %d)", path, h.e_machine);
	if (!has_interpreter(e) && !is_loader(path))
		return ty_err(err, -ENOTSUP, "%s is statically linked: LD_PRELOAD cannot reach it; link it dynamically "
			      "(Go: with cgo, or use Go's own tracer)", path);
	if ((sanitizer = sanitizer_of(e)))
		return ty_err(err, -ENOTSUP, "%s is built with %s, which must be the first library; record a build "
			      "without -fsanitize", path, sanitizer);
	return 0;
}

/* Would the kernel call this execution secure, so that ld.so drops LD_PRELOAD? */
static void check_secure(int fd, const char *path, struct ty_program *p)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return;
	bool uid = (st.st_mode & S_ISUID) && st.st_uid != geteuid();
	bool gid = (st.st_mode & S_ISGID) && st.st_gid != getegid();
	bool caps = geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
	if (uid || gid || caps)
		snprintf(p->warning, sizeof p->warning, "%s is not traced: secure execution (%s); run tarry as its owner",
			 path, uid ? "set-uid" : gid ? "set-gid" : "file capabilities");
}

static int check_file(const char *path, struct ty_program *p, int depth, char *err)
{
	char interpreter[PATH_MAX], head[SELFMAG];
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	if (fd < 0)
		return 0; /* executable but not readable: nothing is known */
	check_secure(fd, path, p);
	if (script(fd, interpreter, sizeof interpreter)) {
		close(fd);
		rc = usable(interpreter);
		if (rc < 0)
			return ty_err(err, rc == -ENOENT ? -ENOENT : -EACCES, "%s: its interpreter %s: %s", path,
				      interpreter, strerror(-rc));
		return depth < SCRIPTS_MAX ? check_file(interpreter, p, depth + 1, err) : 0;
	}
	elf_version(EV_CURRENT);
	Elf *e = elf_begin(fd, ELF_C_READ, NULL);
	if (e && elf_kind(e) == ELF_K_ELF)
		rc = check_elf(e, path, err);
	else if (pread(fd, head, sizeof head, 0) == sizeof head && !memcmp(head, ELFMAG, SELFMAG))
		/* execvp would hand it to the shell */
		rc = ty_err(err, -EACCES, "%s: damaged ELF file", path);
	elf_end(e);
	close(fd);
	return rc;
}

int ty_program_check(const char *command, struct ty_program *p, char *err)
{
	p->warning[0] = 0;
	int rc = find_command(command, p->path, sizeof p->path, err);
	return rc < 0 ? rc : check_file(p->path, p, 0, err);
}

/* ---- the library ---- */

/* ld.so splits the list, and puts folders and such for $ORIGIN, ${LIB}, $PLATFORM. */
static bool preloadable(const char *path)
{
	static const char *const replaced[] = { "$ORIGIN", "$LIB", "$PLATFORM", "${" };
	for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
		if (strstr(path, replaced[i]))
			return false;
	return !strpbrk(path, " :\t\n");
}

int ty_library_find(char *path, size_t size, char *err)
{
	static const char *const where[] = { "libtarry.so", "../lib/tarry/libtarry.so" };
	char exe[PATH_MAX], tried[PATH_MAX + 64], full[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	exe[n < 0 ? 0 : n] = 0;
	char *slash = strrchr(exe, '/');
	if (slash)
		slash[1] = 0;
	for (size_t i = 0; i < sizeof where / sizeof *where; i++) {
		snprintf(tried, sizeof tried, "%s%s", exe, where[i]);
		if (access(tried, R_OK) < 0 || !realpath(tried, full))
			continue;
		if (!preloadable(full) || strlen(full) >= size)
			return ty_err(err, -EINVAL, "LD_PRELOAD cannot hold the path \"%s\"; install tarry in a folder "
				      "without spaces, colons and dollar signs", full);
		memcpy(path, full, strlen(full) + 1);
		return 0;
	}
	return ty_err(err, -ENOENT, "libtarry.so is neither beside the tarry program nor in ../lib/tarry; "
		      "run make or make install");
}
