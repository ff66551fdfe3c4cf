"""Several models as one: the mean of what they hold probable."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Ensemble(nn.Module):
    """Gives log-probabilities, which serve wherever a single model's outputs do."""

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.eval()

    def forward(self, inputs: Tensor) -> Tensor:
        each = torch.stack([torch.log_softmax(member(inputs), dim=1) for member in self.members])
        return torch.logsumexp(each, dim=0) - torch.log(torch.tensor(float(len(each))))
