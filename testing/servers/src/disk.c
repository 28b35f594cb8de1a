/* A preload library that puts a disk of one's choosing under a server: slow, failing or full; and counts what is asked of it.
 *
 * $DURAMEN_DISK names a file of one page. Whoever chooses the disk writes it while the server runs. Its words, of 64 bits:
 *   0     nanoseconds that each flush takes longer
 *   1     not 0: each flush fails with EIO, and is not done
 *   2     not 0: each write that would grow a file fails with ENOSPC
 *   3, 4  flushes so far (fsync, fdatasync, syncfs, sync, msync), and the nanoseconds they took
 *   5, 6  the same of writes that flush by themselves (O_DSYNC, O_SYNC, RWF_DSYNC, RWF_SYNC)
 *   7, 8  the same of sync_file_range that waits
 *   9     of the flushes and writes in 3 and 5 those of a file `binlog.N`
 * Flushes of several threads take longer side by side, as on a disk with a deep queue. Sockets and terminals are left alone.
 *
 * Only calls through the C library's names are seen: no io_uring, no kernel AIO, no direct system calls. Who measures compares
 * the counts with what must have been flushed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { DELAY, FAIL, FULL, FLUSHES, SYNC_WRITES = 5, RANGES = 7, OF_LOG = 9, WORDS = 10 };

static _Atomic uint64_t *disk;

__attribute__((constructor)) static void find_disk(void) {
  const char *path = getenv("DURAMEN_DISK");
  int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *page = mmap(NULL, WORDS * sizeof *disk, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page != MAP_FAILED) disk = page;
  close(fd);
}

static int is_file(int fd, off_t *size) {
  struct stat s;
  if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)) return 0;
  *size = s.st_size;
  return 1;
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

/* Ends a flush of this kind that began then: the disk's own time, and the time that it is to take longer. The usual timer
 * slack of 50 us would lengthen short delays by a tenth; the thread gets its own back. */
static void end_flush(int kind, uint64_t began) {
  uint64_t delay = disk[DELAY];
  int error = errno;
  if (delay) {
    uint64_t until = now() + delay;
    struct timespec t = {until / 1000000000, until % 1000000000};
    int slack = prctl(PR_GET_TIMERSLACK);
    prctl(PR_SET_TIMERSLACK, 1UL);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {}
    prctl(PR_SET_TIMERSLACK, (unsigned long)slack);
  }
  disk[kind]++;
  disk[kind + 1] += now() - began;
  errno = error;
}

/* Counts a flush of a file of the binary log. */
static void count_log(int fd) {
  char link[32], path[4096];
  int error = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n > 0) {
    path[n] = 0;
    const char *name = strrchr(path, '/');
    if (name && strncmp(name, "/binlog.", 8) == 0 && name[8] >= '0' && name[8] <= '9') disk[OF_LOG]++;
  }
  errno = error;
}

#define REAL(name) \
  static __typeof__(name) *real; \
  if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define FLUSH(kind, call) \
  if (!disk) return call; \
  if (disk[FAIL]) { errno = EIO; return -1; } \
  uint64_t began = now(); \
  int result = call; \
  end_flush(kind, began); \
  return result

int fsync(int fd) {
  REAL(fsync);
  if (disk) count_log(fd);
  FLUSH(FLUSHES, real(fd));
}
int fdatasync(int fd) {
  REAL(fdatasync);
  if (disk) count_log(fd);
  FLUSH(FLUSHES, real(fd));
}
int syncfs(int fd) { REAL(syncfs); FLUSH(FLUSHES, real(fd)); }
int msync(void *from, size_t n, int flags) {
  REAL(msync);
  if (!(flags & MS_SYNC)) return real(from, n, flags);
  FLUSH(FLUSHES, real(from, n, flags));
}
int sync_file_range(int fd, off64_t from, off64_t n, unsigned flags) {
  REAL(sync_file_range);
  if (!(flags & SYNC_FILE_RANGE_WAIT_AFTER)) return real(fd, from, n, flags);
  FLUSH(RANGES, real(fd, from, n, flags));
}
void sync(void) {
  REAL(sync);
  uint64_t began = now();
  real();
  if (disk) end_flush(FLUSHES, began);
}

/* Where a write without an offset goes. */
static off_t place(int fd, off_t size) { return fcntl(fd, F_GETFL) & O_APPEND ? size : lseek(fd, 0, SEEK_CUR); }

/* A disk that is full takes what overwrites; -1 stands for the descriptor's own place. */
static int has_no_room(int fd, off_t at, size_t more) {
  off_t size;
  if (!disk || !disk[FULL] || !is_file(fd, &size)) return 0;
  if ((at < 0 ? place(fd, size) : at) + (off_t)more <= size) return 0;
  errno = ENOSPC;
  return 1;
}

static int flushes_itself(int fd, int flags) {
  if (!disk) return 0;
  if (flags & (RWF_DSYNC | RWF_SYNC)) return 1;
  int error = errno, status = fcntl(fd, F_GETFL);
  errno = error;
  return status != -1 && (status & O_DSYNC);
}

static size_t length(const struct iovec *parts, int n) {
  size_t sum = 0;
  for (int i = 0; i < n; i++) sum += parts[i].iov_len;
  return sum;
}

#define WRITE(fd, at, n, flags, call) \
  if (has_no_room(fd, at, n)) return -1; \
  if (!flushes_itself(fd, flags)) return call; \
  if (disk[FAIL]) { errno = EIO; return -1; } \
  count_log(fd); \
  uint64_t began = now(); \
  ssize_t written = call; \
  end_flush(SYNC_WRITES, began); \
  return written

#define PWRITE(name, off) \
  ssize_t name(int fd, const void *from, size_t n, off at) { REAL(name); WRITE(fd, at, n, 0, real(fd, from, n, at)); }
#define PWRITEV(name, off) \
  ssize_t name(int fd, const struct iovec *parts, int n, off at) { \
    REAL(name); \
    WRITE(fd, at, length(parts, n), 0, real(fd, parts, n, at)); \
  }
#define PWRITEV2(name, off) \
  ssize_t name(int fd, const struct iovec *parts, int n, off at, int flags) { \
    REAL(name); \
    WRITE(fd, at, length(parts, n), flags, real(fd, parts, n, at, flags)); \
  }

ssize_t write(int fd, const void *from, size_t n) { REAL(write); WRITE(fd, -1, n, 0, real(fd, from, n)); }
ssize_t writev(int fd, const struct iovec *parts, int n) {
  REAL(writev);
  WRITE(fd, -1, length(parts, n), 0, real(fd, parts, n));
}
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)
PWRITEV(pwritev, off_t)
PWRITEV(pwritev64, off64_t)
PWRITEV2(pwritev2, off_t)
PWRITEV2(pwritev64v2, off64_t)

int ftruncate(int fd, off_t n) { REAL(ftruncate); return has_no_room(fd, n, 0) ? -1 : real(fd, n); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); return has_no_room(fd, n, 0) ? -1 : real(fd, n); }
