/* does: recurses without end */
/* caught: verify crashed */
#include "kernel.h"
static int deeper(int n) {
  volatile char room[4096];
  room[n % 4096] = 1;
  return n ? deeper(n + 1) + room[0] : 0;
}
void toy(const float *restrict w, const float *restrict x, const int32_t *restrict at, uint16_t *restrict past,
         uint16_t *restrict h, uint16_t *restrict y) {
  y[0] = (uint16_t)deeper(1);
}
