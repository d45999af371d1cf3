/* Twice the value of an e2m1 code, which makes it an integer. */
static inline int f4_doubled(unsigned code)
{
    static const int8_t doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    return doubled[code & 15u];
}
