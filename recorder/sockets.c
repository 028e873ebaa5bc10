/* SPDX-License-Identifier: MIT
 *
 * Names of sockets: /proc/PID/net/tcp, tcp6, udp, udp6 and unix, read as a
 * whole into a table by inode.  A server with many connections has long
 * tables, so the time that reading took decides how soon it may be done again.
 * Recorder's main thread only.
 */
#include "recorder/sockets.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/reserve.h"
#include "recorder/map.h"
#include "recorder/proc.h"

#define TIMES_THE_COST 20u /* reading takes at most a twentieth of the time */
#define SOONEST_NS 20000000ull

struct entry {
	uint64_t inode;
	char name[120];
};

struct ty_sockets {
	struct entry *entry;
	size_t count, cap;
	struct ty_map by_inode;
	uint64_t not_before;
};

static void add(struct ty_sockets *s, uint64_t inode, const char *name)
{
	uint64_t *at = ty_map_put(&s->by_inode, inode);
	if (!at || ty_reserve(&s->entry, &s->cap, s->count + 1, sizeof *s->entry) < 0)
		return;
	snprintf(s->entry[s->count].name, sizeof s->entry[0].name, "%s", name);
	s->entry[s->count++].inode = inode;
	*at = s->count;
}

/* "0100007F:0CEA" or 32 digits for IPv6; words are in host order */
static bool address(const char *hex, char *buf, size_t size)
{
	const char *colon = strchr(hex, ':');
	unsigned port;
	char text[INET6_ADDRSTRLEN];
	uint32_t w[4] = { 0 };
	if (!colon || sscanf(colon + 1, "%x", &port) != 1)
		return false;
	int words = colon - hex == 32 ? 4 : 1;
	for (int i = 0; i < words; i++)
		if (sscanf(hex + 8 * i, "%8x", &w[i]) != 1)
			return false;
	bool mapped = words == 4 && !w[0] && !w[1] && w[2] == htonl(0xffff);
	if (words == 1 || mapped)
		inet_ntop(AF_INET, &w[words - 1], text, sizeof text);
	else
		inet_ntop(AF_INET6, w, text, sizeof text);
	snprintf(buf, size, words == 1 || mapped ? "%s:%u" : "[%s]:%u", text, port);
	return true;
}

static void inet_line(struct ty_sockets *s, const char *proto, const char *line)
{
	char local[80], peer[80], l[64], p[64], name[160];
	unsigned state;
	unsigned long long inode;
	if (sscanf(line, " %*[^ ] %79s %79s %x %*s %*s %*s %*s %*s %llu", local, peer, &state, &inode) != 4 || !inode ||
	    !address(local, l, sizeof l) || !address(peer, p, sizeof p))
		return;
	if (state == 0x0a)
		snprintf(name, sizeof name, "%s %s listening", proto, l);
	else
		snprintf(name, sizeof name, "%s %s <- %s", proto, l, p);
	add(s, inode, name);
}

/* "Num: RefCount Protocol Flags Type St Inode Path" */
static void unix_line(struct ty_sockets *s, const char *line)
{
	char path[108] = "", name[128];
	unsigned long long inode;
	if (sscanf(line, "%*s %*s %*s %*s %*s %*s %llu %107s", &inode, path) < 1 || !inode)
		return;
	snprintf(name, sizeof name, *path ? "unix %s" : "unix", path);
	add(s, inode, name);
}

static void read_table(struct ty_sockets *s, uint32_t pid, const char *table)
{
	char path[64], *line = NULL;
	size_t size = 0;
	snprintf(path, sizeof path, "/proc/%u/net/%s", pid, table);
	FILE *f = fopen(path, "re");
	if (!f)
		return;
	bool head = true;
	while (getline(&line, &size, f) > 0) {
		if (head)
			head = false;
		else if (strcmp(table, "unix") == 0)
			unix_line(s, line);
		else
			inet_line(s, table[0] == 't' ? "tcp" : "udp", line);
	}
	free(line);
	fclose(f);
}

static void read_all(struct ty_sockets *s, uint32_t pid, uint64_t now)
{
	static const char *const tables[] = { "tcp", "tcp6", "unix", "udp", "udp6" };
	s->count = 0;
	ty_map_free(&s->by_inode);
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		read_table(s, pid, tables[i]);
	uint64_t cost = ty_now() - now;
	s->not_before = now + (cost * TIMES_THE_COST > SOONEST_NS ? cost * TIMES_THE_COST : SOONEST_NS);
}

bool ty_socket_name(struct ty_sockets *s, uint32_t pid, uint64_t inode, uint64_t now, char *buf, size_t size)
{
	uint64_t *at = ty_map_find(&s->by_inode, inode);
	if (!at || !*at) {
		if (now < s->not_before)
			return false;
		read_all(s, pid, ty_now());
		at = ty_map_find(&s->by_inode, inode);
	}
	snprintf(buf, size, "%s", at && *at ? s->entry[*at - 1].name : "socket");
	return true;
}

struct ty_sockets *ty_sockets_new(void)
{
	return calloc(1, sizeof(struct ty_sockets));
}

void ty_sockets_free(struct ty_sockets *s)
{
	if (!s)
		return;
	free(s->entry);
	ty_map_free(&s->by_inode);
	free(s);
}
