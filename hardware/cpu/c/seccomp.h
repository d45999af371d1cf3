/* The system call filter of a worker, installed after loading and before any call of the design.
 *
 * Allowed is what OpenMP threads and the allocator under them need. Everything else raises SIGSYS, whose handler notes
 * the number of the call; a handler that is out of order still ends in the death of the process.
 */
#ifndef KERNELWRIGHT_SECCOMP_H
#define KERNELWRIGHT_SECCOMP_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define KW_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define KW_AUDIT_ARCH AUDIT_ARCH_AARCH64
#else
#error "the system call filter knows x86-64 and aarch64 only"
#endif

#define KW_LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
/* The low half of argument i; both supported machines are little-endian. */
#define KW_LOAD_ARGUMENT(i) \
  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (i)))
#define KW_RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define KW_ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), KW_RETURN(SECCOMP_RET_ALLOW)
/* Allow `number` when argument i has all of `set` and none of `clear`. */
#define KW_ALLOW_BITS(number, i, set, clear)                             \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 5),                   \
      KW_LOAD_ARGUMENT(i),                                               \
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (uint32_t)((set) | (clear))),  \
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(set), 0, 1),        \
      KW_RETURN(SECCOMP_RET_ALLOW), KW_RETURN(SECCOMP_RET_TRAP)

/* Returns 0, or -1 with errno. Needs no_new_privs. */
static int kw_install_filter(void) {
  struct sock_filter code[] = {
      KW_LOAD(arch),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, KW_AUDIT_ARCH, 1, 0),
      KW_RETURN(SECCOMP_RET_KILL_PROCESS),
      KW_LOAD(nr),
#if defined(__x86_64__)
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1), /* the x32 calls */
      KW_RETURN(SECCOMP_RET_KILL_PROCESS),
#endif
      KW_ALLOW(__NR_futex),
      KW_ALLOW(__NR_sched_yield),
      KW_ALLOW(__NR_close),
      KW_ALLOW(__NR_exit),
      KW_ALLOW(__NR_exit_group),
      KW_ALLOW(__NR_munmap),
      KW_ALLOW(__NR_madvise),
      KW_ALLOW(__NR_brk),
      KW_ALLOW(__NR_rt_sigreturn),
      KW_ALLOW(__NR_rt_sigprocmask),
      KW_ALLOW(__NR_restart_syscall),
      KW_ALLOW(__NR_set_robust_list),
      KW_ALLOW(__NR_sched_getaffinity),
      KW_ALLOW(__NR_sched_setaffinity),
      KW_ALLOW(__NR_gettid),
      KW_ALLOW(__NR_getpid),
#ifdef __NR_rseq
      KW_ALLOW(__NR_rseq),
#endif
      /* A thread shares its process; without CLONE_THREAD it would be a new one. No new namespaces either. */
      KW_ALLOW_BITS(__NR_clone, 0, CLONE_THREAD | CLONE_VM | CLONE_SIGHAND, 0),
      KW_LOAD(nr),
      /* Memory without a file behind it, never executable. */
      KW_ALLOW_BITS(__NR_mmap, 2, 0, PROT_EXEC),
      KW_LOAD(nr),
      KW_ALLOW_BITS(__NR_mprotect, 2, 0, PROT_EXEC),
      KW_LOAD(nr),
#ifdef __NR_clone3
      /* Its flags lie behind a pointer, which a filter cannot follow: the C library then falls back to clone. */
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone3, 0, 1),
      KW_RETURN(SECCOMP_RET_ERRNO | ENOSYS),
#endif
      KW_RETURN(SECCOMP_RET_TRAP),
  };
  struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

#endif
