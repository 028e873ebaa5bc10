/* SPDX-License-Identifier: MIT
 * Sleeping, waiting for signals, giving up the CPU. */
#include "e2e.h"
#include <sched.h>
#include <signal.h>

static _Atomic int got;
static pthread_t sleeper;

static void on_signal(int sig) { atomic_fetch_add(&got, 1); }
static void kick(void *p) { CHECK(pthread_kill(sleeper, SIGUSR1) == 0); }
static void pause_here(void *p)
{
	sleeper = pthread_self();
	CHECK(pause() == -1 && errno == EINTR);
}
static void suspend(void *p)
{
	sigset_t none;
	sleeper = pthread_self();
	sigemptyset(&none);
	CHECK(sigsuspend(&none) == -1 && errno == EINTR);
}
static void wait_one(void *p)
{
	sigset_t set;
	int sig;
	sleeper = pthread_self();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	CHECK(sigwait(&set, &sig) == 0 && sig == SIGUSR1);
}
static void wait_info(void *p)
{
	sigset_t set;
	siginfo_t info;
	sleeper = pthread_self();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	CHECK(sigwaitinfo(&set, &info) == SIGUSR1);
}
static void wait_timed(void *p)
{
	sigset_t set;
	struct timespec t = {0, 2000000};
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	CHECK(sigtimedwait(&set, NULL, &t) == -1 && errno == EAGAIN);
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_signal};
	struct timespec t = {0, 1500000};
	CHECK(sigaction(SIGUSR1, &act, NULL) == 0);
	for (int i = 0; i < 7; i++)
		CHECK(nanosleep(&t, NULL) == 0);
	for (int i = 0; i < 5; i++)
		CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(usleep(1500) == 0);
	CHECK(sleep(1) == 0);
	for (int i = 0; i < 11; i++)
		CHECK(sched_yield() == 0);
	blocked(3, NULL, pause_here, kick, NULL);
	blocked(2, NULL, suspend, kick, NULL);
	CHECK(atomic_load(&got) == 5);
	blocked(5, NULL, wait_one, kick, NULL);
	blocked(7, NULL, wait_info, kick, NULL);
	blocked(3, NULL, wait_timed, NULL, NULL);
	expect("nanosleep", "waits", 7);
	expect("nanosleep", "atleast 1500000", 7);
	expect("nanosleep", "path main", 7);
	expect("clock_nanosleep", "waits", 5);
	expect("usleep", "waits", 3);
	expect("sleep", "waits", 1);
	expect("sched_yield", "fast", 11);
	expect("pause", "waits", 3);
	expect("pause", "errno EINTR", 3);
	expect("sigsuspend", "waits", 2);
	expect("sigwait", "waits", 5);
	expect("sigwaitinfo", "waits", 7);
	expect("sigtimedwait", "waits", 3);
	expect("sigtimedwait", "errno EAGAIN", 3);
	return 0;
}
