"""A pull to another model: how hard it can be before steps along it jump over their aim, further each time."""

from fedclade.nouns import InputError, LocalTraining


def check_pull(pull: float, local: LocalTraining, where: str) -> None:
    """An error unless plain steps along pull/2 |w - anchor|^2 alone come to rest.

    Of the way that is left a step leaves 1 - lr pull times as much; with momentum m it shrinks below 2 (1 + m) / lr.
    """
    most = 2 * (1 + local.momentum) / local.lr
    if pull >= most:
        raise InputError(
            "models would be pulled further away with each step",
            where=where,
            got=f"{pull:g} with local.lr {local.lr:g}",
            need=f"under {most:g}",
            do=f"a smaller local.lr, or a smaller {where}",
        )
