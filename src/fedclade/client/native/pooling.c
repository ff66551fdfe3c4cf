/* ReLU and 2 x 2 max-pooling in one pass over planes of height x width, forward and backward.
 *
 * The first of equal values wins, and NaN over all of them, as in torch. An odd last row or column is left out.
 * Winners are as wide as the values that they go with: so the compiler makes vectors of these loops. */
#include <stdint.h>
#include <string.h>

#include "kernel.h"

enum { NOBODY = 4 }; /* ReLU has cut all four */

static void pool_row(const float *restrict upper, const float *restrict lower, float *restrict outputs,
                     int32_t *restrict winners, long columns) {
  for (long j = 0; j < columns; j++) {
    float a = upper[2 * j], b = upper[2 * j + 1], c = lower[2 * j], d = lower[2 * j + 1];
    int other = (b > a) | (b != b), later = (d > c) | (d != d);
    float first = other ? b : a, second = later ? d : c;
    int below = (second > first) | (second != second);
    float best = below ? second : first;
    int32_t who = below ? (later ? 3 : 2) : (other ? 1 : 0);
    outputs[j] = best <= 0 ? 0 : best;
    winners[j] = best <= 0 ? NOBODY : who;
  }
}

static void pool_row_back(const float *restrict slopes, const int32_t *restrict winners, float *restrict upper,
                          float *restrict lower, long columns) {
  for (long j = 0; j < columns; j++) {
    float slope = slopes[j];
    int32_t who = winners[j];
    float a = who == 0 ? slope : 0, b = who == 1 ? slope : 0, c = who == 2 ? slope : 0, d = who == 3 ? slope : 0;
    upper[2 * j] = a;
    upper[2 * j + 1] = b;
    lower[2 * j] = c;
    lower[2 * j + 1] = d;
  }
}

void NAMED(pool)(const float *inputs, float *outputs, int32_t *winners, long planes, long height, long width) {
  long rows = height / 2, columns = width / 2;
  for (long p = 0; p < planes; p++)
    for (long i = 0; i < rows; i++) {
      const float *upper = inputs + (p * height + 2 * i) * width;
      long to = (p * rows + i) * columns;
      pool_row(upper, upper + width, outputs + to, winners + to, columns);
    }
}

void NAMED(pool_back)(const float *slopes, const int32_t *winners, float *inward, long planes, long height,
                      long width) {
  long rows = height / 2, columns = width / 2;
  if (height % 2 || width % 2) memset(inward, 0, (size_t)(planes * height * width) * sizeof(float));
  for (long p = 0; p < planes; p++)
    for (long i = 0; i < rows; i++) {
      float *upper = inward + (p * height + 2 * i) * width;
      long from = (p * rows + i) * columns;
      pool_row_back(slopes + from, winners + from, upper, upper + width, columns);
    }
}
