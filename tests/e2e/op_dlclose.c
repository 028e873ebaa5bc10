/* SPDX-License-Identifier: MIT
 * libs: plug
 * A plug-in is loaded, waits, is unloaded, and another one takes its place, at
 * the same address if the loader likes: paths carry the right names. */
#include "e2e.h"
#include <dlfcn.h>

static void use(const char *self, const char *which, int fd)
{
	char path[4096];
	snprintf(path, sizeof path, "%.*s/plug_%s.so", (int)(strrchr(self, '/') - self), self, which);
	void *h = dlopen(path, RTLD_NOW);
	if (!h) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(1);
	}
	void (*f)(int) = (void (*)(int))dlsym(h, "plug_entry");
	CHECK(f);
	f(fd);
	CHECK(dlclose(h) == 0);
}

int main(int argc, char **argv)
{
	int fd = scratch_file();
	for (int i = 0; i < 7; i++) {
		use(argv[0], "one", fd);
		use(argv[0], "two", fd);
	}
	expect("fsync", "waits", 35);
	expect("fsync", "path plug_one", 14);
	expect("fsync", "path plug_two", 21);
	expect("dlclose", "calls", 14);
	return 0;
}
