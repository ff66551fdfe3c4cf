"""What a module is trained for: to say the label of each example, or, of a language model, each next word."""

from torch import Tensor, nn


class LanguageModel(nn.Module):
    """A module that is trained to predict what its own inputs say next."""

    def predictions(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs (words that follow one, vocabulary), and the words that do follow."""
        raise NotImplementedError


def predictions_and_targets(module: nn.Module, inputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Outputs (predictions, classes), and what each should have been: one for each example, or for each next word."""
    return module.predictions(inputs) if isinstance(module, LanguageModel) else (module(inputs), labels)
