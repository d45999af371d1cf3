/* The worker: loads one design, maps its buffers, and calls it when told to. It holds no clock and no expected value.
 *
 * usage: worker ENTRY SOCKET CONTROL PLAN DESIGN LIFE REGION... (descriptors). It reports on SOCKET: one line that starts
 * with `E` and says why it gives up, or `L` once the design is loaded; the end of the stream after `L` says that the
 * system call filter holds. LIFE stays open: its end tells the conductor of this process's death.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "protocol.h"
#include "seccomp.h"

static struct kw_control *control;
static int report_socket = -1;

static void give_up(const char *what, const char *why) {
  char text[1024];
  int n = snprintf(text, sizeof text, "E%s: %s", what, why);
  if (n > (int)sizeof text - 1) n = sizeof text - 1;
  if (send(report_socket, text, (size_t)n, MSG_NOSIGNAL) < 0) _exit(71);
  _exit(70);
}

static void on_fault(int number, siginfo_t *info, void *context) {
  (void)context;
  if (number == SIGSYS)
    control->fault_address = (uint64_t)info->si_syscall;
  else
    control->fault_address = (uint64_t)(uintptr_t)info->si_addr;
  control->fault_code = info->si_code;
  control->fault_signal = (uint32_t)number;
  atomic_fetch_add(&control->done, 0x80000000u); /* a value nobody waits for: the conductor wakes and looks */
  syscall(SYS_futex, &control->done, FUTEX_WAKE, 1, NULL, NULL, 0);
  if (number == SIGSYS) syscall(SYS_exit_group, 128 + number);
  /* SA_RESETHAND: returning repeats the fault, and this time it kills. */
}

static void watch_faults(void) {
  static char stack[65536];
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND)};
  static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGTRAP};
  sigaltstack(&alternate, NULL);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) sigaction(numbers[i], &action, NULL);
}

/* Rounding, flushing and masked exceptions; the sticky flags that any arithmetic sets are left out. */
static uint64_t float_state(void) {
#if defined(__x86_64__)
  uint16_t x87;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return ((uint64_t)x87 << 32) | (_mm_getcsr() & ~0x3fu);
#else
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return fpcr;
#endif
}

/* The first thread of a process makes the C library install signal handlers, which the filter would refuse later. */
static void *nothing(void *unused) { return unused; }

static void first_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, nothing, NULL) != 0) give_up("thread", "none can be made");
  pthread_join(thread, NULL);
}

static void *map_file(int fd, size_t *bytes) {
  struct stat s;
  if (fstat(fd, &s) != 0) give_up("plan", strerror(errno));
  *bytes = (size_t)s.st_size;
  void *p = mmap(NULL, *bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) give_up("plan", strerror(errno));
  return p;
}

#define HUGE_BYTES (2ull << 20)

/* Reserve room for a region such that address and file offset agree modulo the huge page size; holes stay unmapped. */
static char *reserve(uint64_t bytes) {
  char *p = mmap(NULL, bytes + 2 * HUGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) give_up("reserve", strerror(errno));
  return (char *)(((uintptr_t)p + HUGE_BYTES) & ~(uintptr_t)(HUGE_BYTES - 1));
}

static void map_segments(const struct kw_plan *plan, const struct kw_region *regions, const struct kw_segment *segments,
                         const int *fds) {
  for (uint32_t r = 0; r < plan->regions; r++) control->bases[r] = (uint64_t)(uintptr_t)reserve(regions[r].bytes);
  for (uint32_t i = 0; i < plan->segments; i++) {
    const struct kw_segment *s = &segments[i];
    char *at = (char *)(uintptr_t)control->bases[s->region] + s->offset;
    int access = PROT_READ | (s->writable ? PROT_WRITE : 0);
    if (mmap(at, s->bytes, access, MAP_SHARED | MAP_FIXED, fds[s->region], (off_t)s->offset) == MAP_FAILED)
      give_up("map", strerror(errno));
    if (regions[s->region].huge) madvise(at, s->bytes, MADV_HUGEPAGE); /* refused by some kernels; only slower then */
  }
}

/* What is needed to make pages present before they are used in a reading. */
static struct {
  const struct kw_plan *plan;
  const struct kw_segment *segments;
  uint16_t *segment_of; /* of each pointer */
  uint8_t *present;     /* for each segment */
} pages;

static void watch_pages(const struct kw_plan *plan, const struct kw_segment *segments, const struct kw_pointer *offsets) {
  size_t total = (size_t)plan->slots * plan->arguments;
  pages.plan = plan;
  pages.segments = segments;
  pages.segment_of = calloc(total, sizeof *pages.segment_of);
  pages.present = calloc(plan->segments, 1);
  if (!pages.segment_of || !pages.present || plan->segments > UINT16_MAX) give_up("pages", "no memory");
  for (size_t i = 0; i < total; i++)
    for (uint32_t s = 0; s < plan->segments; s++)
      if (segments[s].region == offsets[i].region && offsets[i].offset >= segments[s].offset &&
          offsets[i].offset < segments[s].offset + segments[s].bytes)
        pages.segment_of[i] = (uint16_t)s;
}

/* Fill the page tables for the arguments of a slot, so that no first touch falls into a reading. */
static void make_present(uint32_t slot) {
  for (uint32_t a = 0; a < pages.plan->arguments; a++) {
    uint16_t number = pages.segment_of[(size_t)slot * pages.plan->arguments + a];
    const struct kw_segment *s = &pages.segments[number];
    char *at = (char *)(uintptr_t)control->bases[s->region] + s->offset;
    if (pages.present[number]) continue;
    pages.present[number] = 1;
#ifdef MADV_POPULATE_WRITE
    if (madvise(at, s->bytes, s->writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0) continue;
#endif
    for (uint64_t o = 0; o < s->bytes; o += 4096) {
      volatile char *byte = at + o;
      if (s->writable)
        *byte = *byte;
      else
        (void)*byte;
    }
  }
}

#define T1 void *
#define T2 T1, T1
#define T4 T2, T2
#define T8 T4, T4
#define T16 T8, T8
#define A1(i) p[i]
#define A2(i) A1(i), A1(i + 1)
#define A4(i) A2(i), A2(i + 2)
#define A8(i) A4(i), A4(i + 4)
#define A16(i) A8(i), A8(i + 8)
#define CASE(n, types, ...)                  \
  case n:                                    \
    ((void (*)(types))entry)(__VA_ARGS__);   \
    break;
/* The number of arguments is the kernel's; C needs it in the type of the call. */
#define COMMA ,
static void call(void (*entry)(void), void **p, uint32_t arguments) {
  switch (arguments) {
    CASE(1, T1, A1(0))
    CASE(2, T2, A2(0))
    CASE(3, T2 COMMA T1, A2(0), A1(2))
    CASE(4, T4, A4(0))
    CASE(5, T4 COMMA T1, A4(0), A1(4))
    CASE(6, T4 COMMA T2, A4(0), A2(4))
    CASE(7, T4 COMMA T2 COMMA T1, A4(0), A2(4), A1(6))
    CASE(8, T8, A8(0))
    CASE(9, T8 COMMA T1, A8(0), A1(8))
    CASE(10, T8 COMMA T2, A8(0), A2(8))
    CASE(11, T8 COMMA T2 COMMA T1, A8(0), A2(8), A1(10))
    CASE(12, T8 COMMA T4, A8(0), A4(8))
    CASE(13, T8 COMMA T4 COMMA T1, A8(0), A4(8), A1(12))
    CASE(14, T8 COMMA T4 COMMA T2, A8(0), A4(8), A2(12))
    CASE(15, T8 COMMA T4 COMMA T2 COMMA T1, A8(0), A4(8), A2(12), A1(14))
    CASE(16, T16, A16(0))
    CASE(17, T16 COMMA T1, A16(0), A1(16))
    CASE(18, T16 COMMA T2, A16(0), A2(16))
    CASE(19, T16 COMMA T2 COMMA T1, A16(0), A2(16), A1(18))
    CASE(20, T16 COMMA T4, A16(0), A4(16))
    CASE(21, T16 COMMA T4 COMMA T1, A16(0), A4(16), A1(20))
    CASE(22, T16 COMMA T4 COMMA T2, A16(0), A4(16), A2(20))
    CASE(23, T16 COMMA T4 COMMA T2 COMMA T1, A16(0), A4(16), A2(20), A1(22))
    CASE(24, T16 COMMA T8, A16(0), A8(16))
  }
}

static void serve(void (*entry)(void), void **pointers, const struct kw_plan *plan) {
  uint64_t at_load = float_state();
  uint32_t seen = 0;
  for (;;) {
    uint32_t go;
    while ((go = atomic_load(&control->go)) == seen) syscall(SYS_futex, &control->go, FUTEX_WAIT, seen, NULL, NULL, 0);
    seen = go;
    uint32_t first = control->first, count = control->count;
    if (count == 0) _exit(0);
    if (control->ahead)
      for (uint32_t i = 0; i < count + control->ahead && i < plan->slots; i++) make_present((first + i) % plan->slots);
    for (uint32_t i = 0; i < count; i++)
      call(entry, pointers + (size_t)((first + i) % plan->slots) * plan->arguments, plan->arguments);
    if (float_state() != at_load) control->changed = 1;
    atomic_store(&control->done, go);
    syscall(SYS_futex, &control->done, FUTEX_WAKE, 1, NULL, NULL, 0);
  }
}

int main(int argc, char **argv) {
  if (argc < 7 || argc > 7 + KW_MAX_REGIONS) return 2;
  report_socket = atoi(argv[2]);
  if (send(report_socket, "H", 1, MSG_NOSIGNAL) != 1) return 2; /* carries our credentials, and with them our pid */
  control = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[3]), 0);
  if (control == MAP_FAILED) give_up("control page", strerror(errno));
  size_t bytes;
  const struct kw_plan *plan = map_file(atoi(argv[4]), &bytes);
  const struct kw_region *regions = (const void *)(plan + 1);
  const struct kw_segment *segments = (const void *)(regions + plan->regions);
  const struct kw_pointer *offsets = (const void *)(segments + plan->segments);
  int fds[KW_MAX_REGIONS];
  if (plan->regions != (uint32_t)argc - 7 || plan->arguments == 0 || plan->arguments > 24)
    give_up("plan", "wrong number of regions or arguments");
  for (uint32_t r = 0; r < plan->regions; r++) fds[r] = atoi(argv[7 + r]);
  map_segments(plan, regions, segments, fds);
  size_t total = (size_t)plan->slots * plan->arguments;
  void **pointers = calloc(total, sizeof *pointers);
  if (!pointers) give_up("pointers", "no memory");
  for (size_t i = 0; i < total; i++)
    pointers[i] = (char *)(uintptr_t)control->bases[offsets[i].region] + offsets[i].offset;
  watch_pages(plan, segments, offsets);

  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", atoi(argv[5]));
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) give_up("load", dlerror());
  void (*entry)(void);
  *(void **)&entry = dlsym(library, argv[1]);
  if (!entry) give_up("load", "the entry is not exported");

  first_thread();
  watch_faults();
  int life = atoi(argv[6]);
  for (int fd = 0; fd < 256; fd++)
    if (fd != life && fd != report_socket) close(fd);
  if (send(report_socket, "L", 1, MSG_NOSIGNAL) != 1) _exit(71);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || kw_install_filter() != 0) give_up("filter", strerror(errno));
  close(report_socket);
  serve(entry, pointers, plan);
}
