"""CFL and all that only CFL uses: `cfl.py` is the method, `split_rule.py` says when a cluster is split."""
