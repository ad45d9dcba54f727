"""The search where values err: long differences, regressions, races."""
