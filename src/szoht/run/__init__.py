"""A run from start to result: `minimize`, `AskTell`, `resume`, limits, callbacks."""
