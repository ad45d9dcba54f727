"""Constraints as structures."""

from szoht.algorithms.auto.structures.coordinates import Coordinates, structure_of

__all__ = ["Coordinates", "structure_of"]
