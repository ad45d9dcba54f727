"""Sparse vectors from few linear measurements of them."""
