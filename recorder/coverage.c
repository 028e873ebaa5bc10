/* SPDX-License-Identifier: MIT
 *
 * Coverage: the undefined dynamic symbols of every module seen, against the
 * table of wrapped functions, a list of functions that wait and are not
 * wrapped, and signs of code that waits without any call (inline futexes,
 * io_uring, spinning).  An empty recording must not be taken for "no waits".
 * Imports are read by the worker, the JSON is made by the main thread.
 */
#include "recorder/coverage.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "recorder/meta.h"
#include "recorder/recorder.h"

static const char *const wrapped_names[] = {
#define TY_W(ret, name, ver, need, cls, body, params, args, obj, try) #name,
#include "tarry/wrap.def"
};

/* May wait, and pass by the table: libc waits inside. At most 64. */
static const char *const unwrapped_names[] = {
	"fread", "fwrite", "fflush", "fgets", "fgetc", "getline", "getdelim", "fputs", "puts", "fclose", "fprintf",
	"vfprintf", "fsetpos", "flockfile", "open", "open64", "openat", "openat64", "fopen", "fopen64", "rename",
	"unlink", "ftruncate", "ftruncate64", "fallocate", "fallocate64", "posix_fallocate", "posix_fallocate64",
	"system", "popen", "pclose", "posix_spawn", "posix_spawnp",
	"semop", "semtimedop", "msgrcv", "msgsnd", "mq_receive", "mq_timedreceive", "mq_send", "mq_timedsend",
	"aio_suspend", "aio_suspend64", "aio_fsync", "lio_listio", "lio_listio64", "getaddrinfo", "gethostbyname",
	"getnameinfo", "tcdrain", "getrandom", "getentropy", "syslog", "readahead",
};

/* What can wait without a call: by prefix of an imported name. */
static const struct { const char *prefix, *what; } unseen_parts[] = {
	{ "GOMP_", "OpenMP (libgomp): spins, and waits by inline futexes" },
	{ "__kmpc_", "OpenMP (LLVM): spins, and waits inside its own runtime" },
	{ "io_uring_", "io_uring: completions are read from shared memory; only io_uring_enter through syscall() is seen" },
	{ "pthread_spin_", "spin locks: a waiter burns CPU; only failed first tries are timed" },
	{ "userfaultfd", "userfaultfd: page faults wait without a call" },
};

#define COUNT(a) (sizeof(a) / sizeof *(a))
_Static_assert(COUNT(wrapped_names) == TY_OP_FUNCTIONS, "one name a row");
_Static_assert(COUNT(unwrapped_names) <= 64 && COUNT(unseen_parts) <= 63, "bits of a word");

static int one(void *arg, const char *name)
{
	struct ty_imports *out = arg;
	for (size_t i = 0; i < COUNT(wrapped_names); i++)
		if (strcmp(name, wrapped_names[i]) == 0)
			out->wrapped[i / 64] |= 1ull << i % 64;
	for (size_t i = 0; i < COUNT(unwrapped_names); i++)
		if (strcmp(name, unwrapped_names[i]) == 0)
			out->unwrapped |= 1ull << i;
	for (size_t i = 0; i < COUNT(unseen_parts); i++)
		if (strncmp(name, unseen_parts[i].prefix, strlen(unseen_parts[i].prefix)) == 0)
			out->unseen |= 1ull << i;
	return 0;
}

void ty_coverage_imports(struct ty_elf *e, const char *path, struct ty_imports *out)
{
	memset(out, 0, sizeof *out);
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	/* libc's own parts and the library import each other's waits: not the program's */
	if (strncmp(base, "libc.so", 7) == 0 || strncmp(base, "libtarry.so", 11) == 0 ||
	    strncmp(base, "ld-linux", 8) == 0 || strncmp(base, "libpthread", 10) == 0)
		return;
	ty_elf_imports(e, one, out);
}

/* Names that some module imports, with the modules that do. */
static json_t *by_module(const struct ty_recorder *r)
{
	json_t *list = json_array();
	for (size_t m = 0; m < r->modules.count; m++) {
		const struct ty_rmodule *mod = &r->modules.module[m];
		json_t *wrapped = json_array(), *unwrapped = json_array();
		for (size_t i = 0; i < COUNT(wrapped_names); i++)
			if (mod->imports.wrapped[i / 64] >> i % 64 & 1)
				json_array_append_new(wrapped, json_string(wrapped_names[i]));
		for (size_t i = 0; i < COUNT(unwrapped_names); i++)
			if (mod->imports.unwrapped >> i & 1)
				json_array_append_new(unwrapped, json_string(unwrapped_names[i]));
		if (json_array_size(wrapped) || json_array_size(unwrapped))
			json_array_append_new(list, json_pack("{s:o, s:O, s:O}", "module", ty_meta_text(mod->path),
							      "wrapped", wrapped, "unwrapped", unwrapped));
		json_decref(wrapped);
		json_decref(unwrapped);
	}
	return list;
}

char *ty_coverage_json(const struct ty_recorder *r)
{
	uint64_t unseen = 0, unread = 0;
	for (size_t m = 0; m < r->modules.count; m++) {
		unseen |= r->modules.module[m].imports.unseen;
		unread += r->modules.module[m].built && !r->modules.module[m].elf;
	}
	json_t *parts = json_array();
	for (size_t i = 0; i < COUNT(unseen_parts); i++)
		if (unseen >> i & 1)
			json_array_append_new(parts, json_string(unseen_parts[i].what));
	json_array_append_new(parts, json_string("malloc's and stdio's inner locks, page faults"));
	json_t *all = json_pack("{s:o, s:o, s:I}", "modules", by_module(r), "unseen", parts, "modules_not_read",
				(json_int_t)unread);
	char *text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	return text;
}
