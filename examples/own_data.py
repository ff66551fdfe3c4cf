"""Data of one's own: six machines in two halls, which mean different things by the same reading.

Run: python examples/own_data.py
"""

from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

import fedclade as fc


def readings(hall: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """300 readings of four sensors, and whether each one was a fault. In hall 1 the first sensor is wired backwards."""
    rng = np.random.default_rng(seed)
    sensors = rng.normal(size=(300, 4))
    heat = sensors[:, 0] if hall == 0 else -sensors[:, 0]
    faults = (heat + 0.5 * sensors[:, 1] > 0.3).astype(np.int64)
    return sensors, faults


machines = {
    f"hall-{hall}-machine-{number}": readings(hall, 10 * hall + number) for hall in (0, 1) for number in (1, 2, 3)
}
federation = fc.data.from_arrays(machines, test=0.25, seed=0, name="two halls")
print(f"{len(federation)} clients, inputs {federation.shape}, {federation.classes} classes")

ROUNDS = 10
with TemporaryDirectory() as folder:
    compared = fc.compare(
        federation, [fc.FedAvg(), fc.Local()], net="logistic", rounds=ROUNDS, participation=1.0, lr=0.1, out=folder
    )
    for line, run in zip(compared.lines, compared.runs, strict=True):
        print(f"{line.method}: mean accuracy {line.accuracy:.1%}")
        for reached in run.folder.clients().to_pylist():
            if reached["round"] == ROUNDS:
                print(f"  {reached['client']}: {reached['accuracy']:.1%}")
