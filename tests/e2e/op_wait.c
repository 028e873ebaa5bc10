/* SPDX-License-Identifier: MIT
 * Waiting for children in every way.  The children are raw forks, which end when
 * they are told to, so that none is recorded. */
#include "e2e.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static int gate[2];

static pid_t child(void)
{
	long pid = raw(SYS_clone, SIGCHLD, 0, 0);
	CHECK(pid >= 0);
	if (pid == 0) {
		char c;
		raw(SYS_read, gate[0], (long)&c, 1);
		raw(SYS_exit_group, 7, 0, 0);
	}
	return (pid_t)pid;
}

pid_t __wait(int *);
pid_t __waitpid(pid_t, int *, int);

static pid_t pid;
static int status;

static void hold(void *p) { pid = child(); }
static void release(void *p) { raw(SYS_write, gate[1], (long)"x", 1); }
static void ended(pid_t got) { CHECK(got == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7); }

static void any(void *p) { ended(wait(&status)); }
static void any_old(void *p) { ended(__wait(&status)); }
static NOINLINE void wait_here(void *p) { ended(waitpid(pid, &status, 0)); }
static void one_old(void *p) { ended(__waitpid(pid, &status, 0)); }
static void three(void *p)
{
	struct rusage u = { 0 };
	ended(wait3(&status, 0, &u));
}
static void four(void *p)
{
	struct rusage u = { 0 };
	ended(wait4(pid, &status, 0, &u));
}
static void by_id(void *p)
{
	siginfo_t i = { 0 };
	CHECK(waitid(P_PID, (id_t)pid, &i, WEXITED) == 0 && i.si_pid == pid && i.si_status == 7);
}

int main(void)
{
	CHECK(pipe(gate) == 0);
	blocked(2, hold, any, release, NULL);
	blocked(3, hold, any_old, release, NULL);
	blocked(7, hold, wait_here, release, NULL);
	blocked(3, hold, one_old, release, NULL);
	blocked(2, hold, three, release, NULL);
	blocked(5, hold, four, release, NULL);
	blocked(3, hold, by_id, release, NULL);
	errno = 0;
	CHECK(waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD);
	expect("wait", "waits", 2);
	expect("__wait", "waits", 3);
	expect("waitpid", "waits", 8);
	expect("waitpid", "path wait_here", 7);
	expect("waitpid", "errno ECHILD", 1);
	expect("__waitpid", "waits", 3);
	expect("wait3", "waits", 2);
	expect("wait4", "waits", 5);
	expect("waitid", "waits", 3);
	return 0;
}
