/* SPDX-License-Identifier: MIT
 * What a socket's inode number stands for, from /proc/PID/net. */
#ifndef TY_SOCKETS_H
#define TY_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ty_sockets;

struct ty_sockets *ty_sockets_new(void);
/* Name of the socket as process pid sees its network, e.g.
 * "tcp 127.0.0.1:3306 <- 127.0.0.1:40000".  False: not in the tables read
 * last, and reading them again would be too soon; ask later. */
bool ty_socket_name(struct ty_sockets *s, uint32_t pid, uint64_t inode, uint64_t now, char *buf, size_t size);
void ty_sockets_free(struct ty_sockets *s);

#endif
