"""Flower's own simulation of a federation, on Ray: in this machine, or on a cluster of several."""

import json
import logging
import os
import threading
from collections.abc import Mapping
from functools import partial
from queue import Empty, Queue

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedclade.data import Federation
from fedclade.fleet.flower.apps import client_app
from fedclade.fleet.flower.grid import Deadlines, FlowerFleet
from fedclade.fleet.site import Task, played
from fedclade.nets import Net
from fedclade.nouns import InputError, Stopped


class FlowerSimulation:
    """Flower's simulation of a federation, on Ray: `with FlowerSimulation(...) as fleet`."""

    def __init__(
        self,
        federation: Federation,
        recipe: Mapping[str, object],
        seed: int,
        net: Net,
        task: Task,
        deadlines: Deadlines,
        *,
        workers: int,
        address: str = "",
    ) -> None:
        if workers < 1:
            raise InputError("too few workers", where="engine.workers", got=str(workers), need="1 or more")
        self._federation, self._task, self._deadlines, self._net = federation, task, deadlines, net
        self._app = client_app(partial(played, json.dumps([recipe, seed])))
        self._ray: dict[str, object] = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
        self._ray |= {"address": address} if address else {"num_cpus": workers, "_node_ip_address": "127.0.0.1"}
        self._grid: Queue[Grid | BaseException] = Queue()
        self._over = threading.Event()
        self._fleet: FlowerFleet | None = None
        self._thread = threading.Thread(target=self._run, name="flower", daemon=True)

    def __enter__(self) -> FlowerFleet:
        self._thread.start()
        while True:
            try:
                grid = self._grid.get(timeout=1.0)
                break
            except Empty:
                if not self._thread.is_alive():
                    raise Stopped("Flower's simulation ended at once", where="engine", need="it to run") from None
        if isinstance(grid, BaseException):
            raise Stopped("Flower's simulation could not start", where="engine", got=str(grid)) from grid
        known = self._federation
        turns = {*known.joins.values(), *(change.round for change in known.changes)}
        self._fleet = FlowerFleet(
            grid, self._task, self._net.size, self._deadlines, present=known.present, turns=sorted(turns)
        )
        self._fleet.begin(0)
        return self._fleet

    def __exit__(self, *_: object) -> None:
        if self._fleet is not None:
            self._fleet.close()
        self._over.set()
        self._thread.join(timeout=30.0)

    def _run(self) -> None:
        """Flower's side: it hands the grid over and waits until the run has ended."""
        import ray  # comes with Flower's simulation
        from flwr.simulation import run_simulation

        mine = not ray.is_initialized()
        path = os.environ.get("PYTHONPATH")
        app = ServerApp()

        @app.main()
        def main(grid: Grid, _: Context) -> None:
            self._grid.put(grid)
            self._over.wait()

        logging.getLogger("flwr").setLevel(logging.ERROR)
        try:
            run_simulation(
                app,
                self._app,
                num_supernodes=len(self._federation),
                backend_config={
                    "init_args": self._ray,  # type: ignore[dict-item]  # Flower types fewer values than Ray takes
                    "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
                },
            )
        except BaseException as wrong:  # handed to the thread that waits for the grid
            self._grid.put(wrong)
        finally:
            if mine:
                ray.shutdown()
            if path is None:  # Flower leaves its own there
                os.environ.pop("PYTHONPATH", None)
            else:
                os.environ["PYTHONPATH"] = path
