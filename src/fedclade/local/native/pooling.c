/* ReLU and 2 x 2 max-pooling in one pass over planes of height x width, forward and backward.
 *
 * The first of equal values wins, as in torch. An odd last row or column is left out. */
#include <stdint.h>
#include <string.h>

#include "kernel.h"

enum { NOBODY = 4 }; /* ReLU has cut all four */

void NAMED(pool)(const float *inputs, float *outputs, uint8_t *winners, long planes, long height, long width) {
  long rows = height / 2, columns = width / 2;
  for (long p = 0; p < planes; p++)
    for (long i = 0; i < rows; i++) {
      const float *restrict upper = inputs + (p * height + 2 * i) * width, *restrict lower = upper + width;
      float *restrict to = outputs + (p * rows + i) * columns;
      uint8_t *restrict winner = winners + (p * rows + i) * columns;
      for (long j = 0; j < columns; j++) {
        float best = upper[2 * j];
        int who = 0;
        who = upper[2 * j + 1] > best ? 1 : who, best = upper[2 * j + 1] > best ? upper[2 * j + 1] : best;
        who = lower[2 * j] > best ? 2 : who, best = lower[2 * j] > best ? lower[2 * j] : best;
        who = lower[2 * j + 1] > best ? 3 : who, best = lower[2 * j + 1] > best ? lower[2 * j + 1] : best;
        to[j] = best > 0 ? best : 0;
        winner[j] = (uint8_t)(best > 0 ? who : NOBODY);
      }
    }
}

void NAMED(pool_back)(const float *slopes, const uint8_t *winners, float *inward, long planes, long height,
                      long width) {
  long rows = height / 2, columns = width / 2;
  if (height % 2 || width % 2) memset(inward, 0, (size_t)(planes * height * width) * sizeof(float));
  for (long p = 0; p < planes; p++)
    for (long i = 0; i < rows; i++) {
      float *restrict upper = inward + (p * height + 2 * i) * width, *restrict lower = upper + width;
      const float *restrict from = slopes + (p * rows + i) * columns;
      const uint8_t *restrict winner = winners + (p * rows + i) * columns;
      for (long j = 0; j < columns; j++) {
        upper[2 * j] = winner[j] == 0 ? from[j] : 0;
        upper[2 * j + 1] = winner[j] == 1 ? from[j] : 0;
        lower[2 * j] = winner[j] == 2 ? from[j] : 0;
        lower[2 * j + 1] = winner[j] == 3 ? from[j] : 0;
      }
    }
}
