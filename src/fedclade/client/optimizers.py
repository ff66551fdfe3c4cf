"""What a step of the general path does with a gradient: FedProx's pull, clipping, and the optimiser's own rule.

The rules are those of torch.optim, operation by operation. Its classes load torch's compiler, which takes a second in
each process, and a site has a process for each message. Nothing of them outlives a round.
"""

from typing import Protocol

import torch
from torch import Tensor

from fedclade.core import Round
from fedclade.core.training import SGD, Adam, AdamW

CLIP_EPS = 1e-6  # as torch.nn.utils.clip_grad_norm_ has it


class UpdateRule(Protocol):
    """How an optimiser moves weights along a gradient, in place; the gradient is its own to change."""

    def move(self, weights: Tensor, gradient: Tensor) -> None: ...


class SGDRule:
    """Plain steps, or with momentum."""

    def __init__(self, settings: SGD, lr: float, weights: Tensor) -> None:
        self._momentum, self._lr = settings.momentum, lr
        self._velocity = torch.zeros_like(weights)

    def move(self, weights: Tensor, gradient: Tensor) -> None:
        step = self._velocity.mul_(self._momentum).add_(gradient) if self._momentum else gradient
        weights.add_(step, alpha=-self._lr)


class AdamRule:
    """Adam, and AdamW: they differ in the decay of weights alone."""

    def __init__(self, settings: Adam | AdamW, lr: float, weights: Tensor) -> None:
        self._settings, self._lr = settings, lr
        self._shrink = 1 - lr * settings.weight_decay if isinstance(settings, AdamW) else 1.0
        self._mean, self._square = torch.zeros_like(weights), torch.zeros_like(weights)
        self._steps = 0

    def move(self, weights: Tensor, gradient: Tensor) -> None:
        first, second = self._settings.betas
        self._steps += 1
        weights.mul_(self._shrink)
        self._mean.lerp_(gradient, 1 - first)
        self._square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        root = (self._square.sqrt() / (1 - second**self._steps) ** 0.5).add_(self._settings.eps)
        weights.addcdiv_(self._mean, root, value=-self._lr / (1 - first**self._steps))


class Steps:
    """The steps of one client in one round."""

    def __init__(self, now: Round, weights: Tensor, gradient: Tensor, anchor: Tensor) -> None:
        optimizer, lr = now.local.optimizer, now.local.lr
        self._weights, self._gradient, self._anchor = weights, gradient, anchor
        self._proximal, self._clip_norm = now.proximal, now.local.clip_norm
        self._decay = 0.0 if isinstance(optimizer, AdamW) else optimizer.weight_decay
        self._rule: UpdateRule
        self._rule = SGDRule(optimizer, lr, weights) if isinstance(optimizer, SGD) else AdamRule(optimizer, lr, weights)

    def take(self) -> None:
        """Move the weights along the gradient that is there.

        What is clipped is the gradient of the whole objective, with FedProx's pull and without decay: as where the pull
        is part of a loss in torch. Where nothing is clipped the pull comes last, which is how it was always rounded.
        """
        if self._clip_norm:
            self._pull()
            norm = torch.linalg.vector_norm(self._gradient)
            self._gradient.mul_(torch.clamp(self._clip_norm / (norm + CLIP_EPS), max=1.0))
        if self._decay:
            self._gradient.add_(self._weights, alpha=self._decay)
        if not self._clip_norm:
            self._pull()
        self._rule.move(self._weights, self._gradient)

    def _pull(self) -> None:
        """Add the gradient of mu/2 |w - anchor|^2."""
        if self._proximal:
            self._gradient.add_(self._weights - self._anchor, alpha=self._proximal)
