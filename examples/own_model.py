"""A model of one's own: any function that returns a torch module.

Run: python examples/own_model.py
"""

from tempfile import TemporaryDirectory

import torch
from torch import nn

import fedclade as fc


def small_net() -> nn.Module:
    """Images (1, 8, 8) in, ten scores out. Every call makes a new module with new random weights."""
    return nn.Sequential(
        nn.Conv2d(1, 8, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * 4 * 4, 10),
    )


federation = fc.data.build(source="digits", world="iid", clients=6, seed=0)
with TemporaryDirectory() as folder:
    run = fc.train(federation, fc.FedAvg(), net=small_net, rounds=5, participation=1.0, epochs=2, lr=0.1, out=folder)
    model = run.model_for("client-03")

print(f"mean accuracy of {len(federation)} clients after 5 rounds: {run.accuracy:.1%}")
test = federation["client-03"].test
with torch.no_grad():
    guesses = model(torch.from_numpy(test.inputs)).argmax(dim=1)
right = int((guesses.numpy() == test.labels).sum())
print(f"the model of client-03 reads {right} of its {len(test)} test digits")
