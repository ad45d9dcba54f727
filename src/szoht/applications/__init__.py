"""Whole tools built on `szoht.run`: few-pixel attacks and portfolios."""
