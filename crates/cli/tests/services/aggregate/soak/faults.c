/* Faults of a machine, for a program that this is preloaded into: disks that are slow or full, and clocks that step.
 *
 * TACITA_FAULTS names a file of three 64-bit numbers, which may change at any time: milliseconds that each flush takes longer, whether the disk is
 * full, and seconds by which the clock is wrong. Only files count, no sockets and no pipes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct faults {
    volatile int64_t flush_ms, full, clock_s;
};

static struct faults none;
static struct faults *faults = &none;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("TACITA_FAULTS");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *mapped = mmap(NULL, sizeof *faults, PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED)
        faults = mapped;
    close(file);
}

static int has_no_room(int fd) {
    struct stat facts;
    if (!faults->full || fstat(fd, &facts) || !S_ISREG(facts.st_mode))
        return 0;
    errno = ENOSPC;
    return 1;
}

static void wait_for_disk(void) {
    int64_t ms = faults->flush_ms;
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    if (ms > 0)
        nanosleep(&time, NULL);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define GUARDED(result, name, parameters, arguments)                                                                   \
    result name parameters {                                                                                           \
        return has_no_room(fd) ? -1 : NEXT(name) arguments;                                                            \
    }

GUARDED(ssize_t, write, (int fd, const void *bytes, size_t length), (fd, bytes, length))
GUARDED(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
GUARDED(ssize_t, pwrite, (int fd, const void *bytes, size_t length, off_t at), (fd, bytes, length, at))
GUARDED(ssize_t, pwrite64, (int fd, const void *bytes, size_t length, off64_t at), (fd, bytes, length, at))
GUARDED(int, ftruncate, (int fd, off_t length), (fd, length))
GUARDED(int, ftruncate64, (int fd, off64_t length), (fd, length))

int fsync(int fd) {
    wait_for_disk();
    return has_no_room(fd) ? -1 : NEXT(fsync)(fd);
}

int fdatasync(int fd) {
    wait_for_disk();
    return has_no_room(fd) ? -1 : NEXT(fdatasync)(fd);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int done = NEXT(clock_gettime)(clock, time);
    if (!done && clock == CLOCK_REALTIME)
        time->tv_sec += faults->clock_s;
    return done;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    int done = NEXT(gettimeofday)(time, zone);
    if (!done)
        time->tv_sec += faults->clock_s;
    return done;
}

time_t time(time_t *where) {
    time_t now = NEXT(time)(NULL) + faults->clock_s;
    if (where)
        *where = now;
    return now;
}
