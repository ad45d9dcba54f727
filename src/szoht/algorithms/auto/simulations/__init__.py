"""Simulations with few runs to spare: their moves compare points on common seeds."""
