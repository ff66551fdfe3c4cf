"""ABC and all that only ABC uses: `abc.py` is the method; `selection.py` chooses participants for any method."""
