"""A target of a comparison: how soon a metric is as good as this."""

from collections.abc import Callable, Sequence

from fedclade.core import InputError, settings
from fedclade.core.settings import unknown_name_error
from fedclade.core.task import MetricKind, Task, metric_kind


@settings
class MetricTarget:
    """What a comparison looks for beside the final models: rounds and bytes until a metric was so good."""

    target: float | None = None
    """The metric's value, a share from 0 to 1; none: nothing is looked for."""
    metric: str = ""
    """One of the task's metrics; empty: the main one."""

    def __post_init__(self) -> None:
        if self.metric and self.target is None:
            need, do = "a target", f"give one beside it: --metric {self.metric} --target X"
            raise InputError("a metric without a target has no use", where="compare.metric", need=need, do=do)

    def check_task(self, task: Task) -> None:
        """An error unless this task has the metric, and the metric can be so."""
        self.check(task.metric_names, lambda name: metric_kind(name, task))

    def check(self, known: Sequence[str], kind_of: Callable[[str], MetricKind]) -> None:
        """An error unless the metric is one of these, the main one first, and can be so."""
        if self.target is None:
            return
        if self.metric and self.metric not in known:
            raise unknown_name_error("the metric", "compare.metric", self.metric, known)
        name = self.metric or known[0]
        if kind_of(name).unit == "share" and not 0 <= self.target <= 1:
            need = f"{name} as a share: 0 to 1"
            raise InputError("the target cannot be reached", where="compare.target", got=f"{self.target:g}", need=need)

    def is_reached(self, value: float | None, kind: MetricKind) -> bool:
        """Whether this value of the metric is as good as the target."""
        if value is None or self.target is None:
            return False
        return value <= self.target if kind.lower_is_better else value >= self.target


NO_TARGET = MetricTarget()
