/* SPDX-License-Identifier: MIT
 * prctl: only counted; all five words go through. */
#include "e2e.h"
#include <linux/prctl.h>

int prctl(int option, ...);

int main(void)
{
	char name[16] = "", set[16] = "five-words";
	for (int i = 0; i < 3; i++)
		CHECK(prctl(PR_SET_NAME, set, 0, 0, 0) == 0);
	CHECK(prctl(PR_GET_NAME, name, 0, 0, 0) == 0 && strcmp(name, set) == 0);
	CHECK(prctl(-1, 0, 0, 0, 0) == -1 && errno == EINVAL);
	/* the kernel refuses this one when its fifth word is not 0 */
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 1) == -1 && errno == EINVAL);
	expect("prctl", "fast", 7);
	return 0;
}
