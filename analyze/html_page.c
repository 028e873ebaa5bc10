/* SPDX-License-Identifier: MIT
 *
 * The page of `tarry report --html` as tools/page.sh has put it together, in
 * two pieces: what comes before the data and what comes after.  Runs in readers. */
#include "analyze/html.h"

/* The assembler finds both in the build folder (Makefile). */
__asm__(".section .rodata\n"
	".balign 8\n"
	"ty_page_lengths: .quad 2f - 1f, 3f - 2f\n"
	"ty_page:\n"
	"1: .incbin \"page-before.html\"\n"
	"2: .incbin \"page-after.html\"\n"
	"3:\n"
	".previous\n");

extern const char ty_page[];
extern const uint64_t ty_page_lengths[2];

void ty_html_page(struct ty_html_text *before, struct ty_html_text *after)
{
	*before = (struct ty_html_text){ ty_page, ty_page_lengths[0] };
	*after = (struct ty_html_text){ ty_page + ty_page_lengths[0], ty_page_lengths[1] };
}
