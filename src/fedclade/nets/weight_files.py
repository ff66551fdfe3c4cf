"""The files of weights as a server opens them, for examples of one shape."""

from collections.abc import Sequence

from fedclade.nets.attention_shelf import attending
from fedclade.nets.shelf import opened
from fedclade.nouns import Encoding, Row


class ServerFiles:
    """Encoders and attention networks, by name or from a file."""

    def __init__(self, shape: Sequence[int]) -> None:
        self._shape = shape

    def encoder(self, name: str) -> Encoding:
        return opened(name, self._shape)

    def attention(self, name: str, kind: str) -> Row:
        return attending(name, kind).weights
