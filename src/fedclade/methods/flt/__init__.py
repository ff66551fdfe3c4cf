"""FLT and all that only FLT uses: begin with `flt.py`. Algorithm 2 is in `encoder.py` (and `class_moments.py`)."""
