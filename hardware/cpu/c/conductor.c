/* The conductor: holds the clock, starts batches in workers and waits for their end.
 *
 * usage: conductor SOCKET NICE. Orders and answers are the structs of protocol.h. A worker is stopped (SIGSTOP) whenever it is
 * not its turn, so that no thread of one design can disturb the reading of another. The conductor sleeps on a futex
 * while a batch runs: on a small machine every core belongs to the design.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "favour.h"
#include "protocol.h"

#define WORKERS 4
#define SLICE_NS 20000000ull /* how long a death that told nobody may go unseen */

static struct worker {
  struct kw_control *control;
  int life;
  pid_t pid;
} workers[WORKERS];

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static int dead(const struct worker *w) {
  struct pollfd p = {.fd = w->life, .events = POLLIN};
  return poll(&p, 1, 0) > 0; /* nobody writes to it, so readable means that its last holder is gone */
}

/* Run `count` calls; *elapsed is from the moment before the wake-up to the moment after the end was seen. */
static uint32_t batch(struct worker *w, uint32_t first, uint32_t count, uint32_t ahead, uint64_t timeout_ns,
                      uint64_t *elapsed) {
  struct kw_control *c = w->control;
  uint32_t target = atomic_load(&c->go) + 1;
  c->first = first;
  c->count = count;
  c->ahead = ahead;
  uint64_t start = now_ns();
  atomic_store(&c->go, target);
  syscall(SYS_futex, &c->go, FUTEX_WAKE, 1, NULL, NULL, 0);
  for (;;) {
    uint32_t seen = atomic_load(&c->done);
    if (seen == target) break;
    uint64_t waited = now_ns() - start;
    if (c->fault_signal || dead(w)) return KW_DIED;
    if (waited >= timeout_ns) return KW_HUNG;
    uint64_t rest = timeout_ns - waited;
    struct timespec slice = {0, (long)(rest < SLICE_NS ? rest : SLICE_NS)};
    syscall(SYS_futex, &c->done, FUTEX_WAIT, seen, &slice, NULL, 0);
  }
  *elapsed = now_ns() - start;
  return c->fault_signal ? KW_DIED : KW_OK;
}

/* The field after the state is number 4; num_threads is number 20. See proc(5). */
static uint32_t threads(const char *after_state) {
  const char *p = after_state;
  for (int field = 3; field < 20 && p; field++) p = strchr(p + 1, ' ');
  return p ? (uint32_t)strtoul(p, NULL, 10) : 0;
}

/* Stop every thread and wait until it holds: the state in /proc is `T`. Returns the number of threads, 0 if unknown. */
static uint32_t stop(struct worker *w) {
  char path[64], text[512];
  kill(w->pid, SIGSTOP);
  snprintf(path, sizeof path, "/proc/%d/stat", (int)w->pid);
  for (int i = 0; i < 200; i++) {
    int f = open(path, O_RDONLY | O_CLOEXEC);
    if (f < 0) return 0;
    ssize_t n = read(f, text, sizeof text - 1);
    close(f);
    if (n <= 0) return 0;
    text[n] = 0;
    char *end = strrchr(text, ')');
    if (!end || end[1] != ' ' || end[2] == 'Z' || end[2] == 'X') return 0;
    if (end[2] == 'T') return threads(end + 2);
    struct timespec nap = {0, 20000};
    nanosleep(&nap, NULL);
  }
  return 0;
}

static struct kw_answer reading(struct worker *w, const struct kw_order *o) {
  struct kw_answer a = {0};
  uint64_t ignored;
  kill(w->pid, SIGCONT);
  if (o->warm) a.status = batch(w, o->first, o->warm, o->count, o->timeout_ns, &ignored);
  if (a.status == KW_OK && o->count)
    a.status = batch(w, o->first + o->warm, o->count, 0, o->timeout_ns, &a.elapsed_ns);
  if (a.status != KW_DIED) a.threads = stop(w);
  return a;
}

static void drop(struct worker *w) {
  if (!w->control) return;
  munmap(w->control, 4096);
  close(w->life);
  memset(w, 0, sizeof *w);
}

static uint32_t add(struct worker *w, pid_t pid, const int *fds) {
  drop(w);
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
  close(fds[0]);
  if (page == MAP_FAILED) {
    close(fds[1]);
    return KW_BAD_ORDER;
  }
  *w = (struct worker){.control = page, .life = fds[1], .pid = pid};
  stop(w);
  return KW_OK;
}

/* One order and up to two descriptors; 0 at the end of the stream. */
static int receive(int socket, struct kw_order *order, int fds[2]) {
  char space[CMSG_SPACE(2 * sizeof(int))];
  struct iovec part = {order, sizeof *order};
  struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
  ssize_t n;
  do n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  while (n < 0 && errno == EINTR);
  fds[0] = fds[1] = -1;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(2 * sizeof(int)))
      memcpy(fds, CMSG_DATA(c), 2 * sizeof(int));
  return n == (ssize_t)sizeof *order;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  favour(argv[2]);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int socket = atoi(argv[1]);
  struct kw_order order;
  int fds[2];
  while (receive(socket, &order, fds)) {
    struct kw_answer answer = {.status = KW_BAD_ORDER};
    struct worker *w = order.worker < WORKERS ? &workers[order.worker] : NULL;
    if (w && order.operation == KW_ADD && fds[1] >= 0) {
      answer.status = add(w, order.pid, fds);
    } else if (w && order.operation == KW_DROP) {
      drop(w);
      answer.status = KW_OK;
    } else if (w && w->control && order.operation == KW_READ) {
      answer = reading(w, &order);
    }
    if (send(socket, &answer, sizeof answer, MSG_NOSIGNAL) != (ssize_t)sizeof answer) break;
  }
  return 0;
}
