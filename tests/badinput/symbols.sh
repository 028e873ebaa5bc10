#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: names that a terminal would obey, of functions, threads, files,
# classes of requests and arguments: no report writes a control character.
. "$(dirname "$0")/lib.sh"

esc=$(printf '\033[31m')
cat >symbols.c <<'C'
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "tarry/tarry.h"

/* The assembler takes any name in quotes. */
void nap(void) __asm__("\"nap\033[31m\"");
void put(int fd) __asm__("\"put\033[31m\"");
void serve(int fd) __asm__("\"serve\033[31m\"");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void __attribute__((noinline)) nap(void)
{
	pthread_mutex_lock(&lock); /* two threads: one wakes the other */
	nanosleep(&(struct timespec){ 0, 300000 }, NULL);
	pthread_mutex_unlock(&lock);
}
void __attribute__((noinline)) put(int fd)
{
	if (write(fd, "x", 1) != 1 || fdatasync(fd))
		exit(1);
	__asm__ volatile("");
}
void __attribute__((noinline)) serve(int fd)
{
	nap();
	put(fd);
	put(fd);
	__asm__ volatile("");
}
static void *client(void *arg)
{
	static unsigned ids;
	pthread_setname_np(pthread_self(), "t\033[31m");
	for (int i = 0; i < 40; i++) {
		unsigned id = __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED);
		tarry_request_begin(id, "class\033[31m");
		serve(*(int *)arg);
		tarry_request_end(id);
	}
	return NULL;
}
int main(void)
{
	pthread_t t[2];
	int fd = open("data\033[31m", O_RDWR | O_CREAT, 0600);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, client, &fd);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return fd < 0;
}
C
cc -std=gnu11 -D_GNU_SOURCE -O2 -g -I"$TOP/include" -pthread -o "symbols$esc" symbols.c || fail "compile"
"$TARRY" record -q -o n.tarry -- "./symbols$esc" "argument$esc" || fail "record: $?"

# plain ARGUMENT...: this report succeeds, and has no control character but the end of a line
plain() {
	"$TARRY" "$@" >out 2>&1 || fail "status $?: $*: $(head -c 300 out)"
	[ -s out ] || fail "nothing is printed: $*"
	[ "$(tr -d '\n' <out | tr -dc '\000-\037\177' | wc -c)" = 0 ] ||
		fail "control characters: $*: $(grep -m 1 "$(printf '\033')" out | cat -v)"
}
for command in report tail tree blame info dump; do plain $command n.tarry; done
plain report --by operation n.tarry
plain report --requests site:nap n.tarry
plain tree --root serve n.tarry
plain info --all n.tarry
plain compare n.tarry n.tarry
plain export --format folded n.tarry
grep -q 'serve?\[31m' out || fail "the functions' names are not as the test has them: $(head -n 3 out)"
exit $FAILED
