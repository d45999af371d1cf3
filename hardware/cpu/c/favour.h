/* Run before other programs of the host, where that is allowed. */
#ifndef KERNELWRIGHT_FAVOUR_H
#define KERNELWRIGHT_FAVOUR_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* With autogroups the kernel shares cores between sessions first, by a nice value that each session has. Failing in
 * either is no error: an ordinary user may not go below 0. */
static void favour(const char *nice) {
  if (atoi(nice) == 0) return;
  int session = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
  if (session >= 0) {
    ssize_t ignored = write(session, nice, strlen(nice));
    (void)ignored;
    close(session);
  }
  setpriority(PRIO_PROCESS, 0, atoi(nice));
}

#endif
