/* The multiply-add rate of one core: float32 operations per second of processor time, in GF/s, on stdout.
 *
 * As many independent sums as it takes to keep every unit busy while one waits for its last result. Processor time and
 * not the clock on the wall, so that neighbours on a busy machine cost little; the best of several goes. */
#include <stdio.h>
#include <time.h>

#if defined(__AVX512F__)
#define BYTES 64
#define SUMS 24
#elif defined(__AVX__)
#define BYTES 32
#define SUMS 12 /* of 16 registers */
#else
#define BYTES 16
#define SUMS 12
#endif

typedef float vector __attribute__((vector_size(BYTES)));

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

static double rate(long turns) {
  vector sums[SUMS], shrink, grow; /* x -> 0.999 x + 0.001 stays near 1: no denormal numbers, no infinity */
  for (unsigned lane = 0; lane < BYTES / sizeof(float); lane++) {
    shrink[lane] = 0.999f;
    grow[lane] = 0.001f;
    for (int one = 0; one < SUMS; one++) sums[one][lane] = 1.0f + one;
  }
  double start = seconds();
  for (long turn = 0; turn < turns; turn++) {
#pragma GCC unroll 24
    for (int one = 0; one < SUMS; one++) sums[one] = sums[one] * shrink + grow;
  }
  double taken = seconds() - start;
  for (int one = 1; one < SUMS; one++) sums[0] += sums[one];
  volatile float kept = sums[0][0]; /* or the compiler would drop the loop */
  (void)kept;
  return 2.0 * SUMS * (BYTES / sizeof(float)) * turns / taken / 1e9;
}

int main(void) {
  double best = 0;
  for (int again = 0; again < 15; again++) {
    double found = rate(10000000);
    if (found > best) best = found;
  }
  printf("%.3f\n", best);
  return 0;
}
