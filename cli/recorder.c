/* SPDX-License-Identifier: MIT
 * tarry --recorder STORE CONFIG FD HOSTPID: the recorder of a plain preload,
 * started by the library inside a host (preload/start.c) and nobody's child.
 * It has no terminal and no one to talk to: one line of trouble goes through
 * FD while the host still waits for the locator, and to STORE.log. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/cmd.h"
#include "common/err.h"
#include "recorder/proc.h"
#include "recorder/session.h"

#define WORDS_MAX 512

static void log_line(const char *store, const char *text)
{
	char path[4200];
	snprintf(path, sizeof path, "%s.log", store);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		return; /* nowhere left to say it */
	dprintf(fd, "tarry: %s\n", text);
	close(fd);
}

/* To the library that started us: the locator, or "!" and why not. */
static void answer(int fd, const char *mark, const char *text)
{
	dprintf(fd, "%s%s\n", mark, text);
	close(fd);
}

/* No descriptor, signal or variable of the host stays with us. */
static void detach(int keep)
{
	setsid();
	if (keep > 3)
		close_range(3, (unsigned)keep - 1, 0);
	close_range((unsigned)keep + 1, ~0u, 0);
	int null = open("/dev/null", O_RDWR);
	for (int i = 0; i < 3; i++)
		if (i != keep && null >= 0 && null != i)
			dup2(null, i);
	if (null > 2 && null != keep)
		close(null);
	fcntl(keep, F_SETFD, FD_CLOEXEC);
	static const int ignored[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGTTOU, SIGTTIN, SIGXFSZ };
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	unsetenv("LD_PRELOAD");
	unsetenv("TARRY_STORE");
	unsetenv("TARRY_CONFIG");
	unsetenv("TARRY_ARENA");
}

/* The host's own command line, for the store. */
static void host_command(int pid, char *buf, size_t size, char **words)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
	ssize_t n = ty_proc_read(path, buf, size);
	size_t count = 0;
	for (char *p = buf; n > 0 && p < buf + n && count < WORDS_MAX; p += strlen(p) + 1)
		words[count++] = p;
	words[count] = NULL;
}

static int record(struct ty_settings *set, const char *store, int fd, int host, char *err)
{
	static char line[65536];
	static char *words[WORDS_MAX + 1];
	struct ty_recorder *r;
	struct ty_summary sum;
	host_command(host, line, sizeof line, words);
	int rc = ty_session_start(&r, set, store, words, err);
	if (rc < 0)
		return rc;
	ty_session_watch_pid(r, host);
	answer(fd, "", ty_session_locator(r));
	do
		ty_session_turn(r);
	while (ty_session_alive(r));
	ty_session_finish(r, false, &sum);
	for (uint32_t i = 0; i < sum.notes; i++)
		log_line(store, sum.note[i]);
	if (sum.refused) {
		snprintf(line, sizeof line, "%u process(es) were built for another version of tarry and stayed off",
			 sum.refused);
		log_line(store, line);
	}
	return *sum.trouble ? ty_err(err, -EIO, "the recording is not complete: %s", sum.trouble) : 0;
}

/* Nobody is there who would write into a named pipe, or end us while we wait for that. */
static int read_settings(struct ty_settings *set, const char *config, char *err)
{
	struct stat st;
	if (stat(config, &st) == 0 && S_ISFIFO(st.st_mode))
		return ty_err(err, -EINVAL, "%s: a pipe; the configuration of a plain preload must be a file", config);
	return ty_settings_read(set, config, err);
}

int cmd_recorder(int argc, char **argv)
{
	struct ty_settings set;
	char err[TY_ERR_MAX] = "";
	if (argc != 5) {
		ty_say("--recorder is for libtarry.so; use `tarry record`");
		return TY_EXIT_USAGE;
	}
	const char *store = argv[1], *config = argv[2];
	int fd = atoi(argv[3]), host = atoi(argv[4]), rc = 0;
	if (fcntl(fd, F_GETFD) < 0 || host <= 0) {
		ty_say("--recorder is for libtarry.so; use `tarry record`");
		return TY_EXIT_USAGE;
	}
	detach(fd);
	ty_settings_default(&set);
	if (*config)
		rc = read_settings(&set, config, err);
	if (rc == 0 && ty_orders_warning(&set.orders, err))
		log_line(store, err);
	if (rc == 0)
		rc = record(&set, store, fd, host, err);
	if (rc < 0) {
		log_line(store, err);
		answer(fd, "!", err); /* closed already, and so without effect, once recording */
	}
	ty_settings_free(&set);
	return rc < 0 ? TY_EXIT_FAIL : TY_EXIT_OK;
}
