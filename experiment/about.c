/* SPDX-License-Identifier: MIT
 *
 * Provenance of samples: the comments at the begin of their file.  Runs in
 * `tarry experiment`. */
#include "experiment/experiment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>
#include "recorder/proc.h"

/* The command as a shell would take it; NULL: no memory. */
static char *command_words(char *const *word)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	for (char *const *first = word; f && word && *word; word++) {
		bool plain = **word && strspn(*word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
						     "_-+=./:,@%") == strlen(*word);
		fputs(word == first ? "" : " ", f);
		if (plain) {
			fputs(*word, f);
			continue;
		}
		fputc('\'', f);
		for (const char *p = *word; *p; p++)
			fputs(*p == '\'' ? "'\\''" : (char[]){ *p, 0 }, f);
		fputc('\'', f);
	}
	if (!f || fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

static int about_machine(struct ty_samples *s)
{
	struct utsname u = { 0 };
	char cpu[256];
	double load[3] = { 0 };
	ty_proc_cpu(cpu, sizeof cpu);
	uname(&u);
	if (getloadavg(load, 3) != 3)
		load[0] = load[1] = load[2] = 0;
	int rc = ty_samples_about(s, "host", "%s", u.nodename);
	if (rc == 0)
		rc = ty_samples_about(s, "kernel", "%s %s %s", u.sysname, u.release, u.machine);
	if (rc == 0)
		rc = ty_samples_about(s, "cpu", "%s", *cpu ? cpu : "unknown");
	if (rc == 0)
		rc = ty_samples_about(s, "cores", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	if (rc == 0)
		rc = ty_samples_about(s, "load at start", "%.2f %.2f %.2f", load[0], load[1], load[2]);
	return rc;
}

int ty_experiment_about(struct ty_experiment *x)
{
	struct ty_samples *s = &x->samples;
	XXH128_hash_t h = XXH3_128bits(x->text, x->len);
	time_t now = time(NULL);
	struct tm tm;
	char date[64], *command = command_words(x->command);
	if (!command)
		return -ENOMEM;
	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	int rc = ty_samples_about(s, "tarry", "%s", TY_VERSION);
	if (rc == 0)
		rc = ty_samples_about(s, "date", "%s", date);
	if (rc == 0)
		rc = ty_samples_about(s, "command", "%s", command);
	if (rc == 0)
		rc = ty_samples_about(s, "file", "%s", x->config);
	if (rc == 0)
		rc = ty_samples_about(s, "file xxh128", "%016llx%016llx", (unsigned long long)h.high64,
				      (unsigned long long)h.low64);
	free(command);
	return rc == 0 ? about_machine(s) : rc;
}
