"""How ABC's attention networks are trained: a run is recorded, and a network is fitted to its drifts."""
