/* SPDX-License-Identifier: MIT
 * libs: plug
 * Forked siblings load different plug-ins, which the loader puts at the same
 * address in each: paths carry the right names all the same. */
#include "e2e.h"
#include <dlfcn.h>
#include <sys/wait.h>

static void child(const char *self, const char *which, int fd)
{
	char path[4096];
	snprintf(path, sizeof path, "%.*s/plug_%s.so", (int)(strrchr(self, '/') - self), self, which);
	void *h = dlopen(path, RTLD_NOW);
	void (*f)(int) = h ? (void (*)(int))dlsym(h, "plug_entry") : NULL;
	if (!f)
		_exit(1);
	f(fd);
	_exit(0);
}

int main(int argc, char **argv)
{
	int fd = scratch_file(), status;
	for (int i = 0; i < 7; i++)
		for (int k = 0; k < 2; k++) {
			pid_t p = fork();
			if (p == 0)
				child(argv[0], k ? "one" : "two", fd);
			CHECK(p > 0 && waitpid(p, &status, 0) == p && status == 0);
		}
	expect("fsync", "waits", 35);
	expect("fsync", "path plug_one", 14);
	expect("fsync", "path plug_two", 21);
	return 0;
}
