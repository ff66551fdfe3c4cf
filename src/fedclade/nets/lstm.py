"""CFL's two-layer LSTM on the words of a text (section V-C): a language model, or a classifier behind the last word.

The paper predicts the next word. What a language model should say is in the text itself, so labels are not used.
"""

from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor, nn

from fedclade.core import InputError, settings
from fedclade.nets.losses import LanguageModel

FILLER, UNKNOWN = 0, 1  # as sources of texts number them
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


class NextWord(LanguageModel):
    """A word for each word: what follows it. Words beyond the vocabulary, the rarer ones, are all the unknown word."""

    def __init__(self, vocabulary: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.embedding = nn.Embedding(vocabulary, embedding)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, words: Tensor) -> Tensor:
        held, _ = self.lstm(self.embedding(self.replace_rare_words(words)))
        logits: Tensor = self.head(held[:, -1])
        return logits

    def predictions(self, words: Tensor) -> tuple[Tensor, Tensor]:
        known = self.replace_rare_words(words)
        held, _ = self.lstm(self.embedding(known[:, :-1]))
        follows = known[:, 1:]
        there = follows != FILLER
        return self.head(held[there]), follows[there]

    def replace_rare_words(self, words: Tensor) -> Tensor:
        """Words as this model numbers them."""
        return words.where(words < self.vocabulary, UNKNOWN)


@settings
class LSTM:
    """A two-layer LSTM on words (CFL): 2,996,756 parameters for 10,002 words and 4 classes."""

    predicts: Literal["label", "next-word"] = "label"
    """What it is trained for: the label of a text, or each next word of it, whatever its label."""

    vocabulary: Annotated[int, Field(ge=2, le=10**7)] = 10_002
    """Numbers that a word may have: AG-News has 10,000 words, one for others, one for nothing."""
    embedding: Width = 200
    """Numbers that stand for a word."""
    hidden: Width = 256
    """Units in each of its two layers."""

    def build(self, inputs: tuple[int, ...], classes: int) -> nn.Module:
        """Texts (words,)."""
        if len(inputs) != 1:
            raise InputError("lstm cannot read these inputs", where="net.name", got=str(inputs), need="(words,)")
        if self.predicts == "next-word":
            return NextWord(self.vocabulary, self.embedding, self.hidden)
        return LastWord(self.vocabulary, self.embedding, self.hidden, classes)
