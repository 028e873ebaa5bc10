/* SPDX-License-Identifier: MIT
 * The first word of an SQL statement.  Runs in the recorder.  What must stay
 * true: only words of this list ever come out, so that a statement that is not
 * SQL, or a password in the wrong place, leaves nothing behind. */
#include "recorder/dialog.h"

#include <ctype.h>
#include <string.h>

static const char *const words[] = {
	"other", "ABORT", "ALTER", "ANALYZE", "BEGIN", "CALL", "CHECK", "CHECKPOINT", "CLOSE", "CLUSTER", "COMMENT",
	"COMMIT", "COPY", "CREATE", "DEALLOCATE", "DECLARE", "DELETE", "DESC", "DESCRIBE", "DISCARD", "DO", "DROP",
	"END", "EXECUTE", "EXPLAIN", "FETCH", "FLUSH", "GRANT", "HANDLER", "INSERT", "KILL", "LISTEN", "LOAD", "LOCK",
	"MERGE", "MOVE", "NOTIFY", "OPTIMIZE", "PREPARE", "REFRESH", "REINDEX", "RELEASE", "RENAME", "REPAIR",
	"REPLACE", "RESET", "REVOKE", "ROLLBACK", "SAVEPOINT", "SELECT", "SET", "SHOW", "START", "TABLE", "TRUNCATE",
	"UNLISTEN", "UNLOCK", "UPDATE", "USE", "VACUUM", "VALUES", "WITH", "XA",
};

const char *ty_sql_name(unsigned word)
{
	return words[word < sizeof words / sizeof *words ? word : 0];
}

/* End of a comment that begins at s[i], n if it has none here; i: there is no comment. */
static size_t comment(const uint8_t *s, size_t n, size_t i)
{
	const uint8_t *end;
	if (i + 1 < n && s[i] == '/' && s[i + 1] == '*') {
		end = memmem(s + i + 2, n - i - 2, "*/", 2);
		return end ? (size_t)(end - s) + 2 : n;
	}
	if (s[i] == '#' || (i + 1 < n && s[i] == '-' && s[i + 1] == '-')) {
		end = memchr(s + i, '\n', n - i);
		return end ? (size_t)(end - s) + 1 : n;
	}
	return i;
}

int ty_sql_word(const uint8_t *s, size_t n, bool whole)
{
	size_t i = 0, k;
	for (; i < n; i = k) {
		k = isspace(s[i]) || s[i] == '(' || s[i] == ';' ? i + 1 : comment(s, n, i);
		if (k == i)
			break;
	}
	for (k = i; k < n && (isalnum(s[k]) || s[k] == '_'); k++)
		;
	if (k == n && !whole) /* it may go on */
		return -1;
	for (unsigned w = 1; w < sizeof words / sizeof *words; w++)
		if (strlen(words[w]) == k - i && !strncasecmp(words[w], (const char *)s + i, k - i))
			return (int)w;
	return 0;
}
