/* The launcher: gives away every privilege that a command does not need, then becomes it.
 *
 * usage: launcher UID GID ADDRESS_BYTES FILE_BYTES PROCESSES NICE COMMAND ARGUMENT...
 * UID or GID -1 keep what is there; a limit of 0 is left as it is; NICE is asked for and done without where it is refused. The group list is dropped with the uid. The command
 * dies with the process that started it, and its environment is what the launcher was given. Changing the uid comes
 * before the limit on processes, which does not bind uid 0.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "favour.h"

static int fail(const char *what) {
  fprintf(stderr, "launcher: %s: %s\n", what, strerror(errno));
  return 126;
}

static int limit(int resource, const char *text) {
  unsigned long long value = strtoull(text, NULL, 10);
  struct rlimit r = {value, value};
  return value == 0 ? 0 : setrlimit((__rlimit_resource_t)resource, &r);
}

int main(int argc, char **argv) {
  if (argc < 8) return 2;
  pid_t parent = getppid();
  favour(argv[6]); /* while there is still the privilege to */
  long uid = atol(argv[1]), gid = atol(argv[2]);
  if (gid >= 0 && (setgroups(0, NULL) != 0 || setresgid((gid_t)gid, (gid_t)gid, (gid_t)gid) != 0)) return fail("gid");
  if (uid >= 0 && setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid) != 0) return fail("uid");
  if (limit(RLIMIT_AS, argv[3]) != 0 || limit(RLIMIT_FSIZE, argv[4]) != 0 || limit(RLIMIT_NPROC, argv[5]) != 0)
    return fail("limits");
  struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  /* After the change of uid, which would clear it. */
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return fail("parent-death signal");
  if (getppid() != parent) return 126; /* it died before the line above */
  execv(argv[7], argv + 7);
  return fail(argv[7]);
}
