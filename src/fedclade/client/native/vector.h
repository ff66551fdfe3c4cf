/* Eight numbers at a time, with the vectors of gcc and clang: the same source with AVX2 and without. */
#include <string.h>

typedef float v2 __attribute__((vector_size(8)));
typedef float v4 __attribute__((vector_size(16)));
typedef float v8 __attribute__((vector_size(32)));
typedef float unaligned __attribute__((vector_size(32), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 8")

INLINE v8 load(const float *from) { return *(const unaligned *)from; }
INLINE void store(float *to, v8 value) { *(unaligned *)to = value; }

/* Says that a value is in a register: gcc would rather read it from memory again with each use. */
#ifdef __AVX2__
#define IN_REGISTER(value) __asm__("" : "+x"(value))
#else
#define IN_REGISTER(value) (void)(value)
#endif

/* Fewer than eight numbers: the rest of a row, zeros behind it. */
#ifdef __AVX2__
#include <immintrin.h>
INLINE __m256i first_of_eight(long count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE v8 load_rest(const float *from, long count) { return (v8)_mm256_maskload_ps(from, first_of_eight(count)); }
INLINE void store_rest(float *to, v8 value, long count) {
  _mm256_maskstore_ps(to, first_of_eight(count), (__m256)value);
}
#else
INLINE v8 load_rest(const float *from, long count) {
  v8 value = {0};
  for (long i = 0; i < count; i++) value[i] = from[i];
  return value;
}
INLINE void store_rest(float *to, v8 value, long count) {
  for (long i = 0; i < count; i++) to[i] = value[i];
}
#endif

INLINE v4 halves(v8 value) {
  union {
    v8 whole;
    v4 half[2];
  } both = {.whole = value};
  return both.half[0] + both.half[1];
}

INLINE float total(v8 value) {
  v4 sum = halves(value);
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

/* to[0] += total(first), to[1] += total(second): the same sums in the same order, in fewer instructions. */
INLINE void add_totals(float *to, v8 first, v8 second) {
  v4 a = halves(first), b = halves(second);
  v4 pairs = (v4){a[0], b[0], a[1], b[1]} + (v4){a[2], b[2], a[3], b[3]};
  v2 both;
  memcpy(&both, to, sizeof both);
  both += (v2){pairs[0], pairs[1]} + (v2){pairs[2], pairs[3]};
  memcpy(to, &both, sizeof both);
}
