/* SPDX-License-Identifier: MIT
 * Request markers of include/tarry/tarry.h, also without the library. */
#include "e2e.h"
#include "tarry/tarry.h"

static void *other(void *p)
{
	for (uint64_t i = 0; i < 7; i++) {
		tarry_request_resume(i);
		tarry_request_end(i);
	}
	return p;
}

int main(void)
{
	pthread_t t;
	for (uint64_t i = 0; i < 7; i++) {
		tarry_request_begin(i, i < 5 ? "checkout" : "a class name that is longer than is kept");
		tarry_request_pause(i);
	}
	CHECK(pthread_create(&t, NULL, other, NULL) == 0 && pthread_join(t, NULL) == 0);
	for (uint64_t i = 100; i < 111; i++) {
		tarry_request_begin(i, NULL);
		tarry_request_end(i);
	}
	expect("mark", "begin", 18);
	expect("mark", "end", 18);
	expect("mark", "pause", 7);
	expect("mark", "resume", 7);
	expect("class", "checkout", 5);
	expect("class", "a class name that is longer tha", 2);
	return 0;
}
