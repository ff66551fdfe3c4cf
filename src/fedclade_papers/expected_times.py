"""How long an item takes on two idle cores, in minutes."""

from pathlib import Path

from fedclade_papers.item import EncoderRecipe, Item, Setting, Terms, WeightRecipe
from fedclade_papers.run_plans import is_finished, plans_of, recipe_at_scale, setting_at_scale
from fedclade_papers.weights import file_of

# Measured: 10,000 images in 3 epochs took 17 s (grey) and 24 s (colour), 5,000 colour ones in 10 epochs 24 s.
MINUTES_PER_MILLION_IMAGES = 10.0
ALL_IMAGES = 10_000  # of the classes that an encoder sees, where it takes all of them
# Measured with 10 clients, two networks at a time: 0.26 ms for each example that is watched, and 0.2 ms for each
# client's drift in an epoch of fitting.
MINUTES_PER_MILLION_WATCHED = 4.3
MINUTES_PER_MILLION_DRIFTS = 3.5
BATCH = 10  # examples in a step


def minutes_of(item: Item, terms: Terms) -> float:
    """Minutes for the whole item, from nothing."""
    settings = item.settings(terms)
    runs = sum(setting_at_scale(each, terms).minutes for each in settings)
    return item.minutes.get(terms.scale, 0.0) + runs + sum(training_minutes(settings, terms).values())


def training_minutes(settings: tuple[Setting, ...], terms: Terms) -> dict[Path, float]:
    """Minutes that each file of weights takes; weights that several settings share are counted once."""
    return {
        file_of(each, terms): recipe_minutes(recipe_at_scale(each, terms))
        for setting in settings
        for each in setting.weights
    }


def recipe_minutes(recipe: WeightRecipe) -> float:
    """Minutes that training takes: as stated, or by what it learns from and its epochs."""
    if recipe.minutes:
        return recipe.minutes
    if isinstance(recipe, EncoderRecipe):
        return MINUTES_PER_MILLION_IMAGES * (recipe.images or ALL_IMAGES) * recipe.epochs / 1e6
    drifts = recipe.clients * recipe.rounds
    watching = MINUTES_PER_MILLION_WATCHED * drifts * recipe.steps * BATCH / 1e6
    return watching + MINUTES_PER_MILLION_DRIFTS * drifts * recipe.epochs / 1e6


def minutes_left(item: Item, settings: tuple[Setting, ...], terms: Terms) -> float:
    """Minutes for all that is not done yet, by the share of each setting's rounds."""
    left = item.minutes.get(terms.scale, 0.0)
    left += sum(minutes for path, minutes in training_minutes(settings, terms).items() if not path.is_file())
    for setting in settings:
        rounds = {path: plan.run.rounds for path, plan in plans_of(setting, terms).items()}
        undone = sum(count for path, count in rounds.items() if not is_finished(path))
        left += setting_at_scale(setting, terms).minutes * undone / max(sum(rounds.values()), 1)
    return left


def duration_text(minutes: float) -> str:
    """A time in words."""
    if minutes < 1:
        return f"{max(round(60 * minutes, -1), 10):.0f} seconds"
    count, unit = (round(minutes), "minute") if minutes < 120 else (round(minutes / 60), "hour")
    return f"{count} {unit}{'' if count == 1 else 's'}"
