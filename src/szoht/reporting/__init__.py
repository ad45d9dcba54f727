"""Figures and tables from finished results; nothing here runs an optimisation."""
