/* Loaded with LD_PRELOAD under a whole process: Python, SQLite and tantivy alike call libc for their files.

   For every change of a file or folder below one root it can (1) end the process with SIGKILL at the n-th change, or in
   the middle of that write, or let that change fail, and (2) append the change to a record, from which `replay.py`
   builds the states that a kill or a power cut could leave. Reads are not touched. `system_calls.py` compiles this file
   and talks to it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { KILL = -1, TEAR = -2, SHORTEN = -3 };
enum { CREATE = 1, WRITE, TRUNCATE, RENAME, EXCHANGE, LINK, UNLINK, MKDIR, RMDIR, SYNC, MARK };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_length;
static int record = -1;
static long left = 0; /* changes until the fault; 0: none is planned */
static int fault = 0; /* KILL, TEAR, SHORTEN or the error of the change */
static char only[64]; /* changes of paths that contain this are counted */
static char faults[PATH_MAX];

#define REAL(type, name, ...)                                                                                          \
    static type (*real)(__VA_ARGS__);                                                                                  \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static ssize_t plain_write(int fd, const void *data, size_t size) { return syscall(SYS_write, fd, data, size); }

void torture_root(const char *path) {
    snprintf(root, sizeof root, "%s", path);
    root_length = strlen(root);
}

void torture_fault(long changes, int kind, const char *containing, const char *log) {
    snprintf(only, sizeof only, "%s", containing);
    snprintf(faults, sizeof faults, "%s", log);
    fault = kind;
    left = changes;
}

void torture_record(const char *path) {
    record = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void put(uint32_t kind, const char *path, const char *other, uint64_t offset, const void *data, uint64_t size) {
    struct { uint32_t kind, path, other, unused; uint64_t offset, size; } head = {
        kind, path ? strlen(path) : 0, other ? strlen(other) : 0, 0, offset, size};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)path, head.path}, {(void *)other, head.other},
                            {(void *)data, size}};
    syscall(SYS_writev, record, parts, 4);
}

/* tantivy replaces meta.json through a library that calls the kernel itself. Its temporary file is seen, the rename is
   not: it is recorded before the next change, when the file has another name. */
static struct { char path[PATH_MAX]; ino_t inode; } hidden[16];

static void hide(const char *path) {
    struct stat found;
    const char *name = strrchr(path, '/');
    if (!name || strncmp(name, "/.tmp", 5) || stat(path, &found)) return;
    for (int i = 0; i < 16; i++)
        if (!hidden[i].inode) {
            strcpy(hidden[i].path, path);
            hidden[i].inode = found.st_ino;
            return;
        }
}

static void find_hidden(void) {
    static const char *names[] = {"meta.json", ".managed.json"};
    struct stat found;
    char path[PATH_MAX + 16];
    for (int i = 0; i < 16; i++) {
        if (!hidden[i].inode || !stat(hidden[i].path, &found)) continue;
        for (int n = 0; n < 2; n++) {
            strcpy(path, hidden[i].path);
            strcpy(strrchr(path, '/') + 1, names[n]);
            if (!stat(path, &found) && found.st_ino == hidden[i].inode) put(RENAME, hidden[i].path, path, 0, 0, 0);
        }
        hidden[i].inode = 0;
    }
}

void torture_mark(const char *text) {
    pthread_mutex_lock(&lock);
    find_hidden();
    if (record >= 0) put(MARK, text, 0, 0, 0, 0);
    pthread_mutex_unlock(&lock);
}

/* The absolute path of a name relative to a folder, or of a descriptor (name NULL); 0: not below the root. */
static int below(int folder, const char *name, char *path) {
    char link[64];
    ssize_t length = 0;
    if (!root_length) return 0;
    if (!name || name[0] != '/') {
        snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
        length = readlink(link, path, PATH_MAX - 1);
        if (length < 0) return 0;
        if (name) path[length++] = '/';
    }
    path[length] = 0;
    if (name) {
        if (length + strlen(name) >= PATH_MAX) return 0;
        strcpy(path + length, name);
    } else if (length > 10 && !strcmp(path + length - 10, " (deleted)")) {
        return 0;
    }
    return !strncmp(path, root, root_length);
}

/* The process ends here, or the change fails with the error. */
static void fail(const char *what, const char *path) {
    static const char *names[] = {"short", "torn", "kill"};
    char line[PATH_MAX + 64];
    const char *kind = fault < 0 ? names[fault + 3] : strerrorname_np(fault);
    int size = snprintf(line, sizeof line, "%d %s %s %s\n", getpid(), kind, what, path + root_length);
    int log = syscall(SYS_openat, AT_FDCWD, faults, O_WRONLY | O_CREAT | O_APPEND, 0600);
    plain_write(log, line, size);
    syscall(SYS_close, log);
    while (fault == KILL || fault == TEAR) syscall(SYS_kill, getpid(), SIGKILL);
    errno = fault;
}

/* True: the fault comes at this change. Called with the lock held. */
static int is_due(const char *path) { return left > 0 && (!only[0] || strstr(path, only)) && --left == 0; }

#define CHANGE(result, what, failed, path, ...)                                                                        \
    pthread_mutex_lock(&lock);                                                                                         \
    if (is_due(path)) {                                                                                                \
        fail(what, path);                                                                                              \
        pthread_mutex_unlock(&lock);                                                                                   \
        if (fault > 0) return -1;                                                                                      \
        pthread_mutex_lock(&lock);                                                                                     \
    }                                                                                                                  \
    if (record >= 0) find_hidden();                                                                                    \
    result;                                                                                                            \
    int code = errno;                                                                                                  \
    if (!(failed) && record >= 0) { __VA_ARGS__; }                                                                     \
    pthread_mutex_unlock(&lock);                                                                                       \
    errno = code

/* ---- writing */
static ssize_t change(int fd, const void *data, size_t size, off_t offset, int positioned) {
    char path[PATH_MAX];
    if (!below(fd, 0, path))
        return positioned ? syscall(SYS_pwrite64, fd, data, size, offset) : plain_write(fd, data, size);
    pthread_mutex_lock(&lock);
    if (is_due(path)) {
        if (fault == SHORTEN && size > 1) size /= 2;
        if (fault == TEAR && positioned) syscall(SYS_pwrite64, fd, data, size / 2, offset);
        else if (fault == TEAR) plain_write(fd, data, size / 2);
        fail("write", path);
        if (fault > 0) {
            pthread_mutex_unlock(&lock);
            return -1;
        }
    }
    if (record >= 0) find_hidden();
    ssize_t done = positioned ? syscall(SYS_pwrite64, fd, data, size, offset) : plain_write(fd, data, size);
    int code = errno;
    if (done > 0 && record >= 0) put(WRITE, path, 0, positioned ? offset : lseek(fd, 0, SEEK_CUR) - done, data, done);
    pthread_mutex_unlock(&lock);
    errno = code;
    return done;
}

ssize_t write(int fd, const void *data, size_t size) { return change(fd, data, size, 0, 0); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return change(fd, data, size, offset, 1); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) { return change(fd, data, size, offset, 1); }

/* One part after the other: less than all is a result that callers handle. */
ssize_t writev(int fd, const struct iovec *parts, int count) {
    char path[PATH_MAX];
    if (!below(fd, 0, path)) return syscall(SYS_writev, fd, parts, count);
    for (int i = 0; i < count; i++)
        if (parts[i].iov_len) return change(fd, parts[i].iov_base, parts[i].iov_len, 0, 0);
    return 0;
}

static ssize_t change_all(int fd, const struct iovec *parts, int count, off_t offset) {
    ssize_t sum = 0;
    for (int i = 0; i < count; i++) {
        ssize_t done = change(fd, parts[i].iov_base, parts[i].iov_len, offset + sum, 1);
        if (done < 0) return sum ? sum : done;
        sum += done;
    }
    return sum;
}
ssize_t pwritev(int fd, const struct iovec *p, int n, off_t at) { return change_all(fd, p, n, at); }
ssize_t pwritev64(int fd, const struct iovec *p, int n, off64_t at) { return change_all(fd, p, n, at); }
ssize_t pwritev2(int fd, const struct iovec *p, int n, off_t at, int f) { return change_all(fd, p, n, at); }
ssize_t pwritev64v2(int fd, const struct iovec *p, int n, off64_t at, int f) { return change_all(fd, p, n, at); }

/* Callers fall back to read and write. */
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
    char path[PATH_MAX];
    if (below(out, 0, path)) { errno = EXDEV; return -1; }
    return syscall(SYS_copy_file_range, in, from, out, to, size, flags);
}
ssize_t sendfile(int out, int in, off_t *offset, size_t size) {
    char path[PATH_MAX];
    if (below(out, 0, path)) { errno = EINVAL; return -1; }
    return syscall(SYS_sendfile, out, in, offset, size);
}
ssize_t sendfile64(int out, int in, off64_t *offset, size_t size) { return sendfile(out, in, offset, size); }

int ftruncate(int fd, off_t size) {
    char path[PATH_MAX];
    if (!below(fd, 0, path)) return syscall(SYS_ftruncate, fd, size);
    CHANGE(int done = syscall(SYS_ftruncate, fd, size), "truncate", done < 0, path, put(TRUNCATE, path, 0, size, 0, 0));
    return done;
}
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

int truncate(const char *name, off_t size) {
    char path[PATH_MAX];
    if (!below(AT_FDCWD, name, path)) return syscall(SYS_truncate, name, size);
    CHANGE(int done = syscall(SYS_truncate, name, size), "truncate", done < 0, path, put(TRUNCATE, path, 0, size, 0, 0));
    return done;
}
int truncate64(const char *name, off64_t size) { return truncate(name, size); }

/* ---- opening */
struct how { uint64_t flags, mode, resolve; };

static int open_at(int folder, const char *name, int flags, mode_t mode, const struct how *how, size_t size) {
    char path[PATH_MAX];
    struct stat before;
#define OPEN how ? syscall(SYS_openat2, folder, name, how, size) : syscall(SYS_openat, folder, name, flags, mode)
    if (!(flags & (O_CREAT | O_TRUNC)) || !below(folder, name, path)) return OPEN;
    int there = !fstatat(folder, name, &before, 0);
    if (there && !((flags & O_TRUNC) && before.st_size)) return OPEN;
    CHANGE(int fd = OPEN, "open", fd < 0, path, put(there ? TRUNCATE : CREATE, path, 0, 0, 0, 0));
    return fd;
}

#define MODE                                                                                                           \
    va_list more;                                                                                                      \
    va_start(more, flags);                                                                                             \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;                                            \
    va_end(more)

int open(const char *name, int flags, ...) { MODE; return open_at(AT_FDCWD, name, flags, mode, 0, 0); }
int open64(const char *name, int flags, ...) { MODE; return open_at(AT_FDCWD, name, flags, mode, 0, 0); }
int openat(int folder, const char *name, int flags, ...) { MODE; return open_at(folder, name, flags, mode, 0, 0); }
int openat64(int folder, const char *name, int flags, ...) { MODE; return open_at(folder, name, flags, mode, 0, 0); }

/* ctypes calls openat2 through here: libc has no name for it. */
long syscall(long number, ...) {
    REAL(long, syscall, long, ...);
    va_list more;
    va_start(more, number);
    long a = va_arg(more, long), b = va_arg(more, long), c = va_arg(more, long);
    long d = va_arg(more, long), e = va_arg(more, long), f = va_arg(more, long);
    va_end(more);
    static __thread int inside = 0;
    if (number == SYS_openat2 && !inside) {
        inside = 1;
        const struct how *how = (const struct how *)c;
        long fd = open_at(a, (const char *)b, how->flags, 0, how, d);
        inside = 0;
        return fd;
    }
    return real(number, a, b, c, d, e, f);
}

/* ---- names */
static int rename_at(int folder, const char *name, int to_folder, const char *to, unsigned flags) {
    char path[PATH_MAX], other[PATH_MAX];
    if (!below(folder, name, path) || !below(to_folder, to, other))
        return syscall(SYS_renameat2, folder, name, to_folder, to, flags);
    CHANGE(int done = syscall(SYS_renameat2, folder, name, to_folder, to, flags), "rename", done < 0, path,
           put(flags & 2 ? EXCHANGE : RENAME, path, other, 0, 0, 0));
    return done;
}
int rename(const char *name, const char *to) { return rename_at(AT_FDCWD, name, AT_FDCWD, to, 0); }
int renameat(int f, const char *name, int t, const char *to) { return rename_at(f, name, t, to, 0); }
int renameat2(int f, const char *name, int t, const char *to, unsigned flags) { return rename_at(f, name, t, to, flags); }

int linkat(int folder, const char *name, int to_folder, const char *to, int flags) {
    char path[PATH_MAX], other[PATH_MAX];
    if (!below(folder, name, path) || !below(to_folder, to, other))
        return syscall(SYS_linkat, folder, name, to_folder, to, flags);
    CHANGE(int done = syscall(SYS_linkat, folder, name, to_folder, to, flags), "link", done < 0, path,
           put(LINK, path, other, 0, 0, 0));
    return done;
}
int link(const char *name, const char *to) { return linkat(AT_FDCWD, name, AT_FDCWD, to, 0); }

int unlinkat(int folder, const char *name, int flags) {
    char path[PATH_MAX];
    if (!below(folder, name, path)) return syscall(SYS_unlinkat, folder, name, flags);
    CHANGE(int done = syscall(SYS_unlinkat, folder, name, flags), "unlink", done < 0, path,
           put(flags & AT_REMOVEDIR ? RMDIR : UNLINK, path, 0, 0, 0, 0));
    return done;
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }

int mkdirat(int folder, const char *name, mode_t mode) {
    char path[PATH_MAX];
    if (!below(folder, name, path)) return syscall(SYS_mkdirat, folder, name, mode);
    CHANGE(int done = syscall(SYS_mkdirat, folder, name, mode), "mkdir", done < 0, path, put(MKDIR, path, 0, 0, 0, 0));
    return done;
}
int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

/* ---- flushing: a kill leaves what the kernel has, and `replay.py` decides what a disk has. So no disk is waited for. */
static int flush(int fd, int number) {
    char path[PATH_MAX];
    if (!below(fd, 0, path)) return syscall(number, fd);
    CHANGE(int done = 0, "sync", done < 0, path,
           put(SYNC, path, 0, 0, 0, 0); hide(path));
    return done;
}
int fsync(int fd) { return flush(fd, SYS_fsync); }
int fdatasync(int fd) { return flush(fd, SYS_fdatasync); }
