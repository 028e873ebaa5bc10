/* SPDX-License-Identifier: MIT
 * Description: names that would do something if a page took them for more than
 * text: of functions, threads, files, classes of requests and arguments.
 *   hostile FOLDER    (its argument is hostile, too)
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tarry/tarry.h"

/* The assembler takes any name in quotes. */
void sleep_in_tag(void) __asm__("\"</script><script>window.hacked=1</script>\"");
void sync_in_tag(int fd) __asm__("\"<img src=x onerror=window.hacked=2>\"");

void __attribute__((noinline)) sleep_in_tag(void)
{
	nanosleep(&(struct timespec){ 0, 300000 }, NULL);
	__asm__ volatile("");
}

void __attribute__((noinline)) sync_in_tag(int fd)
{
	char byte = 'x';
	if (write(fd, &byte, 1) != 1 || fdatasync(fd))
		exit(1);
	__asm__ volatile("");
}

static const char *const classes[] = {
	"</script><script>window.hacked=3</script>",
	"<!--<script>",
	"]]>&lt;b&gt;\"'`${window.hacked=4}",
	"\xe2\x80\xaeright to left\xe2\x80\xac \xe2\x80\xa8line\xe2\x80\xa9 \xe2\x80\x8bnothing",
	"not UTF-8: \xff\xfe\xc0\xaf",
	"controls: \x01\x1b[31m\r\n\x7f",
	"\xf0\x9f\x90\x8c __proto__ constructor",
};

int main(int argc, char **argv)
{
	char path[1024];
	snprintf(path, sizeof path, "%s/<svg onload=window.hacked=5>&amp;\"'.dat", argc > 1 ? argv[1] : ".");
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		return 1;
	pthread_setname_np(pthread_self(), "<b>\"'&<i>");
	for (int i = 0; i < 70; i++) {
		tarry_request_begin((uint64_t)i + 1, classes[i % (int)(sizeof classes / sizeof *classes)]);
		sleep_in_tag();
		if (i % 3 == 0)
			sync_in_tag(fd);
		tarry_request_end((uint64_t)i + 1);
	}
	return 0;
}
