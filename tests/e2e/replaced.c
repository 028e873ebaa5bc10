/* SPDX-License-Identifier: MIT
 * Loads plug_one.so, then another file takes its place on disk before the first
 * wait in it; then waits there.  Names must be plug_one's or none. */
#include "e2e.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
	char one[4096], two[4096];
	int fd = scratch_file(), dir = (int)(strrchr(argv[0], '/') - argv[0]);
	snprintf(one, sizeof one, "%.*s/plug_one.so", dir, argv[0]);
	snprintf(two, sizeof two, "%.*s/plug_two.so", dir, argv[0]);
	void *h = dlopen(one, RTLD_NOW);
	void (*f)(int) = h ? (void (*)(int))dlsym(h, "plug_entry") : NULL;
	CHECK(f && rename(two, one) == 0);
	f(fd);
	expect("fsync", "waits", 2);
	expect("fsync", "path plug_two", 0);
	return 0;
}
