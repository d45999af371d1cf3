/* Puts x into the order in which decode() delivers the weights; what is left of a row after whole steps stays as is. */
static void stage(const float *restrict x, float *restrict staged, int columns)
{
${guard}    for (int t = columns / STEP * STEP; t < columns; t++)
        staged[t] = x[t];
${share}    for (int c = 0; c <= columns - STEP; c += STEP)
        for (int unit = c; unit < c + STEP; unit += UNIT)
            for (int i = 0; i < UNIT; i++)
                staged[unit + i] = x[unit + staged_from(i)] * X_SCALE;
}
