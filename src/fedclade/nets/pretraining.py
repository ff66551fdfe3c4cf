"""How an encoder is made from public examples: an autoencoder for images, a scale for tables, vectors for words."""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import mse_loss

from fedclade.core import InputError, Row, generator
from fedclade.core.settings import unknown_name_error
from fedclade.nets.convae import FORMS, autoencoder
from fedclade.nets.encoders import EMBEDDING_WIDTH, Inputs, has_colour, prepare_images
from fedclade.nets.weight_files import WeightFile

BATCH, STEP = 64, 1e-3  # examples in a step of Adam, and its size
HELD_OUT = 0.1  # of the examples: the epoch that restores these best is kept
MAX_WORDS = 20_000

EpochProgress = Callable[[int, float], None]
"""Called after each epoch with its number, and the mean squared error on examples that were held out."""


def pretrain_encoder(
    inputs: Inputs, *, source: str, epochs: int, seed: int, progress: EpochProgress, kind: str = ""
) -> WeightFile:
    """An encoder for examples like these: of images an autoencoder of this kind, or the plain one for their colours."""
    if kind and kind not in FORMS:
        raise unknown_name_error("the kind of autoencoder", "pretraining", kind, FORMS)
    if kind and inputs.ndim <= 2:
        got = f"examples of shape {inputs.shape[1:]}"
        raise InputError(f"{kind} is for images", where="pretraining", got=got, need="no kind, which is found here")
    recipe: dict[str, object] = {"source": source, "examples": len(inputs)}
    if inputs.ndim > 2:
        kind = kind or ("convae-colour" if has_colour(inputs.shape[1:]) else "convae")
        row, error = fit_autoencoder(kind, inputs, epochs, seed, progress)
        how = {"epochs": epochs, "seed": seed, "batch": BATCH, "adam": STEP, "loss": "mse", "held_out_mse": error}
        return WeightFile(kind, row, recipe | how)
    if inputs.dtype == np.int64:
        return WeightFile("embedding", word_vectors(inputs.astype(np.int64, copy=False)), recipe | {"seed": 0})
    return WeightFile("standardised", means_and_scales(inputs.astype(np.float64)), recipe)


def fit_autoencoder(kind: str, inputs: Inputs, epochs: int, seed: int, progress: EpochProgress) -> tuple[Row, float]:
    """An autoencoder after so many epochs of Adam, as it was when it restored held-out images best; and that error."""
    net = autoencoder(kind)
    order = generator(seed, "held out").permutation(len(inputs))
    held = max(1, int(HELD_OUT * len(inputs)))
    if len(inputs) < 2:
        raise InputError("there are too few images", where="pretraining", got=str(len(inputs)), need="2 or more")
    module = net.module(net.initial_row(seed))
    steps = torch.optim.Adam(module.parameters(), lr=STEP)
    best, least = net.row(module), float("inf")
    for epoch in range(1, epochs + 1):
        module.train()
        shuffled = generator(seed, epoch, "batches").permutation(order[held:])
        for images in batches(inputs, shuffled, kind):
            steps.zero_grad()
            loss = mse_loss(module(images), images)
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            steps.step()
        module.eval()
        with torch.inference_mode():
            errors = [float(mse_loss(module(some), some)) * len(some) for some in batches(inputs, order[:held], kind)]
        error = sum(errors) / held
        progress(epoch, error)
        if error < least:
            best, least = net.row(module).copy(), error
    return best, least


def batches(inputs: Inputs, order: NDArray[np.int64], kind: str) -> Iterator[torch.Tensor]:
    """The images in this order, a few at a time, as the autoencoder takes them."""
    for start in range(0, len(order), BATCH):
        yield torch.from_numpy(prepare_images(inputs[order[start : start + BATCH]], kind))


def means_and_scales(table: NDArray[np.float64]) -> Row:
    """The mean and the deviation of each feature; 1 for one that is the same everywhere."""
    deviation = table.std(axis=0)
    return np.concatenate([table.mean(axis=0), np.where(deviation > 0, deviation, 1)]).astype(np.float32)


def word_vectors(texts: NDArray[np.int64]) -> Row:
    """(words x 32): from which words stand in the same texts, by a truncated singular value decomposition."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.linalg import svds

    words = min(int(texts.max()) + 1, MAX_WORDS)
    rows, columns = np.nonzero((texts > 0) & (texts < words))
    seen = coo_matrix((np.ones(len(rows)), (texts[rows, columns], rows)), shape=(words, len(texts))).tocsr()
    seen.data = np.log1p(seen.data)
    rank = min(EMBEDDING_WIDTH, min(seen.shape) - 1)
    if rank < 1:
        need = "2 or more of words"
        raise InputError("there are too few texts", where="pretraining", got=str(texts.shape), need=need)
    left, values, _ = svds(seen, k=rank, v0=np.ones(min(seen.shape)), random_state=0)
    vectors = np.zeros((words, EMBEDDING_WIDTH))
    vectors[:, :rank] = left * values  # its sign is free, and the same for every client
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32).reshape(-1)
