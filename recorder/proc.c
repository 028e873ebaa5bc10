/* SPDX-License-Identifier: MIT
 * Readers of /proc for the recorder.  Traced processes may end at any moment
 * or be out of reach (other user, hidepid), so nothing here is an error. */
#include "recorder/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

ssize_t ty_proc_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	buf[0] = 0;
	if (fd < 0)
		return -errno;
	size_t n = 0;
	ssize_t r = 0;
	while (n < size - 1 && (r = read(fd, buf + n, size - 1 - n)) > 0)
		n += (size_t)r;
	int e = errno;
	close(fd);
	buf[n] = 0;
	return r < 0 ? -e : (ssize_t)n;
}

void ty_proc_cpu(char *buf, size_t size)
{
	char text[16384] = "";
	ty_proc_read("/proc/cpuinfo", text, sizeof text);
	char *p = strstr(text, "model name"), *colon = p ? strchr(p, ':') : NULL, *end = colon ? strchr(colon, '\n') : NULL;
	buf[0] = 0;
	if (!end)
		return;
	*end = 0;
	snprintf(buf, size, "%s", colon + 1 + strspn(colon + 1, " "));
}

uint64_t ty_proc_start(pid_t pid)
{
	char path[64], buf[1024];
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	if (ty_proc_read(path, buf, sizeof buf) <= 0)
		return 0;
	char *p = strrchr(buf, ')'); /* the name may hold anything, also ')' */
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

void ty_proc_comm(pid_t pid, uint32_t tid, char *buf, size_t size)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task/%u/comm", pid, tid);
	ssize_t n = ty_proc_read(path, buf, size);
	if (n > 0 && buf[n - 1] == '\n')
		buf[n - 1] = 0;
}

void ty_proc_cmdline(pid_t pid, char *buf, size_t size)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
	ssize_t n = ty_proc_read(path, buf, size);
	while (n > 0 && buf[n - 1] == 0)
		n--;
	for (ssize_t i = 0; i < n; i++)
		if ((unsigned char)buf[i] < ' ')
			buf[i] = ' ';
	if (n >= 0)
		buf[n] = 0;
}

int ty_proc_schedstat(pid_t pid, uint32_t tid, uint64_t *cpu, uint64_t *runq)
{
	char path[64], buf[128];
	snprintf(path, sizeof path, "/proc/%d/task/%u/schedstat", pid, tid);
	ssize_t n = ty_proc_read(path, buf, sizeof buf);
	if (n == -ENOENT || n == -ESRCH) {
		/* only when the process itself can be seen is the thread really gone */
		snprintf(path, sizeof path, "/proc/%d/task/%u", pid, tid);
		if (access(path, F_OK) == 0)
			return -ENOTSUP; /* kernel without schedstat */
		snprintf(path, sizeof path, "/proc/%d/task", pid);
		return access(path, F_OK) == 0 ? -ENOENT : -ESRCH;
	}
	unsigned long long c, r;
	if (n <= 0 || sscanf(buf, "%llu %llu", &c, &r) != 2)
		return n < 0 ? (int)n : -EIO;
	*cpu = c;
	*runq = r;
	return 0;
}

bool ty_proc_alive(pid_t pid)
{
	return kill(pid, 0) == 0 || errno != ESRCH;
}

void ty_proc_root(pid_t pid, char *buf, size_t size)
{
	struct stat ours, theirs;
	snprintf(buf, size, "/proc/%d/root", pid);
	if (stat("/", &ours) < 0 || stat(buf, &theirs) < 0 ||
	    (ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino))
		buf[0] = 0;
}
