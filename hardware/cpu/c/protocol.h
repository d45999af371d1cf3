/* The memory that a worker shares with the conductor, and the messages between Python and the conductor.
 *
 * Python mirrors these layouts in hardware/cpu/protocol.py; all fields are little-endian and naturally aligned.
 */
#ifndef KERNELWRIGHT_PROTOCOL_H
#define KERNELWRIGHT_PROTOCOL_H

#include <stdatomic.h>
#include <stdint.h>

#define KW_MAX_REGIONS 8
#define KW_MAX_ARGUMENTS 32

/* One page. The worker may write all of it: nothing here is believed without a check by other means. */
struct kw_control {
  _Atomic uint32_t go;   /* futex: the conductor adds one to start a batch */
  _Atomic uint32_t done; /* futex: the worker copies `go` here when the batch is over */
  uint32_t first;        /* slot of the batch's first call */
  uint32_t count;        /* calls in the batch; 0 means: leave */
  uint32_t changed;      /* 1: floating-point control state differs from the state at load */
  uint32_t ahead;        /* calls of the batch that comes next: their pages are made present now */
  uint32_t fault_signal; /* signal that ended the worker, 0 when none */
  int32_t fault_code;    /* si_code */
  uint64_t fault_address; /* si_addr; for a refused system call, its number */
  uint64_t bases[KW_MAX_REGIONS]; /* where each region lies in the worker */
};

/* The plan: this header, then regions, segments and pointers, without padding between the tables. Read only. */
struct kw_plan {
  uint32_t regions, segments, slots, arguments;
};
struct kw_region {
  uint64_t bytes;
  uint32_t huge; /* 1: ask for huge pages */
  uint32_t reserved;
};
struct kw_segment {
  uint32_t region;
  uint32_t writable;
  uint64_t offset, bytes; /* multiples of the page size */
};
struct kw_pointer {
  uint32_t region;
  uint32_t reserved;
  uint64_t offset;
};

/* Orders to the conductor, each answered by one kw_answer. ADD carries two descriptors: control page, life pipe. */
enum { KW_ADD = 1, KW_DROP = 2, KW_READ = 3 };
struct kw_order {
  uint32_t operation;
  uint32_t worker;     /* 0..3 */
  int32_t pid;         /* ADD: the worker's process id */
  uint32_t first;      /* READ: slot of the untimed call; timed calls follow it */
  uint32_t count;      /* READ: timed calls */
  uint32_t warm;       /* READ: untimed calls before them */
  uint64_t timeout_ns; /* READ: for the untimed and again for the timed batch */
};
enum { KW_OK = 0, KW_HUNG = 1, KW_DIED = 2, KW_BAD_ORDER = 3 };
struct kw_answer {
  uint32_t status;
  uint32_t threads;    /* threads of the worker after the batch, as the system counts them; 0 when unknown */
  uint64_t elapsed_ns; /* of the timed batch */
};

#endif
