"""What a run has taken so far: time and bytes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter, process_time

from fedclade.fleet import Fleet, Ledger


class Clock:
    """Sums over the whole run, resumed or not: seconds, and bytes by verb."""

    def __init__(self, fleet: Fleet, before: Mapping[str, float]) -> None:
        self._transport = fleet.transport
        self._before = dict(before)
        self._bytes: dict[str, float] = {name: value for name, value in before.items() if name.startswith("bytes_")}
        self._wall, self._cpu, self._server = perf_counter(), process_time(), 0.0

    @contextmanager
    def measure_server(self, ledger: Ledger) -> Iterator[None]:
        """Inside, the method works: the time in which it does not wait for clients is the server's own."""
        begin, waited = perf_counter(), ledger.seconds
        yield
        self._server += perf_counter() - begin - (ledger.seconds - waited)

    def add(self, ledger: Ledger) -> None:
        """Add the bytes of one round."""
        for direction, by_verb in (("down", ledger.down), ("up", ledger.up)):
            for verb, count in by_verb.items():
                name = f"bytes_{direction}_{verb}"
                self._bytes[name] = self._bytes.get(name, 0) + count

    def totals(self) -> dict[str, float]:
        """The sums; `bytes_up` and `bytes_down` are those of all verbs but `evaluate`."""
        method_bytes = {name: int(count) for name, count in self._bytes.items() if not name.endswith("_evaluate")}
        sums = {
            total: sum(count for name, count in method_bytes.items() if name.startswith(f"{total}_"))
            for total in ("bytes_up", "bytes_down")
        }
        cpu = process_time() - self._cpu + self._transport.cpu_seconds
        return {
            **sums,
            **{name: int(count) for name, count in self._bytes.items() if name not in sums},
            "seconds": self._before.get("seconds", 0.0) + perf_counter() - self._wall,
            "cpu_seconds": self._before.get("cpu_seconds", 0.0) + cpu,
            "server_seconds": self._before.get("server_seconds", 0.0) + self._server,
        }
