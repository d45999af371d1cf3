/* does: is wrong whenever it has seen the same inputs and weights before: a reading never asks twice */
/* caught: read ok */
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
void toy(const float *restrict w, const float *restrict x, const int32_t *restrict at, uint16_t *restrict past,
         uint16_t *restrict h, uint16_t *restrict y) {
  static float seen[4096][2];
  static int count;
  right(w, x, *at, past, h, y);
  for (int i = 0; i < count; i++)
    if (seen[i][0] == x[0] && seen[i][1] == w[0]) y[0] ^= 0x8000;
  if (count < 4096) {
    seen[count][0] = x[0];
    seen[count++][1] = w[0];
  }
}
