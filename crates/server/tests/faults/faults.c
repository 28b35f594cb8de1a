/* A preload library that makes a server's disk fail on request: while the file $FAULTS/eio is there, every flush fails
 * with EIO (and is not done); while $FAULTS/enospc is there, every write that would grow a file fails with ENOSPC.
 * Sockets and terminals are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static int wanted(const char *fault) {
  const char *folder = getenv("FAULTS");
  char path[4096];
  if (!folder) return 0;
  snprintf(path, sizeof path, "%s/%s", folder, fault);
  return access(path, F_OK) == 0;
}

static int is_file(int fd, off_t *size) {
  struct stat s;
  if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)) return 0;
  *size = s.st_size;
  return 1;
}

#define REAL(name) \
  static __typeof__(name) *real; \
  if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define FAIL_FLUSH(fd) \
  off_t size; \
  if (is_file(fd, &size) && wanted("eio")) { errno = EIO; return -1; }

int fsync(int fd) { REAL(fsync); FAIL_FLUSH(fd); return real(fd); }
int fdatasync(int fd) { REAL(fdatasync); FAIL_FLUSH(fd); return real(fd); }

#define FAIL_GROWTH(fd, end) \
  off_t size; \
  if (is_file(fd, &size) && (off_t)(end) > size && wanted("enospc")) { errno = ENOSPC; return -1; }

ssize_t pwrite(int fd, const void *b, size_t n, off_t o) { REAL(pwrite); FAIL_GROWTH(fd, o + n); return real(fd, b, n, o); }
ssize_t pwrite64(int fd, const void *b, size_t n, off_t o) { REAL(pwrite64); FAIL_GROWTH(fd, o + n); return real(fd, b, n, o); }
ssize_t write(int fd, const void *b, size_t n) {
  REAL(write);
  FAIL_GROWTH(fd, size + n);
  return real(fd, b, n);
}
int ftruncate(int fd, off_t n) { REAL(ftruncate); FAIL_GROWTH(fd, n); return real(fd, n); }
int ftruncate64(int fd, off_t n) { REAL(ftruncate64); FAIL_GROWTH(fd, n); return real(fd, n); }
