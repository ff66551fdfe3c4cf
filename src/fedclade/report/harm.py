"""Who would do better with another method: Local, or FedAvg, on the same data and seed."""

from collections.abc import Sequence

from fedclade.nouns import ClientId
from fedclade.report.naming import flat
from fedclade.report.story import Story
from fedclade.runs.metrics import harmed

BASELINES = ("local", "fedavg")  # what a client could have instead


def harmed_in(stories: Sequence[Story]) -> list[tuple[ClientId, ...] | None]:
    """For each run, who does better with a baseline under the same terms; None if none is here."""
    finals = [story.final_accuracy() for story in stories]
    terms = [(story.environment.get("data_sha256"), story.seed, terms_of(story)) for story in stories]
    found: list[tuple[ClientId, ...] | None] = []
    for index, story in enumerate(stories):
        others = [
            finals[other]
            for other, baseline in enumerate(stories)
            if baseline.method in BASELINES and baseline.method != story.method and terms[other] == terms[index]
        ]
        found.append(harmed(finals[index], others) if others else None)
    return found


def terms_of(story: Story) -> tuple[tuple[str, str], ...]:
    """What two runs must have in common to be compared client by client: all settings but the method's."""
    return tuple((key, value) for key, value in flat(story.asked).items() if not key.startswith("method."))
