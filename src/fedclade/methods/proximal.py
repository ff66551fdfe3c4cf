"""A pull to another model: how strong it can be before each step overshoots its target by more than the last."""

from fedclade.core import InputError, LocalTraining
from fedclade.core.training import SGD


def check_pull(pull: float, local: LocalTraining, where: str) -> None:
    """An error unless plain steps along pull/2 |w - anchor|^2 alone come to rest.

    A step multiplies the distance that is left by 1 - lr pull; with momentum m it shrinks if pull < 2 (1 + m) / lr.
    Adam's steps have a length of their own, about lr however hard the pull.
    """
    if not isinstance(local.optimizer, SGD):
        return
    most = 2 * (1 + local.optimizer.momentum) / local.lr
    if pull >= most:
        got = f"{pull:g} with local.lr {local.lr:g}"
        need, do = f"under {most:g}", f"a smaller local.lr, or a smaller {where}"
        raise InputError("models would be pulled further away with each step", where=where, got=got, need=need, do=do)
