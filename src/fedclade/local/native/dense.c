/* Local SGD on stacks of linear layers, with ReLU and dropout between them and cross-entropy behind.
 *
 * Weights stay in torch's layout (outputs x inputs), in place: nothing is packed. One call is one client, one thread.
 * Every sum has a fixed order that depends on the shapes alone, so a client's result has the same bits whoever else
 * is trained, and wherever its numbers lie in memory.
 *
 * This file is compiled twice: plainly, and with AVX2 and FMA; fast.c tells which one this processor can run. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

typedef float v4 __attribute__((vector_size(16)));
typedef float v8 __attribute__((vector_size(32)));
typedef float unaligned __attribute__((vector_size(32), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 8")
enum { COLUMNS = 1024 }; /* of a weight matrix that are worked on at once, so that they stay in a near cache */

INLINE v8 load(const float *from) { return *(const unaligned *)from; }
INLINE void store(float *to, v8 value) { *(unaligned *)to = value; }

/* Fewer than eight numbers: the rest of a row, zeros behind it. */
INLINE v8 load_rest(const float *from, long count) {
  v8 value = {0};
  for (long i = 0; i < count; i++) value[i] = from[i];
  return value;
}
INLINE void store_rest(float *to, v8 value, long count) {
  for (long i = 0; i < count; i++) to[i] = value[i];
}

INLINE float total(v8 value) {
  union {
    v8 whole;
    v4 half[2];
  } both = {.whole = value};
  v4 sum = both.half[0] + both.half[1];
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

/* outputs[s][r] += sum_k weights[r][k] inputs[s][k], for R rows and S examples. */
INLINE void products(const float *weights, long width, const float *const *inputs, long first, long last,
                     float *outputs, long stride, const int R, const int S) {
  v8 sums[4][3];
  UNROLLED for (int r = 0; r < R; r++) UNROLLED for (int s = 0; s < S; s++) sums[r][s] = (v8){0};
  long k = first;
  for (; k + 8 <= last; k += 8) {
    v8 x[3];
    UNROLLED for (int s = 0; s < S; s++) x[s] = load(inputs[s] + k);
    UNROLLED for (int r = 0; r < R; r++) {
      v8 w = load(weights + r * width + k);
      UNROLLED for (int s = 0; s < S; s++) sums[r][s] += w * x[s];
    }
  }
  if (k < last) {
    UNROLLED for (int r = 0; r < R; r++) {
      v8 w = load_rest(weights + r * width + k, last - k);
      UNROLLED for (int s = 0; s < S; s++) sums[r][s] += w * load_rest(inputs[s] + k, last - k);
    }
  }
  UNROLLED for (int s = 0; s < S; s++)
    UNROLLED for (int r = 0; r < R; r++) outputs[s * stride + r] += total(sums[r][s]);
}

/* The forward pass of R rows and some columns of a layer, for all examples. */
INLINE void forward_rows(const float *weights, long width, long first, long last, const float *const *inputs,
                         long examples, float *outputs, long stride, const int R) {
  for (long s = 0; s < examples;) {
    long left = examples - s;
    const float *const *x = inputs + s;
    float *to = outputs + s * stride;
    if (left >= 5 || left == 3) {
      products(weights, width, x, first, last, to, stride, R, 3);
      s += 3;
    } else if (left >= 2) {
      products(weights, width, x, first, last, to, stride, R, 2);
      s += 2;
    } else {
      products(weights, width, x, first, last, to, stride, R, 1);
      s += 1;
    }
  }
}

/* target[r][k] += sum_s slopes[s][r] inputs[s][offset + k], for R rows and S examples. */
INLINE void gather(float *target, long width, long columns, const float *const *inputs, long offset,
                   const float *slopes, long stride, const int R, const int S) {
  v8 d[2][5];
  UNROLLED for (int r = 0; r < R; r++) UNROLLED for (int s = 0; s < S; s++) d[r][s] = slopes[s * stride + r] - (v8){0};
  long k = 0;
  for (; k + 8 <= columns; k += 8) {
    v8 sums[2];
    UNROLLED for (int r = 0; r < R; r++) sums[r] = load(target + r * width + k);
    UNROLLED for (int s = 0; s < S; s++) {
      v8 x = load(inputs[s] + offset + k);
      UNROLLED for (int r = 0; r < R; r++) sums[r] += d[r][s] * x;
    }
    UNROLLED for (int r = 0; r < R; r++) store(target + r * width + k, sums[r]);
  }
  if (k < columns) {
    UNROLLED for (int r = 0; r < R; r++) {
      v8 sum = load_rest(target + r * width + k, columns - k);
      UNROLLED for (int s = 0; s < S; s++) sum += d[r][s] * load_rest(inputs[s] + offset + k, columns - k);
      store_rest(target + r * width + k, sum, columns - k);
    }
  }
}

INLINE void gather_all(float *target, long width, long columns, const float *const *inputs, long offset,
                       long examples, const float *slopes, long stride, const int R) {
  for (long s = 0; s < examples;) {
    long left = examples - s, take = left >= 10 || left == 5 ? 5 : left > 5 ? (left + 1) / 2 : left;
    const float *const *x = inputs + s;
    const float *d = slopes + s * stride;
    switch (take) {
      case 5: gather(target, width, columns, x, offset, d, stride, R, 5); break;
      case 4: gather(target, width, columns, x, offset, d, stride, R, 4); break;
      case 3: gather(target, width, columns, x, offset, d, stride, R, 3); break;
      case 2: gather(target, width, columns, x, offset, d, stride, R, 2); break;
      default: gather(target, width, columns, x, offset, d, stride, R, 1);
    }
    s += take;
  }
}

/* What a step does to `count` numbers before the gradient of the loss is added to the target ... */
INLINE void pull(const struct rule *rule, float *weights, float *velocity, const float *anchor, long count) {
  float lr = rule->lr, momentum = rule->momentum, decay = rule->decay, proximal = rule->proximal;
  if (velocity && proximal != 0)
    for (long i = 0; i < count; i++)
      velocity[i] = momentum * velocity[i] + (decay * weights[i] + proximal * (weights[i] - anchor[i]));
  else if (velocity && decay != 0)
    for (long i = 0; i < count; i++) velocity[i] = momentum * velocity[i] + decay * weights[i];
  else if (velocity)
    for (long i = 0; i < count; i++) velocity[i] *= momentum;
  else if (proximal != 0)
    for (long i = 0; i < count; i++)
      weights[i] -= lr * (decay * weights[i] + proximal * (weights[i] - anchor[i]));
  else if (decay != 0)
    for (long i = 0; i < count; i++) weights[i] -= lr * (decay * weights[i]);
}
/* ... and behind it. */
INLINE void push(const struct rule *rule, float *weights, const float *velocity, long count) {
  if (velocity)
    for (long i = 0; i < count; i++) weights[i] -= rule->lr * velocity[i];
}

/* A step of SGD on R rows of a layer, for so many columns from `first` on. `at` is where the first row stands. */
INLINE void update_rows(const struct rule *rule, const struct state *state, long at, long width, long first,
                        long columns, const float *const *inputs, long examples, const float *slopes, long stride,
                        const int R) {
  float *weights = state->row + at + first, *velocity = state->velocity ? state->velocity + at + first : NULL;
  const float *anchor = state->anchor + at + first;
  for (int r = 0; r < R; r++)
    pull(rule, weights + r * width, velocity ? velocity + r * width : NULL, anchor + r * width, columns);
  gather_all(velocity ? velocity : weights, width, columns, inputs, first, examples, slopes, stride, R);
  for (int r = 0; r < R; r++) push(rule, weights + r * width, velocity ? velocity + r * width : NULL, columns);
}

static void update_block(const struct rule *rule, const struct state *state, long at, long width, long rows, long first,
                         long last, const float *const *inputs, long examples, const float *slopes, long stride) {
  long r = 0;
  for (; r + 2 <= rows; r += 2)
    update_rows(rule, state, at + r * width, width, first, last - first, inputs, examples, slopes + r, stride, 2);
  if (r < rows)
    update_rows(rule, state, at + r * width, width, first, last - first, inputs, examples, slopes + r, stride, 1);
}

static void update_bias(const struct rule *rule, const struct state *state, long at, long width, const float *slopes,
                        long examples) {
  float *weights = state->row + at, *velocity = state->velocity ? state->velocity + at : NULL;
  float *target = velocity ? velocity : weights;
  pull(rule, weights, velocity, state->anchor + at, width);
  for (long s = 0; s < examples; s++)
    for (long j = 0; j < width; j++) target[j] += slopes[s * width + j];
  push(rule, weights, velocity, width);
}

/* inward[s][k] += sum_r slopes[s][r] weights[r][k], for R rows and S examples. */
INLINE void inward_products(const float *weights, long width, long first, long last, const float *slopes, long stride,
                            float *inward, const int R, const int S) {
  v8 d[4][2];
  UNROLLED for (int r = 0; r < R; r++) UNROLLED for (int s = 0; s < S; s++) d[r][s] = slopes[s * stride + r] - (v8){0};
  long k = first;
  for (; k + 8 <= last; k += 8) {
    v8 sums[2];
    UNROLLED for (int s = 0; s < S; s++) sums[s] = load(inward + s * width + k);
    UNROLLED for (int r = 0; r < R; r++) {
      v8 w = load(weights + r * width + k);
      UNROLLED for (int s = 0; s < S; s++) sums[s] += d[r][s] * w;
    }
    UNROLLED for (int s = 0; s < S; s++) store(inward + s * width + k, sums[s]);
  }
  if (k < last) {
    UNROLLED for (int s = 0; s < S; s++) {
      v8 sum = load_rest(inward + s * width + k, last - k);
      UNROLLED for (int r = 0; r < R; r++) sum += d[r][s] * load_rest(weights + r * width + k, last - k);
      store_rest(inward + s * width + k, sum, last - k);
    }
  }
}

INLINE void inward_rows(const float *weights, long width, long first, long last, const float *slopes, long stride,
                        long examples, float *inward, const int R) {
  long s = 0;
  for (; s + 2 <= examples; s += 2)
    inward_products(weights, width, first, last, slopes + s * stride, stride, inward + s * width, R, 2);
  if (s < examples)
    inward_products(weights, width, first, last, slopes + s * stride, stride, inward + s * width, R, 1);
}

/* What the gradient is with respect to a layer's inputs, and the step on its weights, block by block. */
static void backward(const struct net *net, long layer, const struct rule *rule, const struct state *state,
                     const float *const *inputs, long examples, const float *slopes, float *inward) {
  long width = net->widths[layer], rows = net->widths[layer + 1], at = net->weights[layer];
  memset(inward, 0, (size_t)(examples * width) * sizeof(float));
  for (long first = 0; first < width; first += COLUMNS) {
    long last = first + COLUMNS < width ? first + COLUMNS : width, r = 0;
    for (; r + 4 <= rows; r += 4) {
      inward_rows(state->row + at + r * width, width, first, last, slopes + r, rows, examples, inward, 4);
      update_block(rule, state, at + r * width, width, 4, first, last, inputs, examples, slopes + r, rows);
    }
    for (; r < rows; r++) {
      inward_rows(state->row + at + r * width, width, first, last, slopes + r, rows, examples, inward, 1);
      update_block(rule, state, at + r * width, width, 1, first, last, inputs, examples, slopes + r, rows);
    }
  }
}

/* The forward pass of a layer; `due` is a step on its weights that is still to be made, block by block on the way. */
struct due {
  const float *const *inputs;
  const float *slopes;
  long examples;
};
static void forward(const struct net *net, long layer, const struct rule *rule, const struct state *state,
                    const struct due *due, const float *const *inputs, long examples, float *outputs) {
  long width = net->widths[layer], rows = net->widths[layer + 1], at = net->weights[layer];
  const float *bias = net->biases[layer] < 0 ? NULL : state->row + net->biases[layer];
  for (long s = 0; s < examples; s++)
    if (bias)
      memcpy(outputs + s * rows, bias, (size_t)rows * sizeof(float));
    else
      memset(outputs + s * rows, 0, (size_t)rows * sizeof(float));
  for (long first = 0; first < width; first += COLUMNS) {
    long last = first + COLUMNS < width ? first + COLUMNS : width, r = 0;
    for (; r + 4 <= rows; r += 4) {
      if (due)
        update_block(rule, state, at + r * width, width, 4, first, last, due->inputs, due->examples, due->slopes + r,
                     rows);
      forward_rows(state->row + at + r * width, width, first, last, inputs, examples, outputs + r, rows, 4);
    }
    for (; r < rows; r++) {
      if (due)
        update_block(rule, state, at + r * width, width, 1, first, last, due->inputs, due->examples, due->slopes + r,
                     rows);
      forward_rows(state->row + at + r * width, width, first, last, inputs, examples, outputs + r, rows, 1);
    }
  }
}

/* Cross-entropy of one example; `logits` become the softmax. */
INLINE double softmax_loss(float *logits, long classes, int64_t label) {
  float largest = logits[0], sum = 0;
  for (long c = 1; c < classes; c++) largest = logits[c] > largest ? logits[c] : largest;
  float wanted = logits[label] - largest;
  for (long c = 0; c < classes; c++) {
    logits[c] = expf(logits[c] - largest);
    sum += logits[c];
  }
  float share = 1 / sum;
  for (long c = 0; c < classes; c++) logits[c] *= share;
  return (double)(logf(sum) - wanted);
}

/* What a net needs beside its weights while it is trained on batches of up to `batch` examples. */
struct room {
  float *outputs[MOST_LAYERS]; /* of each layer, after ReLU and dropout: the inputs of the next */
  float *slopes[MOST_LAYERS];  /* the gradient with respect to each layer's outputs, before ReLU and dropout */
  const float **rows[MOST_LAYERS];
  const float **given[2]; /* the rows of this batch and of the one before */
  float *made[2];         /* the same where they must be made */
  void *all;
};

static int open_room(struct room *room, const struct net *net, long batch) {
  long numbers = 2 * batch * (net->widths[0] + 16), pointers = 2 * batch;
  for (long l = 0; l < net->layers; l++) {
    numbers += 2 * batch * (net->widths[l + 1] + 16);
    pointers += batch;
  }
  size_t size = (size_t)numbers * sizeof(float) + (size_t)pointers * sizeof(float *) + 64 * (2 * MOST_LAYERS + 4);
  if (posix_memalign(&room->all, 64, size)) return -1;
  char *next = room->all;
#define TAKE(bytes) (next += ((size_t)(bytes) + 63) / 64 * 64, next - ((size_t)(bytes) + 63) / 64 * 64)
  for (int i = 0; i < 2; i++) {
    room->given[i] = (const float **)TAKE(batch * sizeof(float *));
    room->made[i] = (float *)TAKE(batch * net->widths[0] * sizeof(float));
  }
  for (long l = 0; l < net->layers; l++) {
    room->rows[l] = (const float **)TAKE(batch * sizeof(float *));
    room->outputs[l] = (float *)TAKE(batch * net->widths[l + 1] * sizeof(float));
    room->slopes[l] = (float *)TAKE(batch * net->widths[l + 1] * sizeof(float));
    for (long s = 0; s < batch; s++) room->rows[l][s] = room->outputs[l] + s * net->widths[l + 1];
  }
#undef TAKE
  return 0;
}

/* Examples `places` of a pool as rows of numbers: where they stand, or made from bytes and dropped inputs. */
static void fetch(const struct net *net, const struct pool *pool, const int64_t *places, long examples,
                  const float **rows, float *made, const int32_t *mask) {
  long width = net->widths[0];
  for (long s = 0; s < examples; s++) {
    if (pool->bytes) {
      const uint8_t *from = (const uint8_t *)pool->inputs + places[s] * width;
      float *to = made + s * width;
      for (long k = 0; k < width; k++) to[k] = (float)from[k] / 255.0f;
      rows[s] = to;
    } else
      rows[s] = (const float *)pool->inputs + places[s] * width;
    if (mask) {
      float *to = made + s * width;
      for (long k = 0; k < width; k++) to[k] = rows[s][k] * ((float)mask[s * width + k] * net->keep[0]);
      rows[s] = to;
    }
  }
}

/* ReLU and dropout behind a layer, in place. */
static void activate(const struct net *net, long layer, float *outputs, long examples, const int32_t *mask) {
  long count = examples * net->widths[layer + 1];
  if (net->relu[layer])
    for (long i = 0; i < count; i++) outputs[i] = outputs[i] < 0 ? 0 : outputs[i]; /* NaN stays */
  if (mask)
    for (long i = 0; i < count; i++) outputs[i] *= (float)mask[i] * net->keep[layer + 1];
}
/* The same for the gradient. A unit that ReLU and dropout let through is above 0. */
static void activate_back(const struct net *net, long layer, const float *restrict outputs, float *restrict slopes,
                          long examples, const int32_t *mask) {
  long count = examples * net->widths[layer + 1];
  float keep = mask ? net->keep[layer + 1] : 1;
  if (net->relu[layer])
    for (long i = 0; i < count; i++) slopes[i] *= outputs[i] > 0 ? keep : 0;
  else if (mask)
    for (long i = 0; i < count; i++) slopes[i] *= (float)mask[i] * keep;
}

/* Forward, loss and backward for one batch. The step on the first layer is left to be made (it is due), unless the
 * gradient with respect to the inputs is wanted. */
static double step(const struct net *net, const struct rule *rule, const struct state *state, struct room *room,
                   const struct due *due, const float *const *inputs, const int64_t *labels, long examples,
                   const int32_t *const *masks, float *inward) {
  long last = net->layers - 1, classes = net->widths[net->layers];
  if (due && net->biases[0] >= 0)
    update_bias(rule, state, net->biases[0], net->widths[1], due->slopes, due->examples);
  for (long l = 0; l < net->layers; l++) {
    forward(net, l, rule, state, l ? NULL : due, l ? room->rows[l - 1] : inputs, examples, room->outputs[l]);
    if (l < last) activate(net, l, room->outputs[l], examples, masks[l + 1]);
  }
  double loss = 0;
  float scale = (state->velocity ? 1 : -rule->lr) / (float)examples, *slopes = room->slopes[last];
  memcpy(slopes, room->outputs[last], (size_t)(examples * classes) * sizeof(float));
  for (long s = 0; s < examples; s++) {
    loss += softmax_loss(slopes + s * classes, classes, labels[s]);
    slopes[s * classes + labels[s]] -= 1;
    for (long c = 0; c < classes; c++) slopes[s * classes + c] *= scale;
  }
  for (long l = last; l >= 0; l--) {
    if (l == 0 && !inward) break;
    float *back = l ? room->slopes[l - 1] : inward;
    backward(net, l, rule, state, l ? room->rows[l - 1] : inputs, examples, room->slopes[l], back);
    if (net->biases[l] >= 0) update_bias(rule, state, net->biases[l], net->widths[l + 1], room->slopes[l], examples);
    if (l) activate_back(net, l - 1, room->outputs[l - 1], back, examples, masks[l]);
  }
  return loss;
}

/* One epoch of one client: the sum of the examples' losses, or NaN where there is no memory left.
 * `masks` has, for each batch, 0 or 1 for each unit behind each dropout, in the order of the net. */
double NAMED(train)(const struct net *net, const struct rule *rule, const struct state *state, const struct pool *pool,
                    const int64_t *places, const int64_t *labels, long examples, long batch, const int32_t *masks) {
  struct room room;
  double loss = 0;
  if (open_room(&room, net, batch < examples ? batch : examples)) return NAN;
  struct due due = {NULL, room.slopes[0], 0};
  int turn = 0;
  for (long first = 0; first < examples; first += batch, turn ^= 1) {
    long count = examples - first < batch ? examples - first : batch;
    const int32_t *mask[MOST_LAYERS + 1] = {NULL};
    for (long l = 0; l < net->layers; l++)
      if (net->keep[l] != 0) {
        mask[l] = masks;
        masks += count * net->widths[l];
      }
    fetch(net, pool, places + first, count, room.given[turn], room.made[turn], mask[0]);
    loss += step(net, rule, state, &room, due.examples ? &due : NULL, room.given[turn], labels + first, count, mask,
                 NULL);
    due.inputs = room.given[turn];
    due.examples = count;
  }
  update_block(rule, state, net->weights[0], net->widths[0], net->widths[1], 0, net->widths[0], due.inputs,
               due.examples, due.slopes, net->widths[1]);
  if (net->biases[0] >= 0)
    update_bias(rule, state, net->biases[0], net->widths[1], due.slopes, due.examples);
  free(room.all);
  return loss;
}

/* One step on the linear layers behind convolutions; `inward` becomes the gradient for what comes before them, times
 * the factor that a step has (see `step`). */
double NAMED(head)(const struct net *net, const struct rule *rule, const struct state *state, const float *inputs,
                   const int64_t *labels, long examples, const int32_t *masks, float *inward) {
  struct room room;
  if (open_room(&room, net, examples)) return NAN;
  const int32_t *mask[MOST_LAYERS + 1] = {NULL};
  for (long l = 1; l < net->layers; l++)
    if (net->keep[l] != 0) {
      mask[l] = masks;
      masks += examples * net->widths[l];
    }
  for (long s = 0; s < examples; s++) room.given[0][s] = inputs + s * net->widths[0];
  double loss = step(net, rule, state, &room, NULL, room.given[0], labels, examples, mask, inward);
  free(room.all);
  return loss;
}

/* Several models on the same examples: of each the sum of losses, and how many examples it gets right. */
int NAMED(score)(const struct net *net, const float *rows, long stride, long models, const struct pool *pool,
                 const int64_t *places, const int64_t *labels, long examples, double *losses, int64_t *correct) {
  enum { SOME = 48 };
  struct room room;
  struct rule rule = {0};
  long classes = net->widths[net->layers];
  if (open_room(&room, net, SOME)) return -1;
  for (long m = 0; m < models; m++) losses[m] = 0, correct[m] = 0;
  for (long first = 0; first < examples; first += SOME) {
    long count = examples - first < SOME ? examples - first : SOME;
    fetch(net, pool, places + first, count, room.given[0], room.made[0], NULL);
    for (long m = 0; m < models; m++) {
      struct state state = {(float *)(rows + m * stride), NULL, rows + m * stride};
      for (long l = 0; l < net->layers; l++) {
        forward(net, l, &rule, &state, NULL, l ? room.rows[l - 1] : room.given[0], count, room.outputs[l]);
        if (l < net->layers - 1) activate(net, l, room.outputs[l], count, NULL);
      }
      for (long s = 0; s < count; s++) {
        float *logits = room.outputs[net->layers - 1] + s * classes;
        long best = 0;
        for (long c = 1; c < classes; c++) best = logits[c] > logits[best] ? c : best;
        correct[m] += best == labels[first + s];
        losses[m] += softmax_loss(logits, classes, labels[first + s]);
      }
    }
  }
  free(room.all);
  return 0;
}
