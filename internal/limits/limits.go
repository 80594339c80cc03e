//go:build gpu && linux && cgo

package limits

/*
#cgo LDFLAGS: -lpthread
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

// The least ulimit -v with which the program starts every time, found by 18 starts with each of 26 limits on 1 and 2
// processors. Go reserves 600 MB for its tables alone. From 850000 on the program starts with some limits and not with
// others, since Go and malloc, for each thread, reserve more where they can; from 1700000 on it starts with all.
enum { least_kb = 1750000 };

// The threads that every start has besides the first: with 5 it fails at random, with fewer always.
enum { threads = 6 };

// The files that the smallest run opens besides standard input, output and error.
enum { files = 6 };

static void *wait_at(void *gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

// Says in one line why the program cannot start. Status 2 would say that the command line is wrong.
static void end_by(const char *line, int n) {
  if (write(STDERR_FILENO, line, (size_t)n) < 0) _exit(1);
  _exit(1);
}

// Whether Go's runtime takes this as GOMEMLIMIT: parseByteCount in its string.go. The runtime ends with a trace and
// status 2 otherwise.
static int is_memory(const char *s) {
  if (!*s || !strcmp(s, "off")) return 1;
  int negative = *s == '-';
  if (*s == '-' || *s == '+') s++;
  if (*s < '0' || *s > '9') return 0;
  const unsigned long long most = 0x7fffffffffffffff;
  unsigned long long n = 0;
  for (; *s >= '0' && *s <= '9'; s++) {
    unsigned digit = (unsigned)(*s - '0');
    if (n > (most - digit) / 10) return 0;
    n = 10 * n + digit;
  }
  if (negative && n) return 0;
  if (!*s || !strcmp(s, "B")) return 1;
  const char *units = "KMGT", *unit = strchr(units, *s);
  return unit && !strcmp(s + 1, "iB") && n <= most >> 10 * (unit - units + 1);
}

__attribute__((constructor)) static void before_go(int argc, char **argv) {
  char line[200];
  struct rlimit space;
  int limited = !getrlimit(RLIMIT_AS, &space) && space.rlim_cur != RLIM_INFINITY;
  if (limited && space.rlim_cur / 1024 < least_kb) {
    end_by(line, snprintf(line, sizeof line, "rollcall: ulimit -v %llu: too low for the program to start, want %d or "
                          "more\n", (unsigned long long)space.rlim_cur / 1024, least_kb));
  }

  const char *memory = getenv("GOMEMLIMIT");
  if (memory && !is_memory(memory)) {
    int n = snprintf(line, sizeof line, "rollcall: GOMEMLIMIT=%.40s: want a whole number of bytes, with nothing, B, "
                     "KiB, MiB, GiB or TiB behind it, or off\n", memory);
    for (int i = 0; i < n - 1; i++) line[i] = (unsigned char)line[i] < ' ' ? '?' : line[i];
    end_by(line, n);
  }

  int opened[files], m = 0;
  while (m < files && (opened[m] = epoll_create1(0)) >= 0) m++;
  int too_many = m < files && (errno == EMFILE || errno == ENFILE);
  for (int i = 0; i < m; i++) close(opened[i]);
  if (too_many) {
    end_by(line, snprintf(line, sizeof line, "rollcall: only %d files can be opened, want %d or more: the limit of "
                          "open files (ulimit -n) is too low, or reached\n", m, files));
  }

  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  pthread_t started[threads];
  int n = 0;
  pthread_mutex_lock(&gate);
  while (n < threads && !pthread_create(&started[n], NULL, wait_at, &gate)) n++;
  pthread_mutex_unlock(&gate);
  for (int i = 0; i < n; i++) pthread_join(started[i], NULL);
  if (n < threads) {
    end_by(line, snprintf(line, sizeof line, "rollcall: only %d of the %d threads that a start needs: the limit of "
                          "processes (ulimit -u, or that of the container) is too low, or reached\n",
                          n + 1, threads + 1));
  }

#ifdef __GLIBC__ // other C libraries give a constructor no arguments
  // With many processors a higher limit of addresses may be too low too, which only the runtime finds out. It reads
  // from its environment that it ends by SIGABRT then, and not with status 2, before Go code could tell it.
  if (limited && !getenv("GOTRACEBACK") && !setenv("GOTRACEBACK", "crash", 1)) execv("/proc/self/exe", argv);
#endif
}
*/
import "C"
