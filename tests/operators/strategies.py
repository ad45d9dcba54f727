"""Vectors for property tests of operators."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

finite = st.floats(-1e6, 1e6, allow_subnormal=False)
# few distinct values, so that ties are the rule
tied = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0])
vectors = st.integers(1, 8).flatmap(lambda d: arrays(np.float64, d, elements=finite | tied))
