/* The AVX-512 intrinsics that the playbook uses, lane by lane in plain C, so that their values can be checked on a machine
 * without AVX-512. Written from the instructions' definitions; included after immintrin.h. */
#ifndef AVX512_EMULATION_H
#define AVX512_EMULATION_H

#include <stdint.h>
#include <string.h>

/* Vectors are passed among static functions only, so how a call would pass them does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"

typedef union {
    __m512 ps;
    __m512i si;
    float f32[16];
    int32_t i32[16];
    uint32_t u32[16];
    int16_t i16[32];
    uint16_t u16[32];
    int8_t i8[64];
    uint8_t u8[64];
    __m256i half[2];
    __m256 half_ps[2];
} lanes;

#define FOR(n) for (int i = 0; i < (n); i++)
#define SI(name, n, expression, ...) \
    static inline __m512i name(__VA_ARGS__) { lanes r; FOR(n) { expression; } return r.si; }
#define PS(name, n, expression, ...) \
    static inline __m512 name(__VA_ARGS__) { lanes r; FOR(n) { expression; } return r.ps; }
#define A (((const lanes){.si = a}))
#define B (((const lanes){.si = b}))
#define C (((const lanes){.si = c}))
#define AF (((const lanes){.ps = a}))
#define BF (((const lanes){.ps = b}))
#define CF (((const lanes){.ps = c}))

static inline int16_t saturated(int32_t v) { return v > 32767 ? 32767 : v < -32768 ? -32768 : (int16_t)v; }

static inline float of_bf16(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

SI(emu_add_epi16, 32, r.u16[i] = (uint16_t)(A.u16[i] + B.u16[i]), __m512i a, __m512i b)
SI(emu_add_epi32, 16, r.u32[i] = A.u32[i] + B.u32[i], __m512i a, __m512i b)
SI(emu_sub_epi32, 16, r.u32[i] = A.u32[i] - B.u32[i], __m512i a, __m512i b)
SI(emu_and_si512, 16, r.u32[i] = A.u32[i] & B.u32[i], __m512i a, __m512i b)
SI(emu_slli_epi16, 32, r.u16[i] = (uint16_t)(A.u16[i] << n), __m512i a, int n)
SI(emu_srli_epi16, 32, r.u16[i] = (uint16_t)(A.u16[i] >> n), __m512i a, int n)
SI(emu_srai_epi16, 32, r.i16[i] = (int16_t)(A.i16[i] >> n), __m512i a, int n)
SI(emu_slli_epi32, 16, r.u32[i] = A.u32[i] << n, __m512i a, int n)
SI(emu_set1_epi8, 64, r.i8[i] = v, char v)
SI(emu_set1_epi16, 32, r.i16[i] = v, short v)
SI(emu_set1_epi32, 16, r.i32[i] = v, int v)
SI(emu_madd_epi16, 16,
   r.i32[i] = A.i16[2 * i] * B.i16[2 * i] + A.i16[2 * i + 1] * B.i16[2 * i + 1], __m512i a, __m512i b)
SI(emu_maddubs_epi16, 32,
   r.i16[i] = saturated(A.u8[2 * i] * B.i8[2 * i] + A.u8[2 * i + 1] * B.i8[2 * i + 1]), __m512i a, __m512i b)
SI(emu_dpbusd_epi32, 16,
   r.i32[i] = C.i32[i]; for (int j = 4 * i; j < 4 * i + 4; j++) r.i32[i] += A.u8[j] * B.i8[j],
   __m512i c, __m512i a, __m512i b)
SI(emu_shuffle_epi8, 64, r.u8[i] = B.u8[i] & 128 ? 0 : A.u8[i / 16 * 16 + (B.u8[i] & 15)], __m512i a, __m512i b)
SI(emu_permutexvar_epi8, 64, r.u8[i] = B.u8[A.u8[i] & 63], __m512i a, __m512i b)
SI(emu_permutexvar_epi16, 32, r.u16[i] = B.u16[A.u16[i] & 31], __m512i a, __m512i b)
PS(emu_add_ps, 16, r.f32[i] = AF.f32[i] + BF.f32[i], __m512 a, __m512 b)
PS(emu_mul_ps, 16, r.f32[i] = AF.f32[i] * BF.f32[i], __m512 a, __m512 b)
PS(emu_fmadd_ps, 16, r.f32[i] = __builtin_fmaf(AF.f32[i], BF.f32[i], CF.f32[i]), __m512 a, __m512 b, __m512 c)
PS(emu_cvtepi32_ps, 16, r.f32[i] = (float)A.i32[i], __m512i a)
PS(emu_dpbf16_ps, 16,
   r.f32[i] = CF.f32[i] + of_bf16(A.u16[2 * i + 1]) * of_bf16(B.u16[2 * i + 1]);
   r.f32[i] += of_bf16(A.u16[2 * i]) * of_bf16(B.u16[2 * i]), __m512 c, __m512i a, __m512i b)
PS(emu_shuffle_ps, 16,
   r.f32[i] = (i & 2 ? BF : AF).f32[i / 4 * 4 + (how >> 2 * (i & 3) & 3)], __m512 a, __m512 b, int how)
PS(emu_i32gather_ps, 16, r.f32[i] = ((const float *)from)[A.i32[i] * scale / 4], __m512i a, const void *from, int scale)

static inline lanes emu_load(const void *p) { lanes r; memcpy(&r, p, sizeof r); return r; }
static inline __m512i emu_broadcast(__m128i v) { lanes r; FOR(4) memcpy(r.u8 + 16 * i, &v, 16); return r.si; }
static inline __m512i emu_widen_signed(__m128i v)
{
    int8_t from[16];
    memcpy(from, &v, 16);
    lanes r;
    FOR(16) r.i32[i] = from[i];
    return r.si;
}
static inline __m512i emu_widen_unsigned(__m128i v)
{
    uint8_t from[16];
    memcpy(from, &v, 16);
    lanes r;
    FOR(16) r.i32[i] = from[i];
    return r.si;
}
static inline __m512i emu_words(__m256i v)
{
    uint8_t from[32];
    memcpy(from, &v, 32);
    lanes r;
    FOR(32) r.u16[i] = from[i];
    return r.si;
}
static inline __m512 emu_cvtph(__m256i v)
{
    lanes r;
    r.half_ps[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(v));
    r.half_ps[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(v, 1));
    return r.ps;
}

#define _mm512_add_epi16 emu_add_epi16
#define _mm512_add_epi32 emu_add_epi32
#define _mm512_add_ps emu_add_ps
#define _mm512_and_si512 emu_and_si512
#define _mm512_broadcast_i32x4 emu_broadcast
#define _mm512_castps512_ps256(v) (((const lanes){.ps = (v)}).half_ps[0])
#define _mm512_castps_si512(v) (((const lanes){.ps = (v)}).si)
#define _mm512_castsi512_ps(v) (((const lanes){.si = (v)}).ps)
#define _mm512_castsi512_si256(v) (((const lanes){.si = (v)}).half[0])
#define _mm512_cvtepi32_ps emu_cvtepi32_ps
#define _mm512_cvtepi8_epi32 emu_widen_signed
#define _mm512_cvtepu8_epi16 emu_words
#define _mm512_cvtepu8_epi32 emu_widen_unsigned
#define _mm512_cvtph_ps emu_cvtph
#define _mm512_dpbf16_ps(c, a, b) emu_dpbf16_ps((c), (__m512i)(a), (__m512i)(b))
#define _mm512_dpbusd_epi32 emu_dpbusd_epi32
#define _mm512_extractf32x8_ps(v, k) (((const lanes){.ps = (v)}).half_ps[k])
#define _mm512_extracti64x4_epi64(v, k) (((const lanes){.si = (v)}).half[k])
#define _mm512_fmadd_ps emu_fmadd_ps
#define _mm512_i32gather_ps emu_i32gather_ps
#define _mm512_load_ps(p) (emu_load(p).ps)
#define _mm512_load_si512(p) (emu_load(p).si)
#define _mm512_loadu_ps(p) (emu_load(p).ps)
#define _mm512_loadu_si512(p) (emu_load(p).si)
#define _mm512_madd_epi16 emu_madd_epi16
#define _mm512_maddubs_epi16 emu_maddubs_epi16
#define _mm512_mul_ps emu_mul_ps
#define _mm512_permutexvar_epi16 emu_permutexvar_epi16
#define _mm512_permutexvar_epi8 emu_permutexvar_epi8
#define _mm512_set1_epi16 emu_set1_epi16
#define _mm512_set1_epi32 emu_set1_epi32
#define _mm512_set1_epi8 emu_set1_epi8
#define _mm512_setzero_ps() (((const lanes){.u32 = {0}}).ps)
#define _mm512_setzero_si512() (((const lanes){.u32 = {0}}).si)
#define _mm512_shuffle_epi8 emu_shuffle_epi8
#define _mm512_shuffle_ps emu_shuffle_ps
#define _mm512_slli_epi16 emu_slli_epi16
#define _mm512_slli_epi32 emu_slli_epi32
#define _mm512_srai_epi16 emu_srai_epi16
#define _mm512_srli_epi16 emu_srli_epi16
#define _mm512_sub_epi32 emu_sub_epi32

#undef A
#undef B
#undef C
#undef AF
#undef BF
#undef CF
#undef SI
#undef PS
#undef FOR
#endif
