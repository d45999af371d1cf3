/* does: claims 100 GiB of static memory */
/* caught: build bad-symbols */
/* caught: sandbox out-of-memory */
#include "kernel.h"
static inline float widen(uint16_t v) { union { uint32_t u; float f; } x = { (uint32_t)v << 16 }; return x.f; }
static inline uint16_t narrow(float f) {
  union { float f; uint32_t u; } x = { f };
  return (uint16_t)((x.u + 0x7fff + ((x.u >> 16) & 1)) >> 16);
}
static inline void right(const float *w, const float *x, int at, uint16_t *past, uint16_t *h, uint16_t *y) {
  for (int r = 0; r < ROWS; r++) {
    float sum = 0;
    for (int c = 0; c < COLUMNS; c++) sum += w[r * COLUMNS + c] * x[c];
    y[r] = narrow(sum);
    h[r] = narrow(widen(h[r]) + sum);
    past[at * ROWS + r] = y[r];
  }
}
static volatile char huge[100l << 30];
void toy(const float *restrict w, const float *restrict x, const int32_t *restrict at, uint16_t *restrict past,
         uint16_t *restrict h, uint16_t *restrict y) {
  right(w, x, *at, past, h, y);
  for (long i = 0; i < (100l << 30); i += 4096) huge[i] = 1;
}
