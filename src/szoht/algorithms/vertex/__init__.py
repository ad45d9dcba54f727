"""Searches among the vertices of a box, for functions whose best points lie there."""
