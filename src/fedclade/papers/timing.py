"""How long an item takes on two cores that nobody else uses."""

from fedclade.papers.item import Item, Setting, Terms
from fedclade.papers.plans import finished, plans_of, tiny


def minutes_of(item: Item, terms: Terms) -> float:
    """All of it, from nothing."""
    runs = sum((tiny(each) if terms.scale == "tiny" else each).minutes for each in item.settings(terms))
    return item.minutes.get(terms.scale, 0.0) + runs


def minutes_left(item: Item, settings: tuple[Setting, ...], terms: Terms) -> float:
    """What is not done yet, by the share of each setting's rounds."""
    left = item.minutes.get(terms.scale, 0.0)
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
    return f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.0f} hours"
