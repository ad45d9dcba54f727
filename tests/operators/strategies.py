"""Vectors for property tests of operators."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

# brute force compares sums of squares: those of smaller numbers are no normal numbers any more
LEAST = 1e-150
finite = st.floats(-1e6, 1e6).map(lambda number: number if abs(number) >= LEAST else 0.0)
# few distinct values, so that ties are the rule
tied = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0])
vectors = st.integers(1, 8).flatmap(lambda d: arrays(np.float64, d, elements=finite | tied))
