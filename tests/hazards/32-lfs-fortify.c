/* SPDX-License-Identifier: MIT */
/* Large-file and fortified builds: 64-bit offsets above 4 GiB arrive whole
   through every spelling of the call, and the calls that sync or write without
   being named write or fsync keep working. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#define _FORTIFY_SOURCE 2
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s errno %d\n", __LINE__, #c, errno); exit(1); } } while (0)

int main(void)
{
    char name[] = "/tmp/hz32.XXXXXX", got[8] = "";
    struct stat st;
    struct iovec v = { "vec", 3 };
    const off64_t far = 5LL << 30;
    int fd = mkostemp64(name, O_CLOEXEC), src = memfd_create("src", 0);
    CHECK(fd >= 0 && src >= 0);
    unlink(name);
    if (ftruncate64(fd, far + 4096)) { puts("ok"); return 0; }      /* file system says no */
    CHECK(pwrite64(fd, "one", 3, far) == 3);
    CHECK(pwrite(fd, "two", 3, far + 10) == 3);
    CHECK(pwritev64(fd, &v, 1, far + 20) == 3);
    CHECK(pwritev64v2(fd, &v, 1, far + 30, RWF_SYNC) == 3 || errno == EOPNOTSUPP);
    CHECK(lseek64(fd, far + 40, SEEK_SET) == far + 40);
    CHECK(write(fd, "cur", 3) == 3);
    CHECK(dprintf(fd, "%s", "fmt") == 3);
    FILE *f = fdopen(dup(fd), "r+");
    CHECK(f && fseeko64(f, far + 60, SEEK_SET) == 0 && fwrite("std", 1, 3, f) == 3 && fflush(f) == 0 && fclose(f) == 0);
    static const struct { int at; const char *text; } want[] = {
        { 0, "one" }, { 10, "two" }, { 20, "vec" }, { 40, "cur" }, { 43, "fmt" }, { 60, "std" } };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        CHECK(pread64(fd, got, 3, far + want[i].at) == 3 && memcmp(got, want[i].text, 3) == 0);
    CHECK(pread64(fd, got, 3, 0) == 3 && memcmp(got, "\0\0\0", 3) == 0);   /* nothing landed below */
    CHECK(fstat(fd, &st) == 0 && st.st_size == far + 4096);

    CHECK(write(src, "sendfile", 8) == 8);
    off64_t from = 4, to = far + 80;
    CHECK(lseek64(fd, far + 70, SEEK_SET) == far + 70);
    CHECK(sendfile64(fd, src, &from, 4) == 4 && from == 8);
    from = 0;
    ssize_t n = copy_file_range(src, &from, fd, &to, 4, 0);
    CHECK(n == 4 || errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP);
    CHECK(pread64(fd, got, 4, far + 70) == 4 && memcmp(got, "file", 4) == 0);
    CHECK(sync_file_range(fd, far, 4096, SYNC_FILE_RANGE_WRITE) == 0 || errno == ENOSYS || errno == EINVAL);
    CHECK(fdatasync(fd) == 0 && fsync(fd) == 0 && syncfs(src) == 0);
    char *map = mmap64(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, far);
    CHECK(map != MAP_FAILED && memcmp(map, "one", 3) == 0);
    memcpy(map, "map", 3);
    CHECK(msync(map, 4096, MS_SYNC) == 0);
    CHECK(pread64(fd, got, 3, far) == 3 && memcmp(got, "map", 3) == 0);
    puts("ok");
    return 0;
}
