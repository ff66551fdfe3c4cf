"""FLT's convolutional autoencoder (its table 13): images in, 128 numbers, the same images out.

Kinds: `convae` for grey images of 28 x 28 (51,577 parameters, 25,956 of which encode), and `convae-colour`, the same
layers for 3 x 32 x 32 (67,415). The parameters of the encoder come first in a row, so that it can be sent alone.
`resae` is the one of the authors' code for colours, in `resae`: its encoder stands at the end of a row.
"""

from functools import lru_cache

from torch import Tensor, nn

from fedclade.core.task import Task
from fedclade.nets.images import pooled_convolution
from fedclade.nets.net import Net
from fedclade.nets.resae import ResidualAutoEncoder

LATENT = 128
FORMS: dict[str, tuple[int, int]] = {"convae": (1, 28), "convae-colour": (3, 32), "resae": (3, 32)}
"""Channels, and pixels of a side, of each kind."""


class AutoEncoder(nn.Module):
    """Two convolutions and a linear layer down to the latent numbers, and back."""

    def __init__(self, channels: int, side: int) -> None:
        super().__init__()
        small = side // 4
        self.encoder = nn.Sequential(
            *pooled_convolution(channels, 16, 3, padding=1),
            *pooled_convolution(16, 4, 3, padding=1),
            nn.Flatten(),
            nn.Linear(4 * small * small, LATENT),
        )
        self.decoder = nn.Sequential(
            nn.Linear(LATENT, 4 * small * small),
            nn.Unflatten(1, (4, small, small)),
            nn.ConvTranspose2d(4, 16, 2, stride=2),
            nn.ReLU(),
            nn.ConvTranspose2d(16, channels, 2, stride=2),
            nn.Sigmoid(),
        )

    def forward(self, images: Tensor) -> Tensor:
        restored: Tensor = self.decoder(self.encoder(images))
        return restored


def make(kind: str) -> AutoEncoder | ResidualAutoEncoder:
    """A new module of this kind."""
    return ResidualAutoEncoder(LATENT) if kind == "resae" else AutoEncoder(*FORMS[kind])


@lru_cache(maxsize=4)
def autoencoder(kind: str) -> Net:
    """The whole of it, as a net that learns to give back what it is given."""
    return Net(kind, lambda: make(kind), is_custom=False, wanted=Task(kind="reconstruction"))


@lru_cache(maxsize=4)
def encoder(kind: str) -> Net:
    """The half that encodes."""
    return Net(kind, lambda: make(kind).encoder, is_custom=False)


def encoder_start(kind: str) -> int:
    """Where in a row of the whole the weights begin that encode; they stand together."""
    return autoencoder(kind).size - encoder(kind).size if kind == "resae" else 0
