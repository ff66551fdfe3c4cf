"""The residual autoencoder of FLT's authors for colour images of 3 x 32 x 32, kind `resae`: 877,723 parameters.

The paper does not have it; their code does, for CIFAR-10. The same as there: the layers and their order, 64 and 128
channels, two residual blocks of 32 channels in each half, a latent size of 128 (their files of 2023; 64 in 2021), batch
norm in the half that encodes only, inputs from -1 to 1, no activation at the end. Not the same: their code leaves the
norms in training mode when clients encode, so that every image that is encoded moves them; here they stand still.

The decoder's weights come first in a row and then all of the encoder's, with the statistics of its norms (784 numbers),
which stand at the end of every row: so it can be sent alone.
"""

from torch import Tensor, nn

WIDE, HALF, NARROW, FEW = (
    128,
    64,
    32,
    8,
)  # channels: of most layers, outside, inside a residual block, before the latent
SMALL = 8  # pixels of a side after two strides


class Affine(nn.Module):
    """Each number times a factor, plus another number: from pixels of 0 to 1 to those of -1 to 1, and back."""

    def __init__(self, factor: float, plus: float) -> None:
        super().__init__()
        self.factor, self.plus = factor, plus

    def forward(self, numbers: Tensor) -> Tensor:
        return self.factor * numbers + self.plus


class Residual(nn.Module):
    """What comes in, plus what two convolutions without biases make of it."""

    def __init__(self) -> None:
        super().__init__()
        self.change = nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(WIDE, NARROW, 3, padding=1, bias=False),
            nn.ReLU(),
            nn.Conv2d(NARROW, WIDE, 1, bias=False),
        )

    def forward(self, maps: Tensor) -> Tensor:
        changed: Tensor = maps + self.change(maps)
        return changed


class ResidualAutoEncoder(nn.Module):
    """Five convolutions with two residual blocks between them and a linear layer down, and the way back."""

    def __init__(self, latent: int) -> None:
        super().__init__()
        self.decoder = nn.Sequential(
            nn.Linear(latent, FEW * SMALL * SMALL),
            nn.Unflatten(1, (FEW, SMALL, SMALL)),
            *(nn.ConvTranspose2d(FEW, HALF, 1), nn.ReLU()),
            *(nn.ConvTranspose2d(HALF, WIDE, 1), nn.ReLU()),
            *(Residual(), Residual(), nn.ReLU()),
            *(nn.Conv2d(WIDE, WIDE, 3, padding=1), nn.ReLU()),
            *(nn.ConvTranspose2d(WIDE, HALF, 4, stride=2, padding=1), nn.ReLU()),
            nn.ConvTranspose2d(HALF, 3, 4, stride=2, padding=1),
            Affine(0.5, 0.5),
        )
        self.encoder = nn.Sequential(
            Affine(2.0, -1.0),
            *(nn.Conv2d(3, HALF, 4, stride=2, padding=1), nn.ReLU(), nn.BatchNorm2d(HALF)),
            *(nn.Conv2d(HALF, WIDE, 4, stride=2, padding=1), nn.ReLU(), nn.BatchNorm2d(WIDE)),
            *(nn.Conv2d(WIDE, WIDE, 3, padding=1), nn.BatchNorm2d(WIDE)),
            *(Residual(), Residual(), nn.ReLU()),
            *(nn.Conv2d(WIDE, HALF, 1), nn.ReLU(), nn.BatchNorm2d(HALF)),
            *(nn.Conv2d(HALF, FEW, 1), nn.ReLU(), nn.BatchNorm2d(FEW)),
            nn.Flatten(),
            nn.Linear(FEW * SMALL * SMALL, latent),
        )

    def forward(self, images: Tensor) -> Tensor:
        restored: Tensor = self.decoder(self.encoder(images))
        return restored
