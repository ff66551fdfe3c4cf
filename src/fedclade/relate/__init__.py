"""How alike clients are: pure functions on arrays, ids in, ids out."""
