"""Numbers of a metric as people read them."""

import math

from fedclade.core.task import MetricKind


def metric_text(value: float | None, kind: MetricKind) -> str:
    """A share in percent, another number with four digits; "-" where it is not known."""
    if value is None or math.isnan(value):
        return "-"
    return f"{100 * value:.1f} %" if kind.unit == "share" else number_text(value)


def interval_text(interval: tuple[float, float] | None, kind: MetricKind) -> str:
    """An interval without the unit; "-" where it is not known."""
    if interval is None:
        return "-"
    low, high = ((f"{100 * end:.1f}" if kind.unit == "share" else number_text(end)) for end in interval)
    return f"{low} to {high}"


def change_text(change: float, kind: MetricKind) -> str:
    """By how much a metric changed."""
    return f"{100 * abs(change):.1f} points" if kind.unit == "share" else number_text(abs(change))


def number_text(value: float) -> str:
    """A number with four digits, or all those before the point."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
