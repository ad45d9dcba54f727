"""Matrices of low rank: atoms are a continuum, so the search is on their manifold."""
