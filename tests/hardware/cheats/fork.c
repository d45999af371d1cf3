/* does: makes processes without end */
/* caught: build bad-symbols */
/* caught: sandbox forbidden-call */
#include "kernel.h"
int fork(void);
void toy(const float *restrict w, const float *restrict x, const int32_t *restrict at, uint16_t *restrict past,
         uint16_t *restrict h, uint16_t *restrict y) {
  for (;;) fork();
}
