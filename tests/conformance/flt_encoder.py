"""FLT with the paper's signature, as a method of its own: what holds for every method holds for it."""

from fedclade.core import settings
from fedclade.methods import FLT, ClassMoments, Encoder


@settings
class FLTEncoder(FLT):
    """FLT with points instead of class moments."""

    signature: ClassMoments | Encoder = Encoder(points=3)
