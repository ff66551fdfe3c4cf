"""What a user should know of how a run was trained, from its verdict."""

from collections.abc import Mapping


def training_notes(result: Mapping[str, object]) -> list[str]:
    """A sentence for each."""
    notes: list[str] = []
    if isinstance(search := result.get("lr_search"), Mapping):
        values = ", ".join(f"{value:g}" for value in search["values"])
        notes.append(f"lr auto: {search['lr']:g} of {values}")
    if isinstance(early := result.get("early_stopping"), Mapping):
        rounds, kept = result.get("rounds"), early.get("kept")
        whose = "its own" if kept == rounds else f"those of round {kept}"
        notes.append(f"ended after round {rounds}, {early.get('reason')}; the models are {whose}")
    return notes
