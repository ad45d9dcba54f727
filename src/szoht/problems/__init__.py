"""Test problems with initial point, constants, best known value, citation and data."""

from szoht.problems.assets import Assets, from_returns
from szoht.problems.base import Problem
from szoht.problems.data import DataFile, fetch
from szoht.problems.orlib import load_frontier, load_market, read_market
from szoht.problems.portfolio import Portfolio, portfolio
from szoht.problems.prices import read_prices, read_returns
from szoht.problems.quadratic import quadratic, sensitivity
from szoht.problems.recovery import recovery
from szoht.problems.structured import grid_edges, structured

__all__ = [
    "Assets",
    "DataFile",
    "Portfolio",
    "Problem",
    "fetch",
    "from_returns",
    "grid_edges",
    "load_frontier",
    "load_market",
    "portfolio",
    "quadratic",
    "read_market",
    "read_prices",
    "read_returns",
    "recovery",
    "sensitivity",
    "structured",
]
