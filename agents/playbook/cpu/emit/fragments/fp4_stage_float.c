/* Puts x into the order in which the codes are decoded; what is left of a row after whole steps stays as it is. */
static void stage(const float *restrict x, struct staged *restrict staged, int columns)
{
${guard}    for (int t = 0; t < columns % STEP; t++)
        staged->tail[t] = x[columns / STEP * STEP + t];
${share}    for (int c = 0; c <= columns - STEP; c += STEP)
        for (int unit = c; unit < c + STEP; unit += 2 * UNIT)
            for (int i = 0; i < 2 * UNIT; i++)
                staged->x[unit + i] = $value;
}
