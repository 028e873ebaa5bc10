/* SPDX-License-Identifier: MIT
 *
 * Unit test of `tarry dump` and `tarry info`: what they print of a small store
 * whose every event is known. */
#include <jansson.h>
#include <stdarg.h>

#include "cli/cmd.h"
#include "tests/unit/store_help.h"

static char out[128], said[1024];

/* The tool's own stands in cli/, which is not part of the library under test. */
void ty_say(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(said, sizeof said, fmt, ap);
	va_end(ap);
}

/* Thread 0 reads a named file (failing once), waits on a condition, marks; thread 1 is open at the end. */
static void make_store(void)
{
	fresh("store");
	snprintf(out, sizeof out, "%s/out", dir);
	struct ty_store *s = create();
	static uint64_t fast[TY_OP_COUNT], recorded[TY_OP_COUNT], loss[TY_LOSS_COUNT];
	fast[TY_OP_pthread_mutex_lock] = 1000;
	recorded[TY_OP_read] = 2;
	loss[TY_LOSS_CUT] = 5;
	struct ty_frame f[2] = { { 0, false, 0x10 }, { 0, false, 0x20 } };
	struct ty_symbol y = { "work", "w.c", 12, false };
	OK(ty_store_put_meta(s, "start", "1000000000", err));
	OK(ty_store_put_meta(s, "state", "\"recording\"", err));
	OK(ty_store_put_meta(s, "selfcheck", "{\"agree\":7,\"shorter\":1,\"differ\":0}", err));
	OK(ty_store_put_meta(s, "coverage", "{\"modules\":[],\"unseen\":[\"spinning\"]}", err));
	OK(ty_store_put_meta(s, "losses.recorder", "{\"no_slot\":3}", err));
	OK(ty_store_put_process(s, 0, &(struct ty_process){ .pid = 10, .parent = -1, .exe = "/bin/x" }, err));
	OK(ty_store_put_thread(s, 0, &(struct ty_thread_info){ .tid = 10, .name = "main", .sampled_ns = 1000,
		.cpu_ns = 100, .runq_ns = 200, .waits_ns = 300, .fast = fast, .recorded = recorded, .loss = loss }, err));
	OK(ty_store_put_thread(s, 1, &(struct ty_thread_info){ .tid = 11, .name = "two" }, err));
	OK(ty_store_put_module(s, 0, &(struct ty_module_info){ .path = "/bin/x", .rows = "ready" }, err));
	OK(ty_store_put_path(s, 0, &(struct ty_path){ .count = 2, .frames = f }, err));
	OK(ty_store_put_path(s, 1, &(struct ty_path){ .flags = TY_F_NO_PATH, .count = 1, .frames = f + 1 }, err));
	OK(ty_store_put_symbols(s, 0, 0x10, &y, 1, err));
	OK(ty_store_put_descriptor(s, &(struct ty_descriptor){ 0, 4, 0, "file", "/data/a\nb" }, err));
	OK(ty_store_put_label(s, 1, "buy", err));
	OK(ty_store_put_label(s, 2, "sell \xff\xe2\x82 \xe2\x82\xac \x1b[31m \xc2\x9b" "2J,\"", err));
	struct ty_ev ev[] = {
		{ .begin = 1500000000, .end = 1500001000, .object = 4, .aux = 80, .op = TY_OP_read, .path = 1 },
		{ .begin = 1500002000, .end = 1500003000, .object = 4, .op = TY_OP_read, .err = EINTR, .path = 1 },
		{ .begin = 1500004000, .end = 1502004000, .object = 0x7f0000001000, .aux = UINT64_MAX,
		  .op = TY_OP_pthread_cond_timedwait, .err = ETIMEDOUT, .flags = TY_F_SHARED },
		{ .begin = 1600000000, .end = 1600000000, .object = 99, .aux = 1, .op = TY_MARK_BEGIN, .kind = TY_EV_MARK },
		{ .begin = 1650000000, .end = 1650000000, .object = 98, .aux = 2, .op = TY_MARK_BEGIN, .kind = TY_EV_MARK },
		{ .begin = 1700000000, .end = 1700000000, .object = 0x5000, .op = TY_OP_sem_post, .kind = TY_EV_WAKE },
		{ .begin = 1400000000, .end = 2500000000, .object = 0x6000, .op = TY_OP_sem_wait, .kind = TY_EV_OPEN,
		  .thread = 1 },
	};
	put_committed(s, ev, sizeof ev / sizeof *ev, 3000000000);
	ty_store_close(s);
}

static int cmd_csv(int argc, char **argv)
{
	char *more[8] = { argv[0], (char *)"--format=csv" };
	for (int i = 1; i < argc; i++)
		more[i + 1] = argv[i];
	return cmd_export(argc + 1, more);
}

/* Runs a command with standard output into a file; returns its text. */
static char *run(int want, int (*cmd)(int, char **), const char *a, const char *b, const char *c)
{
	char *argv[6] = { (char *)"x", path };
	int argc = 2;
	const char *more[] = { a, b, c };
	for (size_t i = 0; i < 3; i++)
		if (more[i])
			argv[argc++] = (char *)(uintptr_t)more[i];
	fflush(stdout);
	int keep = dup(1);
	FILE *f = freopen(out, "w", stdout);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	said[0] = 0;
	int status = cmd(argc, argv);
	fflush(stdout);
	dup2(keep, 1);
	close(keep);
	CU_ASSERT_EQUAL(status, want);
	char *text = calloc(1, 65536);
	f = fopen(out, "r");
	size_t n = fread(text, 1, 65535, f);
	fclose(f);
	text[n] = 0;
	return text;
}

static size_t lines(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void has(const char *text, const char *words)
{
	if (!strstr(text, words))
		fprintf(stderr, "\nno \"%s\" in:\n%s", words, text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, words));
}

/* Like `has`, with any run of blanks in the text taken for one. */
static void has_columns(char *text, const char *words)
{
	char *squeezed = calloc(1, strlen(text) + 1), *to = squeezed;
	for (char *p = text; *p; p++)
		if (*p != ' ' || to == squeezed || to[-1] != ' ')
			*to++ = *p;
	has(squeezed, words);
	free(squeezed);
}

static void test_dump_text(void)
{
	char *t = run(0, cmd_dump, NULL, NULL, NULL);
	CU_ASSERT_EQUAL(lines(t), 7);
	has_columns(t, "0.500001000 10/10 wait read 4 /data/a?b 1.00 us 80 x+0x20 [not_taken]\n");
	has_columns(t, " read 4 /data/a?b 1.00 us EINTR x+0x20 [not_taken]\n");
	has_columns(t, "0.502004000 10/10 wait pthread_cond_timedwait 0x7f0000001000 2.00 ms ETIMEDOUT work\n");
	has_columns(t, " 10/10 mark begin 99 buy\n");
	has_columns(t, " 10/10 mark begin 98 sell ??? \xe2\x82\xac ?[31m ?2J,\"\n");
	has_columns(t, " 10/10 wake sem_post 0x5000 - ok work\n");
	has_columns(t, "1.500000000 10/11 open sem_wait 0x6000 1.10 s in progress work\n");
	free(t);
	t = run(0, cmd_dump, "--paths", "--raw", "--op=cond");
	CU_ASSERT_EQUAL(lines(t), 1);
	has_columns(t, "1502004000 10/10");
	has(t, "work (w.c:12) < x+0x20");
	free(t);
}

static void test_dump_filters(void)
{
	static const struct { const char *a, *b; size_t lines; } cases[] = {
		{ "--thread=11", NULL, 1 }, { "--process=10", NULL, 7 }, { "--op=read", NULL, 2 },
		{ "--op=sem", NULL, 1 },    { "--from=0.6", NULL, 4 },   { "--to=450ms", NULL, 1 },
		{ "--from=1599999999", "--to=1600000001", 2 },           { "--from=100", NULL, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *t = run(0, cmd_dump, cases[i].a, cases[i].b, NULL);
		CU_ASSERT_EQUAL(lines(t), cases[i].lines);
		free(t);
	}
	free(run(2, cmd_dump, "--op=sem_wiat", NULL, NULL));
	has(said, "--op: no operation and no class 'sem_wiat' in this recording; nearest: sem_wait");
	free(run(2, cmd_dump, "--thread=12", NULL, NULL));
	has(said, "no thread '12' in this recording; nearest: 10 or 11");
	free(run(2, cmd_dump, "--from=x", NULL, NULL));
}

static const char *text_of(json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));
	return s ? s : "(none)";
}
static json_int_t number_of(json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static void test_dump_json(void)
{
	char *t = run(0, cmd_dump, "--json", "--paths", NULL), *at = t;
	json_t *e[7];
	for (int i = 0; i < 7; i++) {
		e[i] = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(e[i]);
		at = strchr(at, '\n') + 1;
	}
	CU_ASSERT_EQUAL(*at, 0);
	CU_ASSERT_EQUAL(number_of(e[0], "begin_ns"), 1500000000);
	CU_ASSERT_EQUAL(number_of(e[0], "fd"), 4);
	CU_ASSERT_STRING_EQUAL(text_of(e[0], "name"), "/data/a\nb");
	CU_ASSERT_STRING_EQUAL(text_of(e[0], "path_kind"), "not_taken");
	CU_ASSERT_STRING_EQUAL(text_of(e[1], "error"), "EINTR");
	CU_ASSERT_STRING_EQUAL(text_of(e[2], "object"), "0x7f0000001000");
	CU_ASSERT_STRING_EQUAL(text_of(e[2], "class"), "cond");
	CU_ASSERT_EQUAL(number_of(e[2], "duration_ns"), 2000000);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(json_object_get(e[2], "flags"), 0)), "shared");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(e[2], "path")), 2);
	CU_ASSERT_STRING_EQUAL(text_of(e[3], "mark"), "begin");
	CU_ASSERT_STRING_EQUAL(text_of(e[3], "label"), "buy");
	CU_ASSERT_STRING_EQUAL(text_of(e[3], "request"), "99");
	CU_ASSERT_EQUAL(number_of(e[2], "aux"), -1);
	CU_ASSERT_PTR_NOT_NULL(strstr(text_of(e[4], "label"), "sell ???"));
	CU_ASSERT_STRING_EQUAL(text_of(e[5], "kind"), "wake");
	CU_ASSERT_STRING_EQUAL(text_of(e[6], "kind"), "open");
	for (int i = 0; i < 7; i++)
		json_decref(e[i]);
	free(t);
}

static void test_csv(void)
{
	char *t = run(0, cmd_csv, NULL, NULL, NULL);
	has(t, ",98,,\"sell ??? \xe2\x82\xac ?[31m ?2J,\"\"\",");
	has(t, "\"/data/a\nb\""); /* a line end stays one */
	CU_ASSERT_PTR_NULL(strchr(t, 27));
	free(t);
}

static void test_info(void)
{
	char *t = run(0, cmd_info, NULL, NULL, NULL);
	has(t, "recorder ended early, 7 events");
	has_columns(t, "\n read read 2 0\n");
	has_columns(t, "\n pthread_mutex_lock mutex 0 1 000\n");
	has_columns(t, "\n cut 5 paths cut");
	has_columns(t, "\n no_slot 3 (recorder)");
	has(t, "thread 10/10: cut 5");
	has(t, "7 agree with libunwind, 1 where it saw less, 0 differ");
	has(t, "spinning");
	has(t, "400 ns of 1.00 us in 1 thread (");
	free(t);
	t = run(0, cmd_info, "--json", NULL, NULL);
	json_t *o = json_loads(t, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(o);
	CU_ASSERT_STRING_EQUAL(text_of(o, "state"), "recorder ended early");
	CU_ASSERT_EQUAL(number_of(o, "events"), 7);
	CU_ASSERT_EQUAL(number_of(json_object_get(o, "self_check"), "agree"), 7);
	CU_ASSERT_EQUAL(number_of(json_object_get(o, "losses"), "cut"), 5);
	CU_ASSERT_EQUAL(number_of(json_object_get(o, "losses"), "no_slot"), 3);
	json_t *p = json_array_get(json_object_get(o, "processes"), 0);
	CU_ASSERT_EQUAL(number_of(json_object_get(p, "unseen"), "unseen_ns"), 400);
	json_decref(o);
	free(t);
	snprintf(path, sizeof path, "%s/missing", dir);
	free(run(1, cmd_info, NULL, NULL, NULL));
	has(said, "No such file");
}

int main(void)
{
	CU_pSuite s = begin("dump and info");
	CU_ADD_TEST(s, make_store);
	CU_ADD_TEST(s, test_dump_text);
	CU_ADD_TEST(s, test_dump_filters);
	CU_ADD_TEST(s, test_dump_json);
	CU_ADD_TEST(s, test_csv);
	CU_ADD_TEST(s, test_info);
	return finish();
}
