/* SPDX-License-Identifier: MIT
 * Plain preload (LD_PRELOAD and TARRY_STORE, no `tarry record`): starts the
 * recorder from the constructor.  Two raw clones without exit signal, so the
 * host gets no SIGCHLD and, once the first one is reaped here, has no child it
 * did not make.  Between clone and exec only system calls run.  Not where this
 * process would inherit the recorder: as PID 1 or as a child subreaper. */
#include "preload/init.h"

#include <limits.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define ANSWER_MS 2000

extern char **environ;
static char variable[128] = TY_ENV_ARENA "=";

/* Beside the library, or bin/ of the same prefix. */
static int find_tool(char path[PATH_MAX])
{
	Dl_info me;
	if (!dladdr((void *)(uintptr_t)find_tool, &me) || !me.dli_fname || me.dli_fname[0] != '/')
		return 0;
	const char *slash = strrchr(me.dli_fname, '/');
	size_t dir = (size_t)(slash - me.dli_fname);
	static const char *const where[] = { "/tarry", "/../../bin/tarry" };
	for (int i = 0; i < 2; i++) {
		if (dir + strlen(where[i]) >= PATH_MAX)
			return 0;
		memcpy(path, me.dli_fname, dir);
		memcpy(path + dir, where[i], strlen(where[i]) + 1);
		if (access(path, X_OK) == 0)
			return 1;
	}
	return 0;
}

static void number(char *to, long n)
{
	char b[24];
	int i = 0;
	do
		b[i++] = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	while (i > 0)
		*to++ = b[--i];
	*to = 0;
}

/* The second child: becomes the recorder.  Raw system calls, no return. */
static void become_recorder(const char *tool, const char *store, const char *config, int out, const char *host,
			    char **env)
{
	char fd[24];
	number(fd, out);
	const char *const argv[] = { "tarry", "--recorder", store, config, fd, host, NULL };
	ty_real.syscall(SYS_setsid);
	ty_real.syscall(SYS_fcntl, (long)out, (long)F_SETFD, 0L);
	if (out > 0)
		ty_real.syscall(SYS_close_range, 0L, (long)out - 1, 0L);
	ty_real.syscall(SYS_close_range, (long)out + 1, (long)INT_MAX, 0L);
	ty_real.syscall(SYS_execve, tool, argv, env);
	ty_real.syscall(SYS_exit_group, 127L);
}

/* fork without exit signal: flags 0, everything else 0, on every architecture. */
static long clone_plain(void)
{
	return ty_real.syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
}

/* The recorder must not be preloaded itself, nor its path be shadowed. */
static char **clean_environment(void)
{
	size_t n = 0, k = 0;
	while (environ[n])
		n++;
	char **e = mmap(NULL, (n + 1) * sizeof *e, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (e == MAP_FAILED)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0 && strncmp(environ[i], "TARRY_", 6) != 0)
			e[k++] = environ[i];
	return e;
}

/* One line from the recorder within the time. */
static int read_answer(int in, char *to, size_t size)
{
	size_t n = 0;
	uint64_t end = ty_now() + ANSWER_MS * 1000000ull;
	while (n + 1 < size) {
		uint64_t now = ty_now();
		struct pollfd p = { .fd = in, .events = POLLIN };
		int r = now < end ? ty_real.poll(&p, 1, (int)((end - now) / 1000000) + 1) : 0;
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return 0;
		ssize_t got = ty_real.read(in, to + n, 1);
		if (got <= 0)
			return 0;
		if (to[n] == '\n') {
			to[n] = 0;
			return to[0] != '!';
		}
		n++;
	}
	return 0;
}

/* environ with one more entry.  libc's own setenv would allocate; the array and
 * the text live as long as the process. */
static int add_variable(void)
{
	size_t n = 0;
	while (environ[n])
		n++;
	char **e = mmap(NULL, (n + 2) * sizeof *e, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (e == MAP_FAILED)
		return 0;
	memcpy(e, environ, n * sizeof *e);
	e[n] = variable;
	environ = e;
	return 1;
}

const char *ty_start_recorder(const char *store, const char *config)
{
	static char tool[PATH_MAX]; /* stacks may be small */
	char host[24];
	int fds[2], subreaper = 0, status;
	if (!store || !*store || getpid() == 1 || prctl(PR_GET_CHILD_SUBREAPER, &subreaper) || subreaper)
		return NULL;
	char **env = find_tool(tool) ? clean_environment() : NULL;
	if (!env || pipe2(fds, O_CLOEXEC))
		return NULL;
	number(host, getpid());
	long kid = clone_plain();
	if (kid == 0) {
		if (clone_plain() == 0)
			become_recorder(tool, store, config ? config : "", fds[1], host, env);
		ty_real.syscall(SYS_exit_group, 0L);
	}
	ty_real.close(fds[1]);
	char *answer = variable + sizeof(TY_ENV_ARENA "=") - 1;
	int ok = 0;
	if (kid > 0) {
		while (wait4((pid_t)kid, &status, __WALL, NULL) < 0 && errno == EINTR)
			;
		ok = read_answer(fds[0], answer, sizeof variable - sizeof(TY_ENV_ARENA "="));
	}
	ty_real.close(fds[0]);
	return ok && add_variable() ? answer : NULL;
}
