/* SPDX-License-Identifier: MIT
 *
 * Creating, opening and closing a store.  The recorder creates (never over
 * something that exists); readers open, also while it still writes.  While a
 * recorder lives it holds an open-file-description lock on one byte far behind
 * the data; the kernel drops it when the recorder ends, however it ends. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/store_priv.h"

#define FIRST_MAP ((size_t)64 << 20)
#define MARK_OFFSET ((off_t)1 << 62)

int ty_store_fail(const struct ty_store *s, int rc, char *err, const char *doing)
{
	int code = rc > 0 ? -rc : rc == MDB_PAGE_NOTFOUND || rc == MDB_CORRUPTED || rc == MDB_INVALID ? -EBADMSG
		   : rc == MDB_READERS_FULL ? -EBUSY : -EIO;
	return ty_err(err, code, "cannot %s %s: %s", doing, s->path, mdb_strerror(rc));
}

static char *lock_name(const char *path)
{
	char *name = malloc(strlen(path) + sizeof "-lock");
	if (name)
		strcat(strcpy(name, path), "-lock");
	return name;
}

void ty_store_remove(const char *path)
{
	char *lock = lock_name(path);
	unlink(path);
	if (lock)
		unlink(lock);
	free(lock);
}

/* l_type comes back F_UNLCK when nobody holds the mark. */
static int mark(int fd, int cmd, short type)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = MARK_OFFSET, .l_len = 1 };
	return fcntl(fd, cmd, &l) == 0 ? l.l_type : -1;
}

bool ty_store_recording(struct ty_store *s)
{
	return s->w || mark(s->fd, F_OFD_GETLK, F_WRLCK) == F_WRLCK;
}

static int new_env(struct ty_store *s)
{
	int rc = mdb_env_create(&s->env);
	if (rc == 0)
		rc = mdb_env_set_maxdbs(s->env, TY_DB_COUNT + 4);
	return rc;
}

static void drop_env(struct ty_store *s)
{
	if (s->env)
		mdb_env_close(s->env);
	s->env = NULL;
}

static struct ty_store *new_store(const char *path)
{
	struct ty_store *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->fd = -1;
	s->path = strdup(path);
	if (!s->path) {
		free(s);
		return NULL;
	}
	return s;
}

static int open_dbs(struct ty_store *s, MDB_txn *txn, unsigned flags)
{
	static const char *const names[] = {
#define X(id, name) name,
		TY_DBS(X)
#undef X
	};
	for (int i = 0; i < TY_DB_COUNT; i++) {
		int rc = mdb_dbi_open(txn, names[i], flags, &s->db[i]);
		if (rc == MDB_NOTFOUND && i == TY_DB_OBJECTS)
			s->db[i] = TY_DB_MISSING; /* an older store */
		else if (rc)
			return rc;
	}
	return 0;
}

int ty_store_env_write(struct ty_store *s, size_t map_size)
{
	MDB_txn *txn = NULL;
	int rc = new_env(s);
	if (rc == 0)
		rc = mdb_env_set_mapsize(s->env, map_size);
	if (rc == 0)
		rc = mdb_env_open(s->env, s->path, MDB_NOSUBDIR | MDB_NOSYNC, 0600);
	if (rc == 0)
		rc = mdb_txn_begin(s->env, NULL, 0, &txn);
	if (rc == 0)
		rc = open_dbs(s, txn, MDB_CREATE);
	if (rc == 0) {
		rc = mdb_txn_commit(txn);
		txn = NULL;
	}
	if (txn)
		mdb_txn_abort(txn);
	if (rc)
		drop_env(s);
	return rc;
}

int ty_store_create(struct ty_store **ret, const char *path, char *err)
{
	struct ty_store *s = new_store(path);
	char *lock = lock_name(path);
	char format[12];
	int r = -ENOMEM;
	if (!s || !lock) {
		ty_err(err, r, "no memory");
		goto out;
	}
	s->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (s->fd < 0) {
		r = -errno;
		if (r == -EEXIST)
			ty_err(err, r, "%s exists already: remove it or choose another name", path);
		else
			ty_err(err, r, "cannot create %s: %s", path, strerror(-r));
		goto out;
	}
	mark(s->fd, F_OFD_SETLK, F_WRLCK); /* a file system without locks: readers then take us for dead */
	unlink(lock); /* of a store that was here before; its readers must not meet ours */
	r = ty_store_env_write(s, FIRST_MAP);
	if (r) {
		r = ty_store_fail(s, r, err, "create");
	} else {
		r = ty_writer_new(s, err);
		snprintf(format, sizeof format, "%d", TY_STORE_FORMAT);
		if (r == 0)
			r = ty_store_put_meta(s, "format", format, err);
		if (r == 0)
			r = ty_store_commit(s, false, err);
	}
	if (r)
		ty_store_remove(path);
out:
	free(lock);
	if (r == 0)
		*ret = s;
	else
		ty_store_close(s);
	return r;
}

int ty_store_begin(struct ty_store *s, MDB_txn **txn, char *err)
{
	int rc = 0;
	for (int tries = 0; tries < 4; tries++) {
		rc = mdb_txn_begin(s->env, NULL, MDB_RDONLY, txn);
		if (rc == MDB_MAP_RESIZED)
			rc = mdb_env_set_mapsize(s->env, 0);
		else if (rc == MDB_READERS_FULL)
			rc = mdb_reader_check(s->env, NULL);
		else
			break;
		if (rc)
			break;
		rc = MDB_READERS_FULL;
	}
	return rc ? ty_store_fail(s, rc, err, "read") : 0;
}

static int check_format(struct ty_store *s, MDB_txn *txn, char *err)
{
	MDB_val k = { 6, (void *)"format" }, v;
	MDB_dbi meta;
	char text[16] = "";
	if (mdb_dbi_open(txn, "meta", 0, &meta) || mdb_get(txn, meta, &k, &v) || v.mv_size >= sizeof text)
		return ty_err(err, -EBADMSG, "%s is an LMDB file but no tarry store", s->path);
	memcpy(text, v.mv_data, v.mv_size);
	char *end;
	long format = strtol(text, &end, 10);
	if (*end || end == text || format < 1)
		return ty_err(err, -EBADMSG, "%s is damaged: its format number is not one", s->path);
	if (format > TY_STORE_FORMAT)
		return ty_err(err, -ENOTSUP, "%s was written by a newer tarry, format %ld; this one reads up to %d",
			      s->path, format, TY_STORE_FORMAT);
	s->format = (unsigned)format;
	return 0;
}

/* No lock file: no recorder can be writing (it makes one first and removes it
 * last), so none is needed, nor a directory that can be written. */
static int open_env(struct ty_store *s, char *err)
{
	char *lock = lock_name(s->path);
	if (!lock)
		return ty_err(err, -ENOMEM, "no memory");
	unsigned flags = MDB_RDONLY | MDB_NOSUBDIR | MDB_NOTLS;
	if (access(lock, F_OK) != 0)
		flags |= MDB_NOLOCK;
	free(lock);
	int rc = new_env(s);
	if (rc == 0)
		rc = mdb_env_open(s->env, s->path, flags, 0600);
	if ((rc == EACCES || rc == EPERM || rc == EROFS) && !(flags & MDB_NOLOCK)) {
		drop_env(s);
		if (ty_store_recording(s))
			return ty_err(err, -rc, "%s is being recorded and its lock file %s-lock cannot be written: "
				      "read it as the user who records, or when the recording has ended",
				      s->path, s->path);
		rc = new_env(s);
		if (rc == 0)
			rc = mdb_env_open(s->env, s->path, flags | MDB_NOLOCK, 0600);
	}
	if (rc)
		return ty_store_fail(s, rc, err, "open");
	int dead;
	mdb_reader_check(s->env, &dead); /* a reader that was killed would keep old pages alive */
	return 0;
}

static int check_and_open_dbs(struct ty_store *s, char *err)
{
	mdb_filehandle_t fd;
	MDB_txn *txn;
	int r = -EAGAIN;
	mdb_env_get_fd(s->env, &fd);
	for (int tries = 0; r == -EAGAIN && tries < 100; tries++) {
		r = ty_store_begin(s, &txn, err);
		if (r < 0)
			return r;
		r = ty_check_pages(fd, s->path, mdb_txn_id(txn), err);
		if (r == 0)
			r = check_format(s, txn, err);
		if (r == 0) {
			int rc = open_dbs(s, txn, 0);
			if (rc == MDB_NOTFOUND)
				r = ty_err(err, -EBADMSG, "%s is damaged: a table is missing", s->path);
			else if (rc)
				r = ty_store_fail(s, rc, err, "read");
		}
		if (r == 0)
			mdb_txn_commit(txn); /* keeps the handles */
		else
			mdb_txn_abort(txn);
	}
	return r;
}

int ty_store_open(struct ty_store **ret, const char *path, char *err)
{
	struct ty_store *s = new_store(path);
	int r = s ? 0 : ty_err(err, -ENOMEM, "no memory");
	if (r == 0) {
		s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* NONBLOCK: a FIFO */
		if (s->fd < 0) {
			r = -errno;
			ty_err(err, r, "cannot open %s: %s", path, strerror(-r));
		}
	}
	if (r == 0)
		r = ty_check_head(s->fd, path, err);
	if (r == 0)
		r = open_env(s, err);
	if (r == 0)
		r = check_and_open_dbs(s, err);
	if (r == 0)
		r = ty_reader_load(s, err);
	if (r == 0)
		*ret = s;
	else
		ty_store_close(s);
	return r;
}

void ty_store_close(struct ty_store *s)
{
	if (!s)
		return;
	bool wrote = s->w && s->env;
	ty_writer_free(s);
	ty_reader_free(s->r);
	drop_env(s);
	if (wrote) { /* nobody will write this file again, so readers need no lock file */
		char *lock = lock_name(s->path);
		if (lock)
			unlink(lock);
		free(lock);
	}
	if (s->fd >= 0)
		close(s->fd);
	free(s->path);
	free(s);
}
