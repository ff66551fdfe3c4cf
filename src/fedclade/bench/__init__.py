"""How fast the simulated fleet is on this machine, as ratios to a plain torch loop in the same run."""
