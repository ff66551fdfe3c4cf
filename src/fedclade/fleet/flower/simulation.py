"""Flower's own simulation of a federation, on Ray: in this machine, or on a cluster of several."""

import json
import logging
import os
import threading
from collections.abc import Mapping
from functools import partial
from queue import Empty, Queue

import ray
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedclade.core import InputError, Stopped
from fedclade.data import Federation
from fedclade.fleet.build import fleet_over
from fedclade.fleet.fleet import Fleet
from fedclade.fleet.flower.apps import client_app
from fedclade.fleet.flower.grid import Deadlines, FlowerTransport
from fedclade.fleet.site import ModelSpec, simulated_client
from fedclade.nets import Net


class FlowerSimulation:
    """Flower's simulation of a federation, on Ray: `with FlowerSimulation(...) as fleet`."""

    def __init__(
        self,
        federation: Federation,
        recipe: Mapping[str, object],
        seed: int,
        net: Net,
        spec: ModelSpec,
        deadlines: Deadlines,
        *,
        workers: int,
        wait_seconds: float,
        address: str = "",
    ) -> None:
        self._federation, self._spec, self._deadlines, self._net = federation, spec, deadlines, net
        self._app = client_app(partial(simulated_client, json.dumps([recipe, seed])), send_error_text=True)
        self._wait_seconds = wait_seconds
        self._ray: dict[str, object] = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
        self._ray |= {"address": address} if address else {"num_cpus": workers, "_node_ip_address": "127.0.0.1"}
        self._grid: Queue[Grid | BaseException] = Queue()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="flower", daemon=True)

    def __enter__(self) -> Fleet:
        if ray.is_initialized():  # Flower would end it
            need = "none: Flower starts and ends its own"
            raise InputError("Ray is in use in this process", where="engine.name", need=need)
        self._thread.start()
        try:
            return self._fleet(self._wait_for_grid())
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(timeout=30.0)

    def _wait_for_grid(self) -> Grid:
        while True:
            try:
                grid = self._grid.get(timeout=1.0)
            except Empty:
                if not self._thread.is_alive():
                    raise Stopped("Flower's simulation ended at once", where="engine", need="it to run") from None
                continue
            if isinstance(grid, BaseException):
                raise Stopped("Flower's simulation could not start", where="engine", got=str(grid)) from grid
            return grid

    def _fleet(self, grid: Grid) -> Fleet:
        known = self._federation
        rounds = sorted({*known.joins.values(), *(change.round for change in known.changes)})
        wait, present = self._wait_seconds, known.clients_at
        transport = FlowerTransport(
            grid, self._spec, self._deadlines, wait_seconds=wait, present=present, change_rounds=rounds, strict=True
        )
        return fleet_over(transport, self._net, known.shape)

    def _run(self) -> None:
        """Flower's side: it hands the grid over and waits until the run has ended."""
        from flwr.simulation import run_simulation

        path = os.environ.get("PYTHONPATH")
        app = ServerApp()

        @app.main()
        def main(grid: Grid, _: Context) -> None:
            self._grid.put(grid)
            self._over.wait()

        log = logging.getLogger("flwr")
        level = log.level
        log.setLevel(logging.ERROR)
        try:
            resources = {"num_cpus": 1, "num_gpus": 0.0}
            ray_settings = {"init_args": self._ray, "client_resources": resources}
            run_simulation(app, self._app, len(self._federation), backend_config=ray_settings)  # type: ignore[arg-type]  # Flower types fewer values than Ray takes
        except BaseException as error:  # handed to the thread that waits for the grid
            self._grid.put(error)
        finally:
            log.setLevel(level)
            if path is None:  # Flower leaves its own there
                os.environ.pop("PYTHONPATH", None)
            else:
                os.environ["PYTHONPATH"] = path
