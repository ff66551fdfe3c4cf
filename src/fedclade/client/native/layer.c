/* One linear layer: forward, backward, and a step of SGD on it.
 *
 * Weights stay in torch's layout (outputs x inputs), in place. They are worked on in blocks of some rows and columns,
 * and each block with five examples at a time, whose inputs stay in the nearest cache. The step of one batch and the
 * forward pass of the next are made block by block in turn, so that the weights come from memory once a step.
 *
 * All sums have an order that depends on the shapes alone. */
#include "kernel.h"
#include "vector.h"

enum {
  NEAR = 15680,    /* numbers of the inputs of two batches that a block meets: some of them in the second cache */
  NARROWEST = 128, /* columns of a block, as the sums of each are closed on their own */
  GROUP = 16,      /* rows of a block: they pass by a few examples at a time, which stay in the nearest cache */
};

/* How many columns a block has: pieces of equal size, whole vectors. */
static long columns_of(long width, long examples) {
  long most = NEAR / examples < NARROWEST ? NARROWEST : NEAR / examples;
  long pieces = (width + most - 1) / most;
  return ((width + pieces - 1) / pieces + 7) / 8 * 8;
}

/* How many examples are taken at once: five, and at the end no single one where it can be helped. */
INLINE long taken(long left) { return left >= 10 || left == 5 ? 5 : left > 5 ? (left + 1) / 2 : left; }

/* Does `call` with S = `count`, known to the compiler. */
#define WITH_EXAMPLES(count, call)           \
  switch (count) {                           \
    case 5: { enum { S = 5 }; call; } break; \
    case 4: { enum { S = 4 }; call; } break; \
    case 3: { enum { S = 3 }; call; } break; \
    case 2: { enum { S = 2 }; call; } break; \
    default: { enum { S = 1 }; call; }       \
  }

/* outputs[s][r] += sum_k weights[r][k] inputs[s][k], for R rows and S examples. */
INLINE void products(const float *weights, long width, long columns, const float *inputs, long apart, float *outputs,
                     long stride, const int R, const int S) {
  v8 sums[4][5];
  UNROLLED for (int r = 0; r < R; r++) UNROLLED for (int s = 0; s < S; s++) sums[r][s] = (v8){0};
  long k = 0;
  for (; k + 8 <= columns; k += 8) {
    v8 w[4];
    UNROLLED for (int r = 0; r < R; r++) w[r] = load(weights + r * width + k);
    UNROLLED for (int s = 0; s < S; s++) {
      v8 x = load(inputs + s * apart + k);
      IN_REGISTER(x);
      UNROLLED for (int r = 0; r < R; r++) sums[r][s] += w[r] * x;
    }
  }
  if (k < columns) {
    UNROLLED for (int r = 0; r < R; r++) {
      v8 w = load_rest(weights + r * width + k, columns - k);
      UNROLLED for (int s = 0; s < S; s++) sums[r][s] += w * load(inputs + s * apart + k);
    }
  }
  UNROLLED for (int s = 0; s < S; s++) {
    float *to = outputs + s * stride;
    UNROLLED for (int r = 0; r + 2 <= R; r += 2) add_totals(to + r, sums[r][s], sums[r + 1][s]);
    if (R == 1) *to += total(sums[0][s]);
  }
}

/* The forward pass of a block, for S examples: their inputs stay in the nearest cache while the rows go by. */
INLINE void forward_some(const float *weights, long width, long rows, long columns, const float *inputs, long apart,
                         float *outputs, long stride, const int S) {
  long r = 0;
  if (S <= 2) /* so many sums that none waits for its own last one */
    for (; r + 4 <= rows; r += 4)
      products(weights + r * width, width, columns, inputs, apart, outputs + r, stride, 4, S);
  for (; r + 2 <= rows; r += 2)
    products(weights + r * width, width, columns, inputs, apart, outputs + r, stride, 2, S);
  if (r < rows) products(weights + r * width, width, columns, inputs, apart, outputs + r, stride, 1, S);
}
static void forward_block(const float *weights, long width, long rows, long columns, const struct batch *inputs,
                          long first, float *outputs, long stride) {
  for (long s = 0, take; s < inputs->count; s += take) {
    take = taken(inputs->count - s);
    const float *x = inputs->rows + s * inputs->stride + first;
    WITH_EXAMPLES(take, forward_some(weights, width, rows, columns, x, inputs->stride, outputs + s * stride, stride, S))
  }
}

/* target[r][k] += sum_s slopes[s][r] inputs[s][k], for R rows and S examples. */
INLINE void gather(float *target, long width, long columns, const float *inputs, long apart, const float *slopes,
                   long stride, const int R, const int S) {
  v8 d[2][5];
  UNROLLED for (int r = 0; r < R; r++) UNROLLED for (int s = 0; s < S; s++) d[r][s] = slopes[s * stride + r] - (v8){0};
  long k = 0;
  for (; k + 8 <= columns; k += 8) {
    v8 sums[2];
    UNROLLED for (int r = 0; r < R; r++) sums[r] = load(target + r * width + k);
    UNROLLED for (int s = 0; s < S; s++) {
      v8 x = load(inputs + s * apart + k);
      IN_REGISTER(x);
      UNROLLED for (int r = 0; r < R; r++) sums[r] += d[r][s] * x;
    }
    UNROLLED for (int r = 0; r < R; r++) store(target + r * width + k, sums[r]);
  }
  if (k < columns) {
    UNROLLED for (int r = 0; r < R; r++) {
      v8 sum = load_rest(target + r * width + k, columns - k);
      UNROLLED for (int s = 0; s < S; s++) sum += d[r][s] * load(inputs + s * apart + k);
      store_rest(target + r * width + k, sum, columns - k);
    }
  }
}

INLINE void gather_some(float *target, long width, long rows, long columns, const float *inputs, long apart,
                        const float *slopes, long stride, const int S) {
  long r = 0;
  for (; r + 2 <= rows; r += 2) gather(target + r * width, width, columns, inputs, apart, slopes + r, stride, 2, S);
  if (r < rows) gather(target + r * width, width, columns, inputs, apart, slopes + r, stride, 1, S);
}
static void gather_block(float *target, long width, long rows, long columns, const struct batch *inputs, long first,
                         const float *slopes, long stride) {
  for (long s = 0, take; s < inputs->count; s += take) {
    take = taken(inputs->count - s);
    const float *x = inputs->rows + s * inputs->stride + first, *d = slopes + s * stride;
    WITH_EXAMPLES(take, gather_some(target, width, rows, columns, x, inputs->stride, d, stride, S))
  }
}

/* What a step does to `count` numbers before the gradient of the loss is added to the target ... */
INLINE void pull(const struct rule *rule, float *restrict weights, float *restrict velocity,
                 const float *restrict anchor, long count) {
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
INLINE void push(const struct rule *rule, float *restrict weights, const float *restrict velocity, long count) {
  if (velocity)
    for (long i = 0; i < count; i++) weights[i] -= rule->lr * velocity[i];
}

/* A step of SGD on a block. `at` is where its first number stands in a model. */
static void update_block(const struct rule *rule, const struct state *state, long at, long width, long rows,
                         long columns, const struct batch *inputs, long first, const float *slopes, long stride) {
  float *weights = state->row + at, *velocity = state->velocity ? state->velocity + at : NULL;
  for (long r = 0; r < rows; r++)
    pull(rule, weights + r * width, velocity ? velocity + r * width : NULL, state->anchor + at + r * width, columns);
  gather_block(velocity ? velocity : weights, width, rows, columns, inputs, first, slopes, stride);
  for (long r = 0; r < rows; r++) push(rule, weights + r * width, velocity ? velocity + r * width : NULL, columns);
}

static void update_bias(const struct rule *rule, const struct state *state, long at, long width, const float *slopes,
                        long stride, long examples) {
  float *weights = state->row + at, *velocity = state->velocity ? state->velocity + at : NULL;
  float *target = velocity ? velocity : weights;
  pull(rule, weights, velocity, state->anchor + at, width);
  for (long s = 0; s < examples; s++)
    for (long j = 0; j < width; j++) target[j] += slopes[s * stride + j];
  push(rule, weights, velocity, width);
}

/* inward[s][k] += sum_r slopes[s][r] weights[r][k], for R rows and S examples. */
INLINE void inward_products(const float *weights, long width, long columns, const float *slopes, long stride,
                            float *inward, long apart, const int R, const int S) {
  v8 d[4][2];
  UNROLLED for (int r = 0; r < R; r++) UNROLLED for (int s = 0; s < S; s++) d[r][s] = slopes[s * stride + r] - (v8){0};
  for (long k = 0; k < columns; k += 8) {
    v8 sums[2];
    UNROLLED for (int s = 0; s < S; s++) sums[s] = load(inward + s * apart + k);
    UNROLLED for (int r = 0; r < R; r++) {
      const float *from = weights + r * width + k;
      v8 w = k + 8 <= columns ? load(from) : load_rest(from, columns - k);
      UNROLLED for (int s = 0; s < S; s++) sums[s] += d[r][s] * w;
    }
    UNROLLED for (int s = 0; s < S; s++) store(inward + s * apart + k, sums[s]);
  }
}
INLINE void inward_rows(const float *weights, long width, long columns, const float *slopes, long stride,
                        float *inward, long apart, long examples, const int R) {
  long s = 0;
  for (; s + 2 <= examples; s += 2)
    inward_products(weights, width, columns, slopes + s * stride, stride, inward + s * apart, apart, R, 2);
  if (s < examples)
    inward_products(weights, width, columns, slopes + s * stride, stride, inward + s * apart, apart, R, 1);
}
static void inward_block(const float *weights, long width, long rows, long columns, const float *slopes, long stride,
                         float *inward, long apart, long examples) {
  long r = 0;
  for (; r + 4 <= rows; r += 4)
    inward_rows(weights + r * width, width, columns, slopes + r, stride, inward, apart, examples, 4);
  for (; r < rows; r++)
    inward_rows(weights + r * width, width, columns, slopes + r, stride, inward, apart, examples, 1);
}

/* The forward pass. `due`, if there is one, is a step on the same layer that is still to be made. */
void NAMED(forward)(const struct net *net, long layer, const struct rule *rule, const struct state *state,
                    const struct due *due, const struct batch *inputs, const struct batch *outputs) {
  long width = net->widths[layer], rows = net->widths[layer + 1], bias = net->biases[layer];
  if (due && bias >= 0)
    update_bias(rule, state, bias, rows, due->slopes->rows, due->slopes->stride, due->slopes->count);
  for (long s = 0; s < inputs->count; s++) {
    float *to = outputs->rows + s * outputs->stride;
    if (bias >= 0)
      memcpy(to, state->row + bias, (size_t)rows * sizeof(float));
    else
      memset(to, 0, (size_t)rows * sizeof(float));
  }
  long columns = columns_of(width, inputs->count + (due ? due->inputs->count : 0));
  for (long first = 0; first < width; first += columns) {
    long some = width - first < columns ? width - first : columns;
    for (long r = 0; r < rows; r += GROUP) {
      long group = rows - r < GROUP ? rows - r : GROUP, at = net->weights[layer] + r * width + first;
      if (due)
        update_block(rule, state, at, width, group, some, due->inputs, first, due->slopes->rows + r,
                     due->slopes->stride);
      forward_block(state->row + at, width, group, some, inputs, first, outputs->rows + r, outputs->stride);
    }
  }
}

/* The step on a layer, and before it, if `inward` is there, the gradient with respect to the inputs. */
void NAMED(backward)(const struct net *net, long layer, const struct rule *rule, const struct state *state,
                     const struct due *due, const struct batch *inward) {
  const struct batch *inputs = due->inputs, *slopes = due->slopes;
  long width = net->widths[layer], rows = net->widths[layer + 1];
  if (inward) memset(inward->rows, 0, (size_t)(inputs->count * inward->stride) * sizeof(float));
  long columns = columns_of(width, 2 * inputs->count);
  for (long first = 0; first < width; first += columns) {
    long some = width - first < columns ? width - first : columns;
    for (long r = 0; r < rows; r += GROUP) {
      long group = rows - r < GROUP ? rows - r : GROUP, at = net->weights[layer] + r * width + first;
      if (inward)
        inward_block(state->row + at, width, group, some, slopes->rows + r, slopes->stride, inward->rows + first,
                     inward->stride, inputs->count);
      update_block(rule, state, at, width, group, some, inputs, first, slopes->rows + r, slopes->stride);
    }
  }
  if (net->biases[layer] >= 0)
    update_bias(rule, state, net->biases[layer], rows, slopes->rows, slopes->stride, slopes->count);
}
