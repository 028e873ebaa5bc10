/* SPDX-License-Identifier: MIT
 *
 * Classes of requests from the first bytes of what is received and sent: for
 * each protocol the bytes that its clients and servers exchange, and what must
 * be made of them. */
#include <CUnit/Basic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/dialog.h"

static struct ty_dialog d;
static struct ty_statements *statements;
static uint64_t now;
static char text[TY_CLASS_TEXT];

static void begin(const char *protocol)
{
	ty_dialog_init(&d, ty_protocol_by_name(protocol), statements);
	now = 1000;
}

/* The class, or "" if these bytes do not (yet) tell; capture bounds what is seen of them. */
static const char *received_of(const char *bytes, size_t length, size_t capture)
{
	size_t n = length < capture ? length : capture;
	uint8_t copy[TY_BYTES_MAX];
	memcpy(copy, bytes, n);
	strcpy(text, "untouched");
	return ty_dialog_received(&d, copy, n, length, now++, text) ? text : "";
}
static int sent_of(const char *bytes, size_t length)
{
	size_t n = length < TY_REPLY_HALF ? length : TY_REPLY_HALF;
	return ty_dialog_sent(&d, (const uint8_t *)bytes, (const uint8_t *)bytes + length - n, length);
}
#define RECV(s) received_of(s, sizeof(s) - 1, 32)
#define SEND(s) sent_of(s, sizeof(s) - 1)
#define IS(got, want)                                                                             \
	do {                                                                                      \
		const char *g_ = got;                                                             \
		if (strcmp(g_, want) != 0)                                                        \
			printf("\n  line %d: '%s', not '%s'\n", __LINE__, g_, want);              \
		CU_ASSERT_STRING_EQUAL(g_, want);                                                 \
	} while (0)

/* ---- MySQL ---- */

#define GREETING "\x4a\0\0\0\x0a" "5.5.5-10.11.6-MariaDB\0........"
#define LOGIN "\x54\0\0\x01\x85\xa6\xff\x01\0\0\0\1\x2d\0\0\0....................root\0"
#define OK(status) "\x07\0\0\x01\0\0\0" status "\0\0\0"
#define OK_SEQ2(status) "\x07\0\0\x02\0\0\0" status "\0\0\0"

static void login(void)
{
	begin("auto");
	CU_ASSERT_EQUAL(SEND(GREETING), -1);
	IS(RECV(LOGIN), "startup");
	CU_ASSERT_EQUAL(SEND(OK_SEQ2("\2")), TY_SESSION_IDLE);
}

static void test_mysql(void)
{
	login();
	CU_ASSERT_PTR_EQUAL(d.protocol, &ty_protocol_mysql);
	IS(RECV("\x12\0\0\0\x03select 1 from dual"), "SELECT");
	CU_ASSERT_EQUAL(SEND("\1\0\0\1\1....................\x05\0\0\x05\xfe\0\0\x02\0"), -1); /* idle as before */
	IS(RECV("\x06\0\0\0\x03" "BEGIN"), "BEGIN");
	CU_ASSERT_EQUAL(SEND(OK("\3")), TY_SESSION_IN_TRANSACTION);
	IS(RECV("\x21\0\0\0\x03/* hint */ insert into t values"), "INSERT");
	CU_ASSERT_EQUAL(SEND(OK("\3")), -1);
	IS(RECV("\x07\0\0\0\x03" "COMMIT"), "COMMIT");
	CU_ASSERT_EQUAL(SEND(OK("\2")), TY_SESSION_IDLE);
	IS(RECV("\x01\0\0\0\x0e"), "ping");
	CU_ASSERT_EQUAL(SEND(OK("\2")), -1);
	IS(RECV("\x0b\0\0\0\x03S3cr3tWord"), "other"); /* no word of SQL: nothing of it is kept */
	CU_ASSERT_EQUAL(SEND("\x30\0\0\1\xff\x28\x04#42000You have an error in your SQL syntax"), -1);
	IS(RECV("\x06\0\0\0\x03" "BEGIN"), "BEGIN");
	CU_ASSERT_EQUAL(SEND(OK("\3")), TY_SESSION_IN_TRANSACTION);
	IS(RECV("\x0f\0\0\0\x03update t set a"), "UPDATE");
	CU_ASSERT_EQUAL(SEND("\x30\0\0\1\xff\xbd\x04#40001Deadlock found when trying to get lock"), TY_SESSION_IDLE);
	IS(RECV("\x01\0\0\0\x01"), "quit");
}

static void test_mysql_rows(void)
{
	login();
	/* a large result in two sends; the second is only the end of the last packet */
	IS(RECV("\x06\0\0\0\x03" "BEGIN"), "BEGIN");
	CU_ASSERT_EQUAL(SEND(OK("\3")), TY_SESSION_IN_TRANSACTION);
	IS(RECV("\x09\0\0\0\x03SELECT 1"), "SELECT");
	CU_ASSERT_EQUAL(SEND("\1\0\0\1\2......................................................\x05\0\0\x09\xfe"), -1);
	CU_ASSERT_EQUAL(SEND("\0\0\x02\0"), TY_SESSION_IDLE);
	/* an end of rows of newer clients; more results follow; the last one */
	IS(RECV("\x09\0\0\0\x03SELECT 2"), "SELECT");
	CU_ASSERT_EQUAL(SEND("\1\0\0\1\2..................\x07\0\0\x09\xfe\0\0\x0b\0\0\0"), -1);
	CU_ASSERT_EQUAL(SEND("\1\0\0\1\2..................\x07\0\0\x09\xfe\0\0\x03\0\0\0"), TY_SESSION_IN_TRANSACTION);
	/* numbers of several bytes in an OK packet */
	IS(RECV("\x09\0\0\0\x03" "DELETE x"), "DELETE");
	CU_ASSERT_EQUAL(SEND("\x0b\0\0\1\0\xfc\x10\x27\xfc\x11\x27\2\0\0\0"), TY_SESSION_IDLE);
}

static void test_mysql_statements(void)
{
	login();
	IS(RECV("\x20\0\0\0\x16SELECT c FROM sbtest1 WHERE id="), "prepare SELECT");
	CU_ASSERT_EQUAL(SEND("\x0c\0\0\1\0\x05\1\0\0\1\0\1\0\0\0\0......................"), -1);
	IS(RECV("\x0d\0\0\0\x16UPDATE t SET"), "prepare UPDATE");
	CU_ASSERT_EQUAL(SEND("\x0c\0\0\1\0\x06\1\0\0\0\0\1\0\0\0\0"), -1);
	IS(RECV("\x0c\0\0\0\x17\x05\1\0\0\0\1\0\0\0\0\0"), "execute SELECT");
	CU_ASSERT_EQUAL(SEND(OK("\3")), TY_SESSION_IN_TRANSACTION);
	IS(RECV("\x0c\0\0\0\x17\x06\1\0\0\0\1\0\0\0\0\0"), "execute UPDATE");
	CU_ASSERT_EQUAL(SEND(OK("\3")), -1);
	IS(RECV("\x0c\0\0\0\x17\x63\1\0\0\0\1\0\0\0\0\0"), "execute"); /* prepared before we looked */
	CU_ASSERT_EQUAL(SEND(OK("\3")), -1);
	/* close has no reply: what follows, in the same receive or the next, is the request */
	IS(RECV("\x05\0\0\0\x19\x05\1\0\0" "\x01\0\0\0\x0e"), "ping");
	CU_ASSERT_EQUAL(SEND(OK("\3")), -1);
	IS(RECV("\x05\0\0\0\x19\x05\1\0\0"), "");
	IS(RECV("\x09\0\0\0\x03select 1"), "SELECT");
	CU_ASSERT_EQUAL(d.begin, now - 2);
}

static void test_mysql_pieces(void)
{
	login();
	IS(RECV("\x06\0\0\0"), ""); /* the header is received by itself */
	IS(RECV("\x03" "BEGIN"), "BEGIN");
	CU_ASSERT_EQUAL(d.begin, now - 2);
	CU_ASSERT_EQUAL(SEND(OK("\3")), TY_SESSION_IN_TRANSACTION);
	/* too few bytes captured: nothing is said */
	IS(received_of("\x09\0\0\0\x03SELECT 1", 13, 8), "");
	CU_ASSERT_EQUAL(SEND(OK("\3")), -1);
	IS(received_of("\x09\0\0\0\x03SELECT 1", 13, 12), "SELECT");
	/* without a greeting, recorded from the middle */
	begin("auto");
	IS(RECV("\x09\0\0\0\x03SELECT 1"), "SELECT");
}

/* ---- PostgreSQL ---- */

#define READY(state) "Z\0\0\0\5" state

static void pg_login(void)
{
	begin("auto");
	IS(RECV("\0\0\0\x08\x04\xd2\x16\x2f"), "startup"); /* SSLRequest */
	CU_ASSERT_EQUAL(SEND("N"), -1);
	IS(RECV("\0\0\0\x21\0\3\0\0user\0postgres\0database\0x\0\0"), "startup");
	CU_ASSERT_EQUAL(SEND("R\0\0\0\x0c\0\0\0\5abcd"), -1);
	IS(RECV("p\0\0\0\x28md5aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\0"), "startup");
	CU_ASSERT_EQUAL(SEND("R\0\0\0\x08\0\0\0\0S\0\0\0\x16" "application_name\0x\0" READY("I")), TY_SESSION_IDLE);
}

static void test_postgresql(void)
{
	pg_login();
	IS(RECV("Q\0\0\0\x0b" "BEGIN;\0"), "BEGIN");
	CU_ASSERT_EQUAL(SEND("C\0\0\0\x0a" "BEGIN\0" READY("T")), TY_SESSION_IN_TRANSACTION);
	IS(RECV("Q\0\0\0\x47  -- why\n update pgbench_accounts SET abalance = abalance + 1 WHERE"), "UPDATE");
	CU_ASSERT_EQUAL(SEND("C\0\0\0\x0dUPDATE 1\0" READY("T")), -1);
	IS(RECV("Q\0\0\0\x10S3cr3t word\0"), "other");
	CU_ASSERT_EQUAL(SEND("E\0\0\0\x50SERROR\0........................." READY("E")), TY_SESSION_FAILED);
	IS(RECV("Q\0\0\0\x0dROLLBACK\0"), "ROLLBACK");
	CU_ASSERT_EQUAL(SEND("C\0\0\0\x0dROLLBACK\0" READY("I")), TY_SESSION_IDLE);
	/* the last message of a reply in pieces */
	IS(RECV("Q\0\0\0\x0b" "BEGIN;\0"), "BEGIN");
	CU_ASSERT_EQUAL(SEND("C\0\0\0\x0a" "BEGIN\0Z\0\0"), -1);
	CU_ASSERT_EQUAL(SEND("\0\5T"), TY_SESSION_IN_TRANSACTION);
	IS(RECV("X\0\0\0\4"), "terminate");
}

static void test_postgresql_statements(void)
{
	pg_login();
	/* named: prepared now, executed later */
	IS(RECV("P\0\0\0\x38P0_1\0UPDATE pgbench_accounts SET abalance = abalance\0\0\0"), "prepare UPDATE");
	CU_ASSERT_EQUAL(SEND("1\0\0\0\4" READY("I")), -1);
	IS(RECV("B\0\0\0\x20\0P0_1\0\0\0\0\2\0\0\0\1" "1\0\0\0\1"
		"2\0\0D\0\0\0\6P\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\4"), "execute UPDATE");
	CU_ASSERT_EQUAL(SEND("2\0\0\0\4C\0\0\0\x0dUPDATE 1\0" READY("I")), -1);
	IS(RECV("B\0\0\0\x12\0P9_9\0\0\0\0\2\0\0\0\0\0\0S\0\0\0\4"), "execute");
	CU_ASSERT_EQUAL(SEND(READY("I")), -1);
	/* without a name: most likely executed at once */
	IS(RECV("P\0\0\0\x12\0INSERT INTO t\0\0\0B\0\0\0\x0c\0\0\0\0\0\0\0\0"), "INSERT");
	CU_ASSERT_EQUAL(SEND(READY("I")), -1);
	/* a name that leaves no room for the statement */
	IS(RECV("P\0\0\0\x40" "a_very_long_name_of_a_statement_indeed\0SELECT 1\0\0\0"), "prepare");
	CU_ASSERT_EQUAL(SEND(READY("I")), -1);
	IS(RECV("B\0\0\0\x40\0" "a_very_long_name_of_a_statement_indeed\0\0\0\0\0"), "execute");
	CU_ASSERT_EQUAL(SEND(READY("I")), -1);
	IS(RECV("S\0\0\0\4"), "sync");
}

/* ---- statements of all connections ---- */

#define PREPARED(id) "\x0c\0\0\1\0" id "\0\0\0\0\1\0\0\0\0"
#define EXECUTE(id) "\x0a\0\0\0\x17" id "\0\1\0\0\0"

static void test_statements_closed(void)
{
	login();
	IS(RECV("\x09\0\0\0\x16SELECT c"), "prepare SELECT");
	CU_ASSERT_EQUAL(SEND(PREPARED("\5\0\0\0")), -1);
	IS(RECV(EXECUTE("\5\0\0\0")), "execute SELECT");
	SEND(OK("\2"));
	IS(RECV("\5\0\0\0\x19\5\0\0\0" EXECUTE("\5\0\0\0")), "execute"); /* closed, and used nevertheless */
	SEND(OK("\2"));
	/* the id is given again, for another statement; and again for one of which nothing is known */
	IS(RECV("\x09\0\0\0\x16" "DELETE c"), "prepare DELETE");
	CU_ASSERT_EQUAL(SEND(PREPARED("\5\0\0\0")), -1);
	IS(RECV(EXECUTE("\5\0\0\0")), "execute DELETE");
	SEND(OK("\2"));
	begin("postgresql");
	IS(RECV("P\0\0\0\x11S_1\0UPDATE t \0\0\0"), "prepare UPDATE");
	SEND("1\0\0\0\4Z\0\0\0\5I");
	IS(RECV("B\0\0\0\x12\0S_1\0\0\0\0\2\0\0\0\0\0\0S\0\0\0\4"), "execute UPDATE");
	SEND("2\0\0\0\4Z\0\0\0\5I");
	IS(RECV("C\0\0\0\x09SS_1\0S\0\0\0\4"), "close");
	SEND("3\0\0\0\4Z\0\0\0\5I");
	IS(RECV("B\0\0\0\x12\0S_1\0\0\0\0\2\0\0\0\0\0\0S\0\0\0\4"), "execute");
	SEND("2\0\0\0\4Z\0\0\0\5I");
}

/* However many there are: one that exists is changed, and a new one finds room. */
static void test_statements_full(void)
{
	for (uint64_t i = 0; i < 8 * TY_STATEMENT_SETS * TY_STATEMENT_WAYS; i++)
		ty_statement_set(statements, 1 << 20, i, 5);
	ty_statement_set(statements, 7, 7, 5);
	CU_ASSERT_EQUAL(ty_statement_word(statements, 7, 7), 5);
	CU_ASSERT_EQUAL(ty_statement_word(statements, 8, 7), 0); /* another connection's */
	ty_statement_set(statements, 7, 7, 6);
	CU_ASSERT_EQUAL(ty_statement_word(statements, 7, 7), 6);
	ty_statement_set(statements, 7, 7, 0);
	CU_ASSERT_EQUAL(ty_statement_word(statements, 7, 7), 0);
}

/* An answer of which nothing was seen is one all the same; of one that was cut
 * short only the first bytes are known. */
static void test_unseen(void)
{
	begin("auto");
	IS(RECV("*1\r\n$4\r\nPING\r\n"), "PING");
	ty_dialog_sent_unseen(&d, 7);
	IS(RECV("*1\r\n$4\r\nINFO\r\n"), "INFO");
	begin("postgresql");
	IS(RECV("Q\0\0\0\x0d" "SELECT 1\0"), "SELECT");
	CU_ASSERT_EQUAL(ty_dialog_sent(&d, (const uint8_t *)"T\0\0\0\x20............", NULL, 40), -1);
	CU_ASSERT_EQUAL(SEND("Z\0\0\0\5T"), TY_SESSION_IN_TRANSACTION);
	CU_ASSERT_EQUAL(SEND("Z\0\0"), -1);
	ty_dialog_sent_unseen(&d, 1); /* the bytes on both sides are not joined */
	CU_ASSERT_EQUAL(SEND("\0\5I"), -1);
}

/* ---- the others ---- */

static void test_redis(void)
{
	begin("auto");
	IS(RECV("*3\r\n$3\r\nset\r\n$1\r\nk\r\n$6\r\ns3cr3t\r\n"), "SET");
	CU_ASSERT_EQUAL(SEND("+OK\r\n"), -1);
	IS(RECV("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"), "GET");
	SEND("$6\r\ns3cr3t\r\n");
	IS(RECV("*2\r\n$9\r\nFT.SEARCH\r\n"), "other"); /* a module's: not in the list */
	SEND("*0\r\n");
	IS(RECV("*1\r\n$4"), ""); /* in two receives */
	IS(RECV("\r\nPING\r\n"), "PING");
	SEND("+PONG\r\n");
	IS(RECV("*2\r\n$40\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n"), "other");
	SEND("-ERR\r\n");
	IS(RECV("*2\r\n$8\r\n\x01\x02\x03\x04\x05\x06\x07\x08\r\n"), "other");
	SEND("-ERR\r\n");
	/* in the middle of a value, as with pipelining: nothing of it comes out */
	IS(RECV("alice smith 1970\r\n*1\r\n$4\r\nPING\r\n"), "");
	SEND("+OK\r\n");
	IS(RECV("get well soon\r\n"), "");
	SEND("+OK\r\n");
	IS(RECV("*1\r\n$5\r\nalice\r\n"), "other");
	begin("auto");
	IS(RECV("PING\r\n"), "PING");
	begin("redis"); /* a line that could be anything, but the configuration says what it is */
	IS(RECV("flushall\r\n"), "FLUSHALL");
	SEND("+OK\r\n");
	IS(RECV("s3cr3t word\r\n"), "other");
}

static void test_memcached(void)
{
	begin("auto");
	IS(RECV("get key1 key2\r\n"), "get");
	SEND("END\r\n");
	IS(RECV("set key 0 0 5\r\nhello\r\n"), "set");
	SEND("STORED\r\n");
	IS(RECV("gets k\r\n"), "gets");
	SEND("END\r\n");
	IS(RECV("ge"), "");
	IS(RECV("t k\r\n"), "get");
	SEND("END\r\n");
	IS(RECV("s3cr3t\r\n"), "");
	begin("auto");
	IS(RECV("\x80\x00\0\3\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0key"), "get");
	CU_ASSERT_PTR_EQUAL(d.protocol, &ty_protocol_memcached);
	SEND("\x81");
	IS(RECV("\x80\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "noop");
	SEND("\x81");
	IS(RECV("\x80\x7f\0\0\0\0\0\0\0\0\0\0"), "");
}

static void test_http(void)
{
	begin("auto");
	IS(RECV("GET /index.html?token=s3cr3t HTTP/1.1\r\n"), "GET /index.html");
	SEND("HTTP/1.1 200 OK\r\n");
	IS(RECV("POST /api/items HTTP/1.1\r\n"), "POST /api/items");
	SEND("HTTP/1.1 200 OK\r\n");
	IS(RECV("GET /a/path/that/is/longer/than/what/is/seen HTTP/1.1\r\n"), "GET /a/path/that/is/longer/than/...");
	SEND("HTTP/1.1 200 OK\r\n");
	IS(received_of("GET /index.html HTTP/1.1\r\n", 26, 10), "GET /index...");
	SEND("HTTP/1.1 200 OK\r\n");
	IS(RECV("GET http://elsewhere/ HTTP/1.1\r\n"), "GET other");
	SEND("HTTP/1.1 200 OK\r\n");
	IS(RECV("OPTIONS * HTTP/1.1\r\n"), "OPTIONS *");
	SEND("HTTP/1.1 200 OK\r\n");
	IS(RECV("GET /a private letter\r\n"), ""); /* no first line of a request */
	SEND("HTTP/1.1 400 Bad Request\r\n");
	IS(RECV("GET * HTTP/1.1\r\n"), "");
	SEND("HTTP/1.1 400 Bad Request\r\n");
	IS(RECV("GETS /a HTTP/1.1\r\n"), "");
	SEND("HTTP/1.1 400 Bad Request\r\n");
	IS(RECV("PO"), "");
	IS(RECV("ST /x"), "");
	IS(RECV("yz HTTP/1.1\r\n"), "POST /xyz");
	begin("auto");
	IS(RECV("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), ""); /* another protocol */
}

static void test_encrypted(void)
{
	begin("auto");
	IS(RECV("\x16\3\1\2\0\1\0\1\xfc\3\3................................"), "");
	SEND("\x16\3\3\0\x7a");
	IS(RECV("\x17\3\3\0\x40GET / HTTP/1.1 looks like it............"), "");
	CU_ASSERT_TRUE(d.silent);
	/* after MySQL's and PostgreSQL's own agreement on it */
	begin("auto");
	SEND(GREETING);
	IS(RECV("\x20\0\0\1\x85\xae\xff\x19\0\0\0\1\x2d"), "startup");
	IS(RECV("\x16\3\1\2\0\1\0\1\xfc\3\3"), "");
	SEND("\x16\3\3\0\x7a");
	IS(RECV("\x17\3\3\0\x40................................"), "");
	begin("auto");
	IS(RECV("\0\0\0\x08\x04\xd2\x16\x2f"), "startup");
	SEND("S");
	IS(RECV("\x16\3\1\2\0\1\0\1\xfc\3\3"), "");
	CU_ASSERT_EQUAL(SEND("\x17\3\3\0\x40.........Z\0\0\0\5T"), -1);
}

/* A connection of which nothing can be told is left alone, and bytes are never joined across a gap. */
static void test_unknown(void)
{
	begin("auto");
	for (int i = 0; i < 4; i++) {
		IS(RECV("\xff\xff\xff\xff\xff\xff\xff"), "");
		SEND("\xff\xff");
	}
	CU_ASSERT_TRUE(d.silent);
	IS(RECV("GET / HTTP/1.1\r\n"), "");
	begin("auto");
	IS(received_of("GE....", 40, 2), ""); /* "GE", then 38 bytes that nobody saw */
	IS(RECV("T / HTTP/1.1\r\n"), "");
}

static void test_words(void)
{
	static const struct { const char *text, *word; } v[] = {
		{ "SELECT 1", "SELECT" }, { "select(1)", "SELECT" }, { "(select 1)", "SELECT" }, { " \n;update t", "UPDATE" },
		{ "/*! x */ insert ", "INSERT" }, { "# c\ndelete ", "DELETE" }, { "-- c\ncommit;", "COMMIT" }, { "", "other" },
		{ "selecting", "other" }, { "/* no end", "other" }, { "123", "other" }, { "START TRANSACTION", "START" },
	};
	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		int w = ty_sql_word((const uint8_t *)v[i].text, strlen(v[i].text), true);
		CU_ASSERT_FATAL(w >= 0);
		IS(ty_sql_name((unsigned)w), v[i].word);
	}
	CU_ASSERT_EQUAL(ty_sql_word((const uint8_t *)"SELECT", 6, false), -1); /* it may be SELECTED */
	CU_ASSERT_EQUAL(ty_sql_word((const uint8_t *)"/* SELECT", 9, false), -1);
}

int main(void)
{
	static const struct { const char *name; void (*run)(void); } tests[] = {
		{ "MySQL", test_mysql }, { "MySQL: ends of results", test_mysql_rows },
		{ "MySQL: prepared statements", test_mysql_statements }, { "MySQL: in pieces", test_mysql_pieces },
		{ "PostgreSQL", test_postgresql },
		{ "PostgreSQL: prepared statements", test_postgresql_statements },
		{ "statements closed", test_statements_closed }, { "many statements", test_statements_full },
		{ "answers not seen", test_unseen },
		{ "Redis", test_redis }, { "memcached", test_memcached }, { "HTTP", test_http },
		{ "encrypted", test_encrypted }, { "unknown", test_unknown }, { "words of SQL", test_words },
	};
	statements = ty_statements_new();
	if (!statements || CU_initialize_registry())
		return 1;
	CU_pSuite s = CU_add_suite("classify", NULL, NULL);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		CU_add_test(s, tests[i].name, tests[i].run);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures() + (CU_get_error() != CUE_SUCCESS);
	CU_cleanup_registry();
	free(statements);
	return failed != 0;
}
