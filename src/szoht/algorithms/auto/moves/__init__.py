"""Moves: what may be tried from a point. Each proposes a solution; the schedule accepts it."""
