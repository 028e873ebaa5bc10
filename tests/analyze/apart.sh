#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: sites of one operation and function are told apart by their callers.
. "$(dirname "$0")/../e2e/lib.sh"
cat >"$W/apart.c" <<'C'
#include <unistd.h>
#define NOINLINE __attribute__((noinline))
NOINLINE void wait_here(void) { usleep(1000); __asm__ volatile(""); }
NOINLINE void between(void) { wait_here(); __asm__ volatile(""); }
NOINLINE void first(void) { between(); __asm__ volatile(""); }
NOINLINE void second(void) { between(); __asm__ volatile(""); }
static inline __attribute__((always_inline)) void inlined(void) { usleep(1500); __asm__ volatile(""); }
NOINLINE void both(void)
{
	inlined();
	inlined();
}
NOINLINE void alone(void) { sleep(0); usleep(2000); __asm__ volatile(""); }
NOINLINE void twice(void)
{
	for (volatile int i = 0; i < 2; i++)
		second();
	second();
}
NOINLINE void places(void)
{
	usleep(1000);
	usleep(1500);
	__asm__ volatile("");
}
NOINLINE void again(int n)
{
	usleep(1000);
	if (n)
		again(n - 1);
	__asm__ volatile("");
}
int main(void)
{
	places();
	again(1);
	first();
	twice();
	both();
	alone();
	return 0;
}
C
$CC -O1 -g -fno-optimize-sibling-calls -o "$W/apart" "$W/apart.c" || { fail "compile"; done_; }
"$TARRY" record -q -o "$W/run.tarry" -- "$W/apart" || { fail "record"; done_; }
"$TARRY" report --top 20 "$W/run.tarry" >"$W/text" || fail "report"
check "one caller" grep -Eq 'usleep  wait_here < first( |$)' "$W/text"
check "another one, twice" [ "$(grep -Ec 'usleep  wait_here < twice:[12][0-9]( |$)' "$W/text")" = 2 ]
check "inlined, twice" grep -Eq 'usleep  inlined < both:10( |$)' "$W/text"
check "and once more" grep -Eq 'usleep  inlined < both:11( |$)' "$W/text"
check "two places in one function" [ "$(grep -Ec 'usleep  places at apart.c:(2[0-9])( |$)' "$W/text")" = 2 ]
check "its own call" grep -Eq 'usleep  again < itself at apart.c:3[0-9]( |$)' "$W/text"
check "not one's own" grep -Eq 'usleep  again < main:[34][0-9]( |$)' "$W/text"
if command -v "${CXX:-g++}" >/dev/null; then
	cat >"$W/std.cc" <<'C'
#include <condition_variable>
#include <mutex>
std::mutex m;
std::condition_variable c;
__attribute__((noinline)) void asks(int n)
{
	std::unique_lock<std::mutex> l(m);
	c.wait_for(l, std::chrono::milliseconds(1), [&n] { return --n == 0; });
}
int main() { asks(9); }
C
	"${CXX:-g++}" -O2 -g -pthread -o "$W/std" "$W/std.cc" || { fail "compile C++"; done_; }
	"$TARRY" record -q -o "$W/std.tarry" -- "$W/std" || { fail "record C++"; done_; }
	"$TARRY" report "$W/std.tarry" >"$W/std.text" || fail "report C++"
	check "templates of the standard library are no callers" grep -Eq 'pthread_cond_(clock|timed)wait  asks( |$)' "$W/std.text"
fi
check "none needed" grep -Eq 'usleep  alone( |$)' "$W/text"
done_
