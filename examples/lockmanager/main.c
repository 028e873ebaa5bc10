/* SPDX-License-Identifier: MIT
 *
 * Options and processes of the lock manager.  --serve and --load run the two
 * halves; without either, the clients are a child process, forked before any
 * thread exists.  Exit status 0 when every transaction was answered and every
 * counter is right, 1 on failure, 2 on wrong usage.
 */
#include "lockmanager.h"
#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum mode { BOTH, SERVE, LOAD };

struct options {
	enum mode mode;
	struct load_plan load;
	struct table_plan table;
};

static volatile int stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void usage(FILE *f)
{
	fprintf(f, "usage: lockmanager [OPTION]...                server and clients\n"
		   "       lockmanager --serve PORT [OPTION]...   until SIGTERM or SIGINT; 0: any port\n"
		   "       lockmanager --load PORT [OPTION]...\n"
		   "  --objects N        that can be locked (64); the same for both halves\n"
		   "server:\n"
		   "  --access US        mean time to read one object (1000)\n"
		   "  --commit US        mean time of a commit (1000)\n"
		   "  --patience MS      for one lock, then the transaction is rolled back (0: no bound)\n"
		   "clients:\n"
		   "  --connections N    (128)\n"
		   "  --think MS         mean time from an answer to the next transaction of the connection (200)\n"
		   "  --rate N           transactions a second instead, whatever has been answered (0: --think)\n"
		   "  --locks N          a transaction takes 1 to N, at most 16 (6)\n"
		   "  --skew S           the k-th most wanted object is wanted 1/k^S times as often as the first (0.5)\n"
		   "  --seconds S        of load (5), after --warmup S (1) that are not counted\n"
		   "  --latencies FILE   of each transaction, in ns, one a line\n"
		   "  --seed N           (1)\n");
}

static double number(const char *text, double low, double high)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || *end || !(v >= low && v <= high)) {
		fprintf(stderr, "lockmanager: '%s' is not a number from %g to %g\n", text, low, high);
		exit(2);
	}
	return v;
}

static const struct option names[] = {
	{"serve", 1, 0, 'S'}, {"load", 1, 0, 'L'}, {"objects", 1, 0, 'o'}, {"access", 1, 0, 'a'},
	{"commit", 1, 0, 'c'}, {"patience", 1, 0, 'p'}, {"connections", 1, 0, 'n'}, {"rate", 1, 0, 'r'}, {"think", 1, 0, 't'},
	{"locks", 1, 0, 'k'}, {"skew", 1, 0, 'w'}, {"seconds", 1, 0, 's'}, {"warmup", 1, 0, 'u'},
	{"latencies", 1, 0, 'f'}, {"seed", 1, 0, 'e'}, {"help", 0, 0, 'h'}, {0, 0, 0, 0}};

static void parse_options(int argc, char **argv, struct options *o)
{
	for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
		switch (c) {
		case 'S': o->mode = SERVE; o->load.port = (unsigned)number(optarg, 0, 65535); break;
		case 'L': o->mode = LOAD; o->load.port = (unsigned)number(optarg, 1, 65535); break;
		case 'o': o->load.objects = o->table.objects = (unsigned)number(optarg, LOCKS_MAX, OBJECTS_MAX); break;
		case 'a': o->table.access_ns = 1e3 * number(optarg, 0, 1e6); break;
		case 'c': o->table.commit_ns = 1e3 * number(optarg, 0, 1e6); break;
		case 'p': o->table.patience_ns = (uint64_t)(1e6 * number(optarg, 0, 1e6)); break;
		case 'n': o->load.connections = (unsigned)number(optarg, 1, CONNECTIONS_MAX); break;
		case 'r': o->load.rate = number(optarg, 0, 1e6); break;
		case 't': o->load.think_ns = 1e6 * number(optarg, 0, 1e6); break;
		case 'k': o->load.locks = (unsigned)number(optarg, 1, LOCKS_MAX); break;
		case 'w': o->load.skew = number(optarg, 0, 10); break;
		case 's': o->load.seconds = number(optarg, 0, 1e6); break;
		case 'u': o->load.warmup = number(optarg, 0, 1e6); break;
		case 'f': o->load.latencies = optarg; break;
		case 'e': o->load.seed = (uint64_t)number(optarg, 0, 1e15); break;
		case 'h': usage(stdout); exit(0);
		default: usage(stderr); exit(2);
		}
	}
	if (optind != argc) {
		usage(stderr);
		exit(2);
	}
}

static int listen_on(unsigned port, unsigned *bound)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	socklen_t len = sizeof a;
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, CONNECTIONS_MAX) != 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) != 0)
		return -1;
	*bound = ntohs(a.sin_port);
	return fd;
}

int main(int argc, char **argv)
{
	struct options o = {
		.load = {.connections = 128, .objects = 64, .locks = 6, .think_ns = 200e6, .skew = .5,
			 .seconds = 5, .warmup = 1, .seed = 1},
		.table = {.objects = 64, .access_ns = 1e6, .commit_ns = 1e6}};
	parse_options(argc, argv, &o);
	prctl(PR_SET_TIMERSLACK, 1000ul); /* sleeps stand for a device: as long as it says */
	if (o.mode == LOAD)
		return load_run(&o.load) != 0;
	struct sigaction act = {.sa_handler = on_signal};
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	int listener = listen_on(o.load.port, &o.load.port);
	if (listener < 0) {
		perror("lockmanager: listen");
		return 1;
	}
	pid_t server = getpid(), child = -1;
	if (o.mode == SERVE) {
		printf("lockmanager: listening on 127.0.0.1:%u\n", o.load.port);
		fflush(stdout);
	} else if ((child = fork()) == 0) {
		close(listener);
		int rc = load_run(&o.load);
		fflush(stdout);
		kill(server, SIGTERM);
		_exit(rc != 0);
	} else if (child < 0) {
		perror("lockmanager: fork");
		return 1;
	}
	table_open(&o.table);
	int status = 0, rc = service_run(listener, o.table.objects, o.load.seed, &stop);
	if (child > 0 && (waitpid(child, &status, 0) != child || status != 0))
		fprintf(stderr, "lockmanager: the clients failed\n");
	return rc != 0 || status != 0;
}
