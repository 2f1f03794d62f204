/* Loaded before the C library (LD_PRELOAD): lets one call that changes the file system fail.
 *
 * FAILING_IO_DIR  only files below this directory count
 * FAILING_IO_LOG  each call is appended to this file, one line: its number, its name, its path
 * FAILING_IO_AT   the number of the call that fails, once; 0 or absent: none
 *
 * A failing call does nothing and returns EIO. What is counted: creating, writing, syncing, renaming, cutting and
 * removing. Reading is not. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

/* True if this call has to fail. `path` may be relative to a directory that is below FAILING_IO_DIR. */
static int fails(const char *name, const char *path) {
    const char *dir = getenv("FAILING_IO_DIR");
    const char *log = getenv("FAILING_IO_LOG");
    const char *at = getenv("FAILING_IO_AT");
    if (!dir || !path || strncmp(path, dir, strlen(dir)) != 0)
        return 0;
    long number = atomic_fetch_add(&calls, 1) + 1;
    if (log) {
        char line[PATH_MAX + 64];
        int length = snprintf(line, sizeof line, "%ld %s %s\n", number, name, path);
        long fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
        if (fd >= 0) {
            if (length > (int)sizeof line)
                length = sizeof line;
            syscall(SYS_write, fd, line, length);
            syscall(SYS_close, fd);
        }
    }
    return at && number == atol(at);
}

static const char *of_fd(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (length < 0)
        return NULL;
    path[length] = 0;
    return path;
}

/* The path of a name in an open directory. */
static const char *within(int fd, const char *name, char *path) {
    if (fd == AT_FDCWD || name[0] == '/')
        return name;
    if (!of_fd(fd, path) || strlen(path) + strlen(name) + 2 > PATH_MAX)
        return NULL;
    strcat(path, "/");
    strcat(path, name);
    return path;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define ON_FD(name, fd)                                                                                                \
    do {                                                                                                               \
        char path[PATH_MAX];                                                                                           \
        if (fails(#name, of_fd(fd, path))) {                                                                           \
            errno = EIO;                                                                                               \
            return -1;                                                                                                 \
        }                                                                                                              \
    } while (0)
#define ON_PATH(name, path)                                                                                            \
    do {                                                                                                               \
        if (fails(#name, path)) {                                                                                      \
            errno = EIO;                                                                                               \
            return -1;                                                                                                 \
        }                                                                                                              \
    } while (0)

ssize_t write(int fd, const void *data, size_t size) {
    ON_FD(write, fd);
    return NEXT(write)(fd, data, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    ON_FD(writev, fd);
    return NEXT(writev)(fd, parts, count);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    ON_FD(pwrite, fd);
    return NEXT(pwrite)(fd, data, size, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    ON_FD(pwrite64, fd);
    return NEXT(pwrite64)(fd, data, size, offset);
}

int fsync(int fd) {
    ON_FD(fsync, fd);
    return NEXT(fsync)(fd);
}

int fdatasync(int fd) {
    ON_FD(fdatasync, fd);
    return NEXT(fdatasync)(fd);
}

int sync_file_range(int fd, off64_t offset, off64_t size, unsigned int flags) {
    ON_FD(sync_file_range, fd);
    return NEXT(sync_file_range)(fd, offset, size, flags);
}

int ftruncate(int fd, off_t size) {
    ON_FD(ftruncate, fd);
    return NEXT(ftruncate)(fd, size);
}

int ftruncate64(int fd, off64_t size) {
    ON_FD(ftruncate64, fd);
    return NEXT(ftruncate64)(fd, size);
}

ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t size, unsigned int flags) {
    ON_FD(copy_file_range, to);
    return NEXT(copy_file_range)(from, from_at, to, to_at, size, flags);
}

int rename(const char *from, const char *to) {
    ON_PATH(rename, from);
    return NEXT(rename)(from, to);
}

int mkdir(const char *path, mode_t mode) {
    ON_PATH(mkdir, path);
    return NEXT(mkdir)(path, mode);
}

int unlink(const char *path) {
    ON_PATH(unlink, path);
    return NEXT(unlink)(path);
}

int rmdir(const char *path) {
    ON_PATH(rmdir, path);
    return NEXT(rmdir)(path);
}

int unlinkat(int fd, const char *name, int flags) {
    char path[PATH_MAX];
    ON_PATH(unlinkat, within(fd, name, path));
    return NEXT(unlinkat)(fd, name, flags);
}

int open(const char *path, int flags, ...) {
    mode_t mode = 0;
    if (flags & O_CREAT) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
        ON_PATH(open, path);
    }
    return NEXT(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    mode_t mode = 0;
    if (flags & O_CREAT) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
        ON_PATH(open64, path);
    }
    return NEXT(open64)(path, flags, mode);
}
