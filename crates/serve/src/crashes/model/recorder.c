/* Runs a program, and records in which order it changes the files below a directory, and what it waits for until it is on disk.
 *
 *     recorder LOG DIRECTORY PROGRAM [ARGUMENT]...
 *
 * It follows system calls (ptrace), one at a time, since some of them are made without the C library. What it could not record faithfully, such as a
 * mapping that is written to, it records as such. LOG is a list of events, each of them six numbers (little-endian) and three texts; `recording.rs` reads them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum kind { OPENED = 1, WRITTEN, CUT, SYNCED, DIRECTORY, REMOVED, RENAMED, UNKNOWN };

/* The system calls that are looked at. */
static const int CALLS[] = {
    SYS_openat,     SYS_write,     SYS_pwrite64,  SYS_writev,   SYS_ftruncate, SYS_fsync,    SYS_fdatasync, SYS_mkdirat,
    SYS_unlinkat,   SYS_renameat2, SYS_mmap,      SYS_pwritev,  SYS_pwritev2,  SYS_truncate, SYS_fallocate, SYS_linkat,
    SYS_symlinkat,  SYS_sync,      SYS_syncfs,    SYS_sendfile, SYS_splice,    SYS_openat2,  SYS_copy_file_range,
    SYS_io_uring_setup,
#ifdef SYS_renameat
    SYS_renameat,
#endif
#ifdef SYS_open
    SYS_open,       SYS_creat,     SYS_mkdir,     SYS_rmdir,    SYS_unlink,    SYS_rename,   SYS_link,      SYS_symlink,
#endif
};
#define NUMBER (sizeof CALLS / sizeof *CALLS)

static const char *root;
static FILE *out;
static char data[1 << 26];

static void fail(const char *what) {
    fprintf(stderr, "recorder: %s: %s\n", what, strerror(errno));
    exit(70);
}

static void put(enum kind kind, uint64_t inode, uint64_t number, const char *path, const char *to, size_t length) {
    uint64_t numbers[] = {kind, inode, number, strlen(path), strlen(to), length};
    fwrite(numbers, sizeof numbers, 1, out);
    fputs(path, out);
    fputs(to, out);
    fwrite(data, 1, length, out);
    if (ferror(out))
        fail("cannot write the log");
}

static size_t copy(pid_t task, uint64_t from, char *to, size_t length) {
    struct iovec here = {to, length}, there = {(void *)from, length};
    ssize_t copied = process_vm_readv(task, &here, 1, &there, 1, 0);
    return copied < 0 ? 0 : (size_t)copied;
}

static void text(pid_t task, uint64_t from, char to[PATH_MAX]) {
    for (size_t length = 0; length < PATH_MAX; length++)
        if (copy(task, from + length, to + length, 1) != 1 || !to[length])
            return;
    fail("a path is too long");
}

/* What a link below /proc leads to. */
static void link_of(pid_t task, const char *name, long number, char to[PATH_MAX]) {
    char at[64];
    snprintf(at, sizeof at, number < 0 ? "/proc/%d/%s" : "/proc/%d/%s/%ld", task, name, number);
    ssize_t length = readlink(at, to, PATH_MAX - 1);
    to[length < 0 ? 0 : length] = 0;
}

/* The path below the directory; nothing if it is elsewhere. */
static const char *below(const char *path) {
    size_t length = strlen(root);
    if (strncmp(path, root, length))
        return NULL;
    return path[length] == '/' ? path + length + 1 : path[length] ? NULL : path + length;
}

/* A path that a system call was given, from the top. */
static const char *named(pid_t task, int64_t directory, uint64_t from, char to[PATH_MAX]) {
    char path[PATH_MAX] = "", base[PATH_MAX];
    text(task, from, path);
    if (path[0] == '/') {
        strcpy(to, path);
    } else {
        (int)directory == AT_FDCWD ? link_of(task, "cwd", -1, base) : link_of(task, "fd", (int)directory, base);
        if (snprintf(to, PATH_MAX, "%s/%s", base, path) >= PATH_MAX)
            fail("a path is too long");
    }
    size_t end = strlen(to);
    if (end > 1 && to[end - 1] == '/')
        to[end - 1] = 0;
    return below(to);
}

/* The file or directory behind a descriptor, if it is below the directory. */
static uint64_t inode_of(pid_t task, int64_t descriptor) {
    char at[64], path[PATH_MAX];
    struct stat facts;
    link_of(task, "fd", (int)descriptor, path);
    snprintf(at, sizeof at, "/proc/%d/fd/%d", task, (int)descriptor);
    if (!below(path) || stat(at, &facts) || !(S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode)))
        return 0;
    return facts.st_ino;
}

static uint64_t position(pid_t task, int64_t descriptor) {
    char at[64];
    unsigned long long found = 0;
    snprintf(at, sizeof at, "/proc/%d/fdinfo/%d", task, (int)descriptor);
    FILE *facts = fopen(at, "r");
    if (!facts || fscanf(facts, "pos: %llu", &found) != 1)
        fail("no position of a file");
    fclose(facts);
    return found;
}

/* What comes of the system call that a task is in; the others stand still at theirs meanwhile. */
static int64_t result(pid_t task) {
    for (int give = 0;;) {
        int status;
        struct __ptrace_syscall_info info;
        if (ptrace(PTRACE_SYSCALL, task, 0, give) || waitpid(task, &status, __WALL) != task || !WIFSTOPPED(status))
            return -EINTR;
        give = 0;
        if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
            give = status >> 16 ? 0 : WSTOPSIG(status);
            continue;
        }
        if (ptrace(PTRACE_GET_SYSCALL_INFO, task, sizeof info, &info) > 0 && info.op == PTRACE_SYSCALL_INFO_EXIT)
            return info.exit.rval;
    }
}

static size_t gather(pid_t task, uint64_t vectors, uint64_t count) {
    size_t length = 0;
    for (uint64_t place = 0; place < count; place++) {
        struct iovec one;
        if (copy(task, vectors + place * sizeof one, (char *)&one, sizeof one) != sizeof one)
            fail("cannot read what is written");
        if (length + one.iov_len > sizeof data)
            fail("too much is written at once");
        length += copy(task, (uint64_t)one.iov_base, data + length, one.iov_len);
    }
    return length;
}

static void written(pid_t task, uint64_t inode, const uint64_t *args, int call) {
    size_t length;
    if (call == SYS_writev || call == SYS_pwritev || call == SYS_pwritev2) {
        length = gather(task, args[1], args[2]);
    } else {
        if (args[2] > sizeof data)
            fail("too much is written at once");
        length = copy(task, args[1], data, args[2]);
    }
    int64_t count = result(task);
    if (count <= 0)
        return;
    if ((size_t)count > length)
        fail("cannot read what is written");
    int placed = call == SYS_pwrite64 || call == SYS_pwritev || call == SYS_pwritev2;
    put(WRITTEN, inode, placed ? args[3] : position(task, args[0]) - (uint64_t)count, "", "", (size_t)count);
}

static void opened(pid_t task, uint64_t flags) {
    int64_t descriptor = result(task);
    char path[PATH_MAX];
    int anonymous = (flags & O_TMPFILE) == O_TMPFILE;
    if (descriptor < 0 || !(flags & (O_CREAT | O_TRUNC) || anonymous))
        return;
    uint64_t inode = inode_of(task, descriptor);
    if (!inode)
        return;
    link_of(task, "fd", descriptor, path);
    put(anonymous ? UNKNOWN : OPENED, inode, anonymous ? (uint64_t)SYS_openat : !!(flags & O_TRUNC), below(path), "", 0);
}

static void made(pid_t task, const char *path, const char *whole) {
    struct stat facts;
    if (path && !result(task) && !lstat(whole, &facts))
        put(DIRECTORY, facts.st_ino, 0, path, "", 0);
}

static void renamed(pid_t task, const char *from, const char *to, uint64_t flags) {
    if (!from && !to)
        return;
    if (result(task))
        return;
    int plain = from && to && !(flags & ~(uint64_t)1);
    put(plain ? RENAMED : UNKNOWN, 0, SYS_renameat2, from ? from : "", to ? to : "", 0);
}

static void removed(pid_t task, const char *path) {
    if (path && !result(task))
        put(REMOVED, 0, 0, path, "", 0);
}

/* Looks at a task that stands before a system call. */
static void look(pid_t task) {
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, task, sizeof info, &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_SECCOMP)
        return;
    const uint64_t *args = (const uint64_t *)info.seccomp.args;
    int call = (int)info.seccomp.nr;
    char one[PATH_MAX] = "", two[PATH_MAX] = "";
    uint64_t inode;
    switch (call) {
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
        if ((inode = inode_of(task, args[0])))
            written(task, inode, args, call);
        break;
    case SYS_ftruncate:
        if ((inode = inode_of(task, args[0])) && !result(task))
            put(CUT, inode, args[1], "", "", 0);
        break;
    case SYS_fsync:
    case SYS_fdatasync:
        if ((inode = inode_of(task, args[0])) && !result(task))
            put(SYNCED, inode, 0, "", "", 0);
        break;
    case SYS_openat:
        opened(task, args[2]);
        break;
    case SYS_mkdirat:
        made(task, named(task, args[0], args[1], one), one);
        break;
    case SYS_unlinkat:
        removed(task, named(task, args[0], args[1], one));
        break;
#ifdef SYS_renameat
    case SYS_renameat:
#endif
    case SYS_renameat2:
        renamed(task, named(task, args[0], args[1], one), named(task, args[2], args[3], two), call == SYS_renameat2 ? args[4] : 0);
        break;
    case SYS_mmap:
        if (args[2] & PROT_WRITE && args[3] & MAP_SHARED && !(args[3] & MAP_ANONYMOUS) && (inode = inode_of(task, args[4])))
            put(UNKNOWN, inode, (uint64_t)call, "", "", 0);
        break;
    case SYS_fallocate:
        if ((inode = inode_of(task, args[0])))
            put(UNKNOWN, inode, (uint64_t)call, "", "", 0);
        break;
    case SYS_sendfile:
    case SYS_splice:
    case SYS_copy_file_range:
        if ((inode = inode_of(task, args[call == SYS_sendfile ? 0 : 2])))
            put(UNKNOWN, inode, (uint64_t)call, "", "", 0);
        break;
#ifdef SYS_open
    case SYS_open:
        opened(task, args[1]);
        break;
    case SYS_mkdir:
        made(task, named(task, AT_FDCWD, args[0], one), one);
        break;
    case SYS_rmdir:
    case SYS_unlink:
        removed(task, named(task, AT_FDCWD, args[0], one));
        break;
    case SYS_rename:
        renamed(task, named(task, AT_FDCWD, args[0], one), named(task, AT_FDCWD, args[1], two), 0);
        break;
#endif
    default:
        put(UNKNOWN, 0, (uint64_t)call, "", "", 0);
    }
}

static void begin(char **program) {
    struct sock_filter filter[2 * NUMBER + 2];
    size_t length = 0;
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t place = 0; place < NUMBER; place++) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)CALLS[place], 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog all = {(unsigned short)length, filter};
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) || raise(SIGSTOP))
        fail("cannot be followed");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
        fail("cannot be filtered");
    execvp(program[0], program);
    fail(program[0]);
}

int main(int count, char **arguments) {
    if (count < 4)
        return 64;
    root = arguments[2];
    if (!(out = fopen(arguments[1], "wb")))
        fail(arguments[1]);
    struct stat facts;
    if (lstat(root, &facts))
        fail(root);
    put(DIRECTORY, facts.st_ino, 0, "", "", 0);
    pid_t child = fork();
    if (!child)
        begin(arguments + 3);
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        fail("cannot follow");
    long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACESYSGOOD |
                   PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SETOPTIONS, child, 0, options) || ptrace(PTRACE_CONT, child, 0, 0))
        fail("cannot follow");
    for (;;) {
        pid_t task = waitpid(-1, &status, __WALL);
        if (task < 0)
            fail("nothing to follow");
        if (!WIFSTOPPED(status)) {
            if (task != child)
                continue;
            if (fclose(out))
                fail("cannot write the log");
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        int event = status >> 16, given = WSTOPSIG(status);
        if (event == PTRACE_EVENT_SECCOMP)
            look(task);
        /* Tasks begin with a stop that is for the recorder alone. */
        int give = event || given == SIGSTOP || given == (SIGTRAP | 0x80) ? 0 : given;
        ptrace(PTRACE_CONT, task, 0, give);
    }
}
