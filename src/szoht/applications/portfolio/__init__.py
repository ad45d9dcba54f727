"""Portfolios of few assets, along k and along the expected return."""
