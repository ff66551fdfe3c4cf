"""How long an item takes on two cores that nobody else uses."""

from pathlib import Path

from fedclade.papers import attention, encoders
from fedclade.papers.item import Attending, Item, Pretrained, Setting, Terms
from fedclade.papers.plans import finished, plans_of, tiny

# Measured: 10,000 images in 3 epochs took 17 s (grey) and 24 s (colour), 5,000 colour ones in 10 epochs 24 s.
MINUTES_PER_MILLION_IMAGES = 10.0
ALL_IMAGES = 10_000  # of the classes that an encoder sees, where it takes all of them
# Measured with 10 clients, two networks at a time: 0.26 ms for each example that is watched, and 0.2 ms for each
# client's drift in an epoch of fitting.
MINUTES_PER_MILLION_WATCHED = 4.3
MINUTES_PER_MILLION_DRIFTS = 3.5
BATCH = 10  # examples in a step


def minutes_of(item: Item, terms: Terms) -> float:
    """All of it, from nothing."""
    settings = item.settings(terms)
    runs = sum((tiny(each) if terms.scale == "tiny" else each).minutes for each in settings)
    return item.minutes.get(terms.scale, 0.0) + runs + sum(training_of(settings, terms).values())


def training_of(settings: tuple[Setting, ...], terms: Terms) -> dict[Path, float]:
    """The files of all encoders and networks, and the minutes that each takes; what is shared is there once."""
    seen = {
        encoders.file_of(each, terms): encoder_minutes(encoders.as_made(each, terms))
        for setting in settings
        for each in setting.encoders
    }
    watched = {
        attention.file_of(each, terms): network_minutes(attention.as_made(each, terms))
        for setting in settings
        for each in setting.networks
    }
    return seen | watched


def encoder_minutes(encoder: Pretrained) -> float:
    """What training it takes."""
    return encoder.minutes or MINUTES_PER_MILLION_IMAGES * (encoder.images or ALL_IMAGES) * encoder.epochs / 1e6


def network_minutes(network: Attending) -> float:
    """What watching and fitting take."""
    drifts = network.clients * network.rounds
    watching = MINUTES_PER_MILLION_WATCHED * drifts * network.steps * BATCH / 1e6
    return network.minutes or watching + MINUTES_PER_MILLION_DRIFTS * drifts * network.epochs / 1e6


def minutes_left(item: Item, settings: tuple[Setting, ...], terms: Terms) -> float:
    """What is not done yet, by the share of each setting's rounds."""
    left = item.minutes.get(terms.scale, 0.0)
    left += sum(minutes for path, minutes in training_of(settings, terms).items() if not path.is_file())
    for setting in settings:
        rounds = {path: plan.run.rounds for path, plan in plans_of(setting, terms).items()}
        undone = sum(count for path, count in rounds.items() if not finished(path))
        minutes = (tiny(setting) if terms.scale == "tiny" else setting).minutes
        left += minutes * undone / max(sum(rounds.values()), 1)
    return left


def written_minutes(minutes: float) -> str:
    """A time as people say it."""
    if minutes < 1:
        return f"{max(round(60 * minutes, -1), 10):.0f} seconds"
    count, unit = (round(minutes), "minute") if minutes < 120 else (round(minutes / 60), "hour")
    return f"{count} {unit}{'' if count == 1 else 's'}"
