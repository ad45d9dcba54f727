"""Parts of the solver."""
