"""A table of one's own, as it came: text, a date, gaps and an index; two makes of machine in twenty sites.

Run: python examples/own_table.py
"""

from tempfile import TemporaryDirectory

import numpy as np

import fedclade as fc

SITES, ROWS = 20, 40
rng = np.random.default_rng(0)
site = np.repeat([f"site-{number:02d}" for number in range(SITES)], ROWS)
hot = np.arange(SITES * ROWS) // ROWS % 2 == 1  # every second site has the make that runs hot
heat = rng.normal(70, 5, SITES * ROWS)
fault = heat + rng.normal(0, 2, SITES * ROWS) > np.where(hot, 76, 68)
table = {
    "row": np.arange(SITES * ROWS),  # an index: it is left out
    "site": site,
    "temperature": np.where(rng.random(SITES * ROWS) < 0.1, np.nan, heat),
    "material": rng.choice(["steel", "brass", "bronze"], SITES * ROWS),
    "measured": np.datetime64("2024-01-01") + rng.integers(0, 300, SITES * ROWS).astype("timedelta64[D]"),
    "fault": np.where(fault, "yes", "no"),
}

federation = fc.data.from_frame(table, client="site", label="fault")
print(federation)
assert federation.preparation is not None
print("inputs:", ", ".join(federation.preparation.names))

found = fc.find_groups(federation)
print(f"{found.count} groups, confidence {found.confidence:.2f}")
for members in found.groups:
    print(" ", ", ".join(members))

with TemporaryDirectory() as folder:
    compared = fc.compare(federation, [fc.FLT(), fc.FedAvg(), fc.Local()], out=folder)
    for line in compared.lines:
        print(f"{line.method}: mean accuracy {line.accuracy:.1%}")
