"""Sensing: which coordinates matter, from few differences along many coordinates at once."""
