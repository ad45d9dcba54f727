"""From plans to values: `split` into chunks, evaluate them here or elsewhere, `merge`."""
