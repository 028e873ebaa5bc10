/* SPDX-License-Identifier: MIT
 * Redis (RESP): an array of strings, the first of which is the command, or a
 * line.  Runs in the recorder. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "recorder/dialog.h"

#define NAME_MAX_ 20

/* In order.  Only these come out: a receive may begin in the middle of somebody's value. */
static const char *const commands[] = {
	"ACL", "APPEND", "ASKING", "AUTH", "BGREWRITEAOF", "BGSAVE", "BITCOUNT", "BITFIELD", "BITFIELD_RO",
	"BITOP", "BITPOS", "BLMOVE", "BLMPOP", "BLPOP", "BRPOP", "BRPOPLPUSH", "BZMPOP", "BZPOPMAX", "BZPOPMIN",
	"CLIENT", "CLUSTER", "COMMAND", "CONFIG", "COPY", "DBSIZE", "DEBUG", "DECR", "DECRBY", "DEL", "DISCARD",
	"DUMP", "ECHO", "EVAL", "EVALSHA", "EVALSHA_RO", "EVAL_RO", "EXEC", "EXISTS", "EXPIRE", "EXPIREAT",
	"EXPIRETIME", "FAILOVER", "FCALL", "FCALL_RO", "FLUSHALL", "FLUSHDB", "FUNCTION", "GEOADD", "GEODIST",
	"GEOHASH", "GEOPOS", "GEORADIUS", "GEORADIUSBYMEMBER", "GEOSEARCH", "GEOSEARCHSTORE", "GET", "GETBIT",
	"GETDEL", "GETEX", "GETRANGE", "GETSET", "HDEL", "HELLO", "HEXISTS", "HEXPIRE", "HGET", "HGETALL",
	"HINCRBY", "HINCRBYFLOAT", "HKEYS", "HLEN", "HMGET", "HMSET", "HPERSIST", "HRANDFIELD", "HSCAN", "HSET",
	"HSETNX", "HSTRLEN", "HTTL", "HVALS", "INCR", "INCRBY", "INCRBYFLOAT", "INFO", "KEYS", "LASTSAVE",
	"LATENCY", "LCS", "LINDEX", "LINSERT", "LLEN", "LMOVE", "LMPOP", "LOLWUT", "LPOP", "LPOS", "LPUSH",
	"LPUSHX", "LRANGE", "LREM", "LSET", "LTRIM", "MEMORY", "MGET", "MIGRATE", "MODULE", "MONITOR", "MOVE",
	"MSET", "MSETNX", "MULTI", "OBJECT", "PERSIST", "PEXPIRE", "PEXPIREAT", "PEXPIRETIME", "PFADD", "PFCOUNT",
	"PFMERGE", "PING", "PSETEX", "PSUBSCRIBE", "PSYNC", "PTTL", "PUBLISH", "PUBSUB", "PUNSUBSCRIBE", "QUIT",
	"RANDOMKEY", "READONLY", "READWRITE", "RENAME", "RENAMENX", "REPLCONF", "REPLICAOF", "RESET", "RESTORE",
	"ROLE", "RPOP", "RPOPLPUSH", "RPUSH", "RPUSHX", "SADD", "SAVE", "SCAN", "SCARD", "SCRIPT", "SDIFF",
	"SDIFFSTORE", "SELECT", "SET", "SETBIT", "SETEX", "SETNX", "SETRANGE", "SHUTDOWN", "SINTER", "SINTERCARD",
	"SINTERSTORE", "SISMEMBER", "SLAVEOF", "SLOWLOG", "SMEMBERS", "SMISMEMBER", "SMOVE", "SORT", "SORT_RO",
	"SPOP", "SPUBLISH", "SRANDMEMBER", "SREM", "SSCAN", "SSUBSCRIBE", "STRLEN", "SUBSCRIBE", "SUBSTR",
	"SUNION", "SUNIONSTORE", "SUNSUBSCRIBE", "SWAPDB", "SYNC", "TIME", "TOUCH", "TTL", "TYPE", "UNLINK",
	"UNSUBSCRIBE", "UNWATCH", "WAIT", "WAITAOF", "WATCH", "XACK", "XADD", "XAUTOCLAIM", "XCLAIM", "XDEL",
	"XGROUP", "XINFO", "XLEN", "XPENDING", "XRANGE", "XREAD", "XREADGROUP", "XREVRANGE", "XSETID", "XTRIM",
	"ZADD", "ZCARD", "ZCOUNT", "ZDIFF", "ZDIFFSTORE", "ZINCRBY", "ZINTER", "ZINTERCARD", "ZINTERSTORE",
	"ZLEXCOUNT", "ZMPOP", "ZMSCORE", "ZPOPMAX", "ZPOPMIN", "ZRANDMEMBER", "ZRANGE", "ZRANGEBYLEX",
	"ZRANGEBYSCORE", "ZRANGESTORE", "ZRANK", "ZREM", "ZREMRANGEBYLEX", "ZREMRANGEBYRANK", "ZREMRANGEBYSCORE",
	"ZREVRANGE", "ZREVRANGEBYLEX", "ZREVRANGEBYSCORE", "ZREVRANK", "ZSCAN", "ZSCORE", "ZUNION", "ZUNIONSTORE",
};

/* "*3\r\n$3\r\n": where the command's name begins; 0: not RESP; SIZE_MAX: more bytes are needed. */
static size_t name_at(const struct ty_dialog *d)
{
	size_t i = 0;
	for (const char *mark = "*$"; *mark; mark++) {
		if (i == d->n)
			return SIZE_MAX;
		if (d->head[i++] != *mark)
			return 0;
		size_t digits = i;
		while (i < d->n && isdigit(d->head[i]))
			i++;
		if (i == d->n || i + 1 == d->n)
			return SIZE_MAX;
		if (i == digits || d->head[i] != '\r' || d->head[i + 1] != '\n')
			return 0;
		i += 2;
	}
	return i;
}

static int compare(const void *name, const void *of)
{
	return strcmp(name, *(const char *const *)of);
}

/* The word that begins at head[at] and ends with a blank or the line's end, in capitals, or "other". */
static enum ty_told word_at(const struct ty_dialog *d, size_t at, char *text)
{
	char name[NAME_MAX_ + 1];
	size_t n = 0, i = at;
	for (; i < d->n && d->head[i] != '\r' && d->head[i] != '\n' && d->head[i] != ' '; i++)
		if (n < NAME_MAX_)
			name[n++] = (char)toupper(d->head[i]);
	if (i == d->n && i - at <= NAME_MAX_)
		return TY_TOLD_MORE;
	name[n] = 0;
	const char *const *known;
	known = bsearch(name, commands, sizeof commands / sizeof *commands, sizeof *commands, compare);
	strcpy(text, known && i - at == n ? *known : "other");
	return TY_TOLD_CLASS;
}

/* A line could be anything: only what people and health checks send by hand. */
static enum ty_told guess(const struct ty_dialog *d)
{
	static const char *const lines[] = { "PING", "AUTH", "HELLO", "INFO", "GET", "SET" };
	char text[TY_CLASS_TEXT];
	size_t at = name_at(d);
	if (at)
		return at == SIZE_MAX ? TY_TOLD_MORE : TY_TOLD_CLASS;
	if (!isupper(d->head[0]) && !(d->n >= 4 && !memcmp(d->head, "ping", 4)))
		return TY_TOLD_NOTHING;
	enum ty_told t = word_at(d, 0, text);
	for (size_t i = 0; t == TY_TOLD_CLASS && i < sizeof lines / sizeof *lines; i++)
		if (!strcmp(text, lines[i]))
			return TY_TOLD_CLASS;
	return t == TY_TOLD_MORE ? t : TY_TOLD_NOTHING;
}

/* A client that sends arrays sends no lines: what looks like one is in the middle of a value. */
static enum ty_told request(struct ty_dialog *d, char text[TY_CLASS_TEXT])
{
	size_t at = name_at(d);
	if (at == SIZE_MAX)
		return TY_TOLD_MORE;
	if (!at && d->started)
		return TY_TOLD_NOTHING;
	enum ty_told t = word_at(d, at, text);
	d->started |= at > 0;
	return t;
}

const struct ty_protocol ty_protocol_redis = { "redis", guess, request, NULL };
