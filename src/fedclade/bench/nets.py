"""Nets of the workloads that have no name in fedclade, and the useful arithmetic of any net."""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fedclade.nets import Net
from fedclade.nets.leaf_cnn import LeafCNN
from fedclade.nets.lstm import LastWord

WORDS = 10_000  # the vocabulary of the language model


def colour_cnn() -> nn.Module:
    """LEAF's convolutions on 3 x 32 x 32, with 512 hidden units and 10 classes."""
    convolutions = list(LeafCNN().build((3, 32, 32), 10).children())[:7]  # up to the hidden layer
    return nn.Sequential(*convolutions, nn.Linear(64 * 8 * 8, 512), nn.ReLU(), nn.Linear(512, 10))


def word_model() -> nn.Module:
    """A language model: two layers of LSTM read some words and guess the next one."""
    return LastWord(WORDS, 200, 256, WORDS)


def training_flops(net: Net, example: NDArray[np.generic]) -> int:
    """Useful float operations of a training step on one example: the products of its layers, forward and backward.

    Backward costs two products for each of forward's, one for the weights and one for the inputs; the first layer needs
    none for its inputs. Everything else (activations, pooling, the update) is small, and is not counted.
    """
    counts: list[int] = []

    def count(layer: nn.Module, inputs: tuple[Tensor, ...], output: object) -> None:
        if isinstance(layer, nn.Linear):
            counts.append(2 * math.prod(inputs[0].shape[:-1]) * layer.in_features * layer.out_features)
        elif isinstance(layer, nn.Conv2d):
            assert isinstance(output, Tensor)
            counts.append(2 * output[:, 0].numel() * layer.weight.numel())
        elif isinstance(layer, nn.LSTM):
            weights = sum(tensor.numel() for name, tensor in layer.named_parameters() if name.startswith("weight"))
            counts.append(2 * math.prod(inputs[0].shape[:-1]) * weights)

    module = net.initial_module(0).eval()
    for layer in module.modules():
        layer.register_forward_hook(count)
    with torch.no_grad():
        module(torch.from_numpy(np.array(example)[None]))
    embedded = any(isinstance(layer, nn.Embedding) for layer in module.modules())  # then the first layer is no product
    return 3 * sum(counts) - (0 if embedded else counts[0])
