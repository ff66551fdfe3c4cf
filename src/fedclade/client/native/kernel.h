/* What the kernel is told: a net, a rule to train by, a model, examples. local/kernel.py has the same in Python.
 *
 * Each file is compiled under two names: NAMED(train) is train_plain, or train_fast with AVX2 and FMA. */
#include <stdint.h>

enum { MOST_LAYERS = 32, NO_MEMORY = -1 /* instead of a loss, which is 0 or more */ };

struct net {
  long layers;
  long widths[MOST_LAYERS + 1]; /* of the inputs, and of each layer's outputs */
  long weights[MOST_LAYERS];    /* where each layer's weights stand in a model */
  long biases[MOST_LAYERS];     /* the same for its bias; -1: none */
  long relu[MOST_LAYERS];       /* whether ReLU is behind it */
  float keep[MOST_LAYERS];      /* dropout in front of it: what a unit that is kept is multiplied by; 0: none */
};

struct rule {
  float lr, momentum, decay, proximal;
};

struct state {
  float *row;          /* the model, changed in place */
  float *velocity;     /* NULL: no momentum */
  const float *anchor; /* the model at the start */
};

struct pool {
  const void *inputs; /* (examples, features) */
  long bytes;         /* 1: bytes from 0 to 255; 0: float */
};

/* Rows of numbers of the kernel's own, `stride` apart; behind each there are zeros to the end of its last vector. */
struct batch {
  float *rows;
  long stride, count;
};

/* A step on a layer: its inputs, and the gradient with respect to its outputs times the factor that a step has. */
struct due {
  const struct batch *inputs, *slopes;
};

void NAMED(forward)(const struct net *net, long layer, const struct rule *rule, const struct state *state,
                    const struct due *due, const struct batch *inputs, const struct batch *outputs);
void NAMED(backward)(const struct net *net, long layer, const struct rule *rule, const struct state *state,
                     const struct due *due, const struct batch *inward);
