"""CFL's two-layer LSTM on the words of a text (section V-E), with one output for each class behind its last word.

The paper predicts the next word. The labels here are topics, so the head is a classifier's.
"""

from typing import Annotated

from pydantic import Field
from torch import Tensor, nn

from fedclade.nouns import InputError, settings

Width = Annotated[int, Field(ge=1, le=10**5)]


class LastWord(nn.Module):
    """Words (examples, length) through an embedding and an LSTM; a linear layer reads what it holds at the end."""

    def __init__(self, vocabulary: int, embedding: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, words: Tensor) -> Tensor:
        held, _ = self.lstm(self.embedding(words))
        logits: Tensor = self.head(held[:, -1])
        return logits


@settings
class LSTM:
    """A two-layer LSTM on words (CFL): 2,996,756 parameters for 10,002 words and 4 classes."""

    vocabulary: Annotated[int, Field(ge=2, le=10**7)] = 10_002
    """Numbers that a word may have: AG-News has 10,000 words, one for others, one for nothing."""
    embedding: Width = 200
    hidden: Width = 256

    def build(self, inputs: tuple[int, ...], classes: int) -> nn.Module:
        """Texts (words,)."""
        if len(inputs) != 1:
            raise InputError("lstm cannot read these inputs", where="net.name", got=str(inputs), need="(words,)")
        return LastWord(self.vocabulary, self.embedding, self.hidden, classes)
