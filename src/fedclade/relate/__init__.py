"""How alike clients are, and where to cut: pure functions, ids in, ids out."""
