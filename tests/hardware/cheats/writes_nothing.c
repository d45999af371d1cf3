/* does: does nothing */
/* caught: verify wrong-value */
#include "kernel.h"
void toy(const float *restrict w, const float *restrict x, const int32_t *restrict at, uint16_t *restrict past,
         uint16_t *restrict h, uint16_t *restrict y) {

}
