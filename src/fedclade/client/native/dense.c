/* Local SGD on stacks of linear layers, with ReLU and dropout between them and cross-entropy behind.
 *
 * One call is one client, one thread. A client's result has the same bits whoever else is trained, and wherever its
 * numbers lie in memory. layer.c has the products, where the time goes.
 *
 * All files but fast.c are compiled twice: plainly, and with AVX2 and FMA; fast.c tells which one this processor can
 * run. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

enum { LINE = 16 }; /* numbers of a cache line */

/* Cross-entropy of one example; `logits` become the softmax. */
static double softmax_loss(float *logits, long classes, int64_t label) {
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

/* What a net needs beside its weights while it is trained. */
struct room {
  struct batch given[2];              /* the inputs of this batch and of the one before */
  struct batch outputs[MOST_LAYERS];  /* of each layer, after ReLU and dropout: the inputs of the next */
  struct batch slopes[MOST_LAYERS];   /* the gradient with respect to them, before ReLU and dropout */
  float *all;
};

/* An odd number of cache lines: rows of any width spread over the whole of a cache. */
static long stride_of(long width) { return ((width + LINE - 1) / LINE | 1) * LINE; }

static int open_room(struct room *room, const struct net *net, long most) {
  long numbers = 2 * most * stride_of(net->widths[0]);
  for (long l = 1; l <= net->layers; l++) numbers += 2 * most * stride_of(net->widths[l]);
  size_t size = (size_t)numbers * sizeof(float);
  void *all;
  if (posix_memalign(&all, LINE * sizeof(float), size)) return -1;
  room->all = all;
  memset(room->all, 0, size); /* what is behind the rows stays 0 */
  float *next = room->all;
  for (long l = 0; l <= net->layers; l++)
    for (int i = 0; i < 2; i++) {
      struct batch *batch = l == 0 ? &room->given[i] : i ? &room->slopes[l - 1] : &room->outputs[l - 1];
      *batch = (struct batch){next, stride_of(net->widths[l]), most};
      next += most * batch->stride;
    }
  return 0;
}

static void set_count(struct room *room, const struct net *net, long count) {
  for (long l = 0; l < net->layers; l++) room->outputs[l].count = room->slopes[l].count = count;
}

/* Examples `places` of a pool, as rows that start with a cache line: the pool's own may not, and each is read many
 * times. */
static void fetch(const struct net *net, const struct pool *pool, const int64_t *places, long examples,
                  struct batch *to, const int32_t *mask) {
  long width = net->widths[0];
  to->count = examples;
  for (long s = 0; s < examples; s++) {
    float *restrict row = to->rows + s * to->stride;
    if (pool->bytes) {
      const uint8_t *from = (const uint8_t *)pool->inputs + places[s] * width;
      for (long k = 0; k < width; k++) row[k] = (float)from[k] / 255.0f;
    } else
      memcpy(row, (const float *)pool->inputs + places[s] * width, (size_t)width * sizeof(float));
    if (mask)
      for (long k = 0; k < width; k++) row[k] *= (float)mask[s * width + k] * net->keep[0];
  }
}

/* ReLU and dropout behind a layer, in place. */
static void activate(const struct net *net, long layer, const struct batch *outputs, const int32_t *mask) {
  long width = net->widths[layer + 1];
  float keep = mask ? net->keep[layer + 1] : 1;
  for (long s = 0; s < outputs->count; s++) {
    float *restrict row = outputs->rows + s * outputs->stride;
    const int32_t *restrict kept = mask ? mask + s * width : NULL;
    if (net->relu[layer])
      for (long i = 0; i < width; i++) row[i] = row[i] < 0 ? 0 : row[i]; /* NaN stays */
    if (mask)
      for (long i = 0; i < width; i++) row[i] *= (float)kept[i] * keep;
  }
}
/* The same for the gradient. A unit that ReLU and dropout let through is above 0. */
static void activate_back(const struct net *net, long layer, const struct batch *outputs, const struct batch *slopes,
                          const int32_t *mask) {
  long width = net->widths[layer + 1];
  float keep = mask ? net->keep[layer + 1] : 1;
  for (long s = 0; s < outputs->count; s++) {
    const float *restrict output = outputs->rows + s * outputs->stride;
    float *restrict slope = slopes->rows + s * slopes->stride;
    const int32_t *restrict kept = mask ? mask + s * width : NULL;
    if (net->relu[layer])
      for (long i = 0; i < width; i++) slope[i] *= output[i] > 0 ? keep : 0;
    else if (mask)
      for (long i = 0; i < width; i++) slope[i] *= (float)kept[i] * keep;
  }
}

/* The forward pass of all layers; a step on the first may still be due. */
static void forward_all(const struct net *net, const struct rule *rule, const struct state *state, struct room *room,
                        const struct due *due, const struct batch *inputs, const int32_t *const *masks) {
  set_count(room, net, inputs->count);
  for (long l = 0; l < net->layers; l++) {
    NAMED(forward)(net, l, rule, state, l ? NULL : due, l ? &room->outputs[l - 1] : inputs, &room->outputs[l]);
    if (l < net->layers - 1) activate(net, l, &room->outputs[l], masks[l + 1]);
  }
}

/* The loss of a batch, and from its logits the gradient, times the factor that a step has. */
static double all_losses(const struct batch *logits, const struct batch *slopes, long classes, const int64_t *labels,
                     float factor) {
  double loss = 0;
  for (long s = 0; s < logits->count; s++) {
    float *slope = slopes->rows + s * slopes->stride;
    memcpy(slope, logits->rows + s * logits->stride, (size_t)classes * sizeof(float));
    loss += softmax_loss(slope, classes, labels[s]);
    slope[labels[s]] -= 1;
    for (long c = 0; c < classes; c++) slope[c] *= factor;
  }
  return loss;
}

/* Forward, loss and backward for one batch. The step on the first layer is left to be made (it is due). */
static double step(const struct net *net, const struct rule *rule, const struct state *state, struct room *room,
                   const struct due *due, const struct batch *inputs, const int64_t *labels,
                   const int32_t *const *masks) {
  long last = net->layers - 1;
  forward_all(net, rule, state, room, due, inputs, masks);
  double loss = all_losses(&room->outputs[last], &room->slopes[last], net->widths[net->layers], labels,
                       (state->velocity ? 1 : -rule->lr) / (float)inputs->count);
  for (long l = last; l > 0; l--) {
    struct due made = {&room->outputs[l - 1], &room->slopes[l]};
    NAMED(backward)(net, l, rule, state, &made, &room->slopes[l - 1]);
    activate_back(net, l - 1, &room->outputs[l - 1], &room->slopes[l - 1], masks[l]);
  }
  return loss;
}

/* Where the masks of one batch stand, layer by layer from `first` on; those of the next are behind them. */
static const int32_t *split(const struct net *net, long first, long count, const int32_t *masks,
                            const int32_t **mask) {
  for (long l = first; l < net->layers; l++)
    if (net->keep[l] != 0) {
      mask[l] = masks;
      masks += count * net->widths[l];
    }
  return masks;
}

/* One epoch of one client: the sum of the examples' losses, or NO_MEMORY.
 * `masks` has, for each batch, 0 or 1 for each unit behind each dropout, in the order of the net. */
double NAMED(train)(const struct net *net, const struct rule *rule, const struct state *state, const struct pool *pool,
                    const int64_t *places, const int64_t *labels, long examples, long batch, const int32_t *masks) {
  struct room room;
  double loss = 0;
  if (open_room(&room, net, batch < examples ? batch : examples)) return NO_MEMORY;
  struct batch before = {0}; /* the slopes that are due: as many as the batch before had */
  struct due due = {NULL, &before};
  int turn = 0;
  for (long first = 0; first < examples; first += batch, turn ^= 1) {
    long count = examples - first < batch ? examples - first : batch;
    const int32_t *mask[MOST_LAYERS + 1] = {NULL};
    masks = split(net, 0, count, masks, mask);
    fetch(net, pool, places + first, count, &room.given[turn], mask[0]);
    loss += step(net, rule, state, &room, first ? &due : NULL, &room.given[turn], labels + first, mask);
    due.inputs = &room.given[turn];
    before = room.slopes[0];
  }
  if (examples) NAMED(backward)(net, 0, rule, state, &due, NULL);
  free(room.all);
  return loss;
}

/* One step on the linear layers behind convolutions; `inward` becomes the gradient for what comes before them, times
 * the factor that a step has (see `step`). */
double NAMED(head)(const struct net *net, const struct rule *rule, const struct state *state, const float *inputs,
                   const int64_t *labels, long examples, const int32_t *masks, float *inward) {
  struct room room;
  long width = net->widths[0];
  if (open_room(&room, net, examples)) return NO_MEMORY;
  const int32_t *mask[MOST_LAYERS + 1] = {NULL};
  split(net, 1, examples, masks, mask);
  struct batch *given = &room.given[0], *back = &room.given[1];
  for (long s = 0; s < examples; s++)
    memcpy(given->rows + s * given->stride, inputs + s * width, (size_t)width * sizeof(float));
  double loss = step(net, rule, state, &room, NULL, given, labels, mask);
  struct due due = {given, &room.slopes[0]};
  NAMED(backward)(net, 0, rule, state, &due, back);
  for (long s = 0; s < examples; s++)
    memcpy(inward + s * width, back->rows + s * back->stride, (size_t)width * sizeof(float));
  free(room.all);
  return loss;
}

/* Several models on the same examples: of each the sum of losses, and how many examples it gets right. */
int NAMED(score)(const struct net *net, const float *rows, long stride, long models, const struct pool *pool,
                 const int64_t *places, const int64_t *labels, long examples, double *losses, int64_t *correct) {
  enum { SOME = 20 }; /* few enough for blocks of whole rows, see layer.c */
  struct room room;
  struct rule rule = {0};
  const int32_t *none[MOST_LAYERS + 1] = {NULL};
  long classes = net->widths[net->layers];
  if (open_room(&room, net, SOME)) return -1;
  for (long m = 0; m < models; m++) losses[m] = 0, correct[m] = 0;
  for (long first = 0; first < examples; first += SOME) {
    long count = examples - first < SOME ? examples - first : SOME;
    fetch(net, pool, places + first, count, &room.given[0], NULL);
    for (long m = 0; m < models; m++) {
      struct state state = {(float *)(rows + m * stride), NULL, rows + m * stride};
      forward_all(net, &rule, &state, &room, NULL, &room.given[0], none);
      for (long s = 0; s < count; s++) {
        const struct batch *last = &room.outputs[net->layers - 1];
        float *logits = last->rows + s * last->stride;
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
